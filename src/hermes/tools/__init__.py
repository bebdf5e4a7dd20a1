"""The general tools."""
