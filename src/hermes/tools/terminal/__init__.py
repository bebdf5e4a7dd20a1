"""`terminal` and `process`: commands in a shell, and those in the background."""
