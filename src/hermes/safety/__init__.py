"""Guards: what may run, and what may be shown."""
