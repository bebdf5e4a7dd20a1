"""The process that keeps the child processes of Hermes."""
