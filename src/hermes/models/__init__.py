"""Providers and their wire dialects."""
