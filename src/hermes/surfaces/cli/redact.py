"""`hermes redact`: a filter that masks the secrets in what is piped through it."""

import argparse
import sys
from typing import Final

from hermes.safety.redact import Redactor
from hermes.system.i18n import t

_MODES: Final = ("text", "file", "terminal")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the filter."""
    parser.add_argument("--mode", choices=_MODES, default="text", help=t("redact.mode"))
    parser.add_argument("--command", metavar="CMD", default="", help=t("redact.command"))


def run(options: argparse.Namespace) -> int:
    """Copy stdin to stdout with secrets masked; bytes that are not UTF-8 pass unchanged."""
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    redactor = Redactor()
    if options.mode == "terminal":
        masked = redactor.terminal(text, options.command)
    else:
        masked = redactor.redact(text, options.mode)
    sys.stdout.buffer.write(masked.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
    return 0
