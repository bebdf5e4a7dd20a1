"""What is checked before and after a file is written."""
