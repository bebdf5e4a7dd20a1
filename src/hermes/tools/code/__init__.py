"""`execute_code`: Python in a kernel that lasts as long as its session."""
