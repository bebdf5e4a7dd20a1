"""The words of the house: entries, calls, events, inputs, usage. No I/O, no async."""
