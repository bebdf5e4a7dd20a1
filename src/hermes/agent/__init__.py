"""The loop: one session, its turns, its calls."""
