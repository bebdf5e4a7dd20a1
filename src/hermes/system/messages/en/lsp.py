"""Language servers."""

from typing import Final

MESSAGES: Final = {
    "not_installed": "Language servers are installed here, but Hermes lacks the part that speaks "
    "to them, so edits are not checked by them.",
    "not_installed_hint": "Install it with: pip install 'hermes-agent[lsp]', or set lsp.enabled to "
    "false.",
    "broken": "The language server {server} failed: {reason}. It is tried again in {seconds:g} "
    "seconds at the earliest.",
}
