"""The old state of what tools change, and the way back."""
