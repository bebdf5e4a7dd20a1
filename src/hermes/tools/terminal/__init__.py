"""The `terminal` tool: shell commands for a model."""

from hermes.tools.terminal.command import Terminal

__all__ = ["Terminal"]
