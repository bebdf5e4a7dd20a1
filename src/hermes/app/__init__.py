"""The composition root: the only code that knows every room."""
