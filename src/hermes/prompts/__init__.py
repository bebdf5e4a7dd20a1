"""What a model reads first."""
