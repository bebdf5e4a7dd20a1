"""The public API for those who extend Hermes; nothing outside this package is public."""
