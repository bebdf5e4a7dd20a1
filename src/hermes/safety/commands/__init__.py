"""What a shell command would do, from its text alone: parsed, taken apart, judged."""
