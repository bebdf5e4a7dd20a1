"""Hermes: a self-hosted personal AI agent."""
