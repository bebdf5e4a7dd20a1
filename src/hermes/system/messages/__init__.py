"""Texts for people, one package per language."""
