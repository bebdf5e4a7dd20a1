"""The embedded model: its installer, the child process that runs it, and that child's keeper."""
