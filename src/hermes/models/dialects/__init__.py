"""Wire formats, one module each; they do not see each other."""
