"""`hermes redact`: a filter that masks the secrets in what is piped through it."""

import argparse
import sys

from hermes.safety.redact import Redactor
from hermes.surfaces.cli.services import Services


def run(options: argparse.Namespace, _: Services) -> int:
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
