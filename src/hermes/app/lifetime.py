"""One run of the program: parse, call the verb, and put every failure into words."""

import gc
import logging
import os
import sys
from collections.abc import Coroutine
from io import TextIOWrapper

import anyio

from hermes.core.errors import ConfigError, HermesError, UserError
from hermes.surfaces.cli.parser import parser
from hermes.system.env import Environment
from hermes.system.i18n import t
from hermes.system.lazy import load
from hermes.system.paths import Home
from hermes.version import __version__

log = logging.getLogger("hermes.app")

FAILED, USAGE, INTERRUPTED = 1, 2, 130

GARBAGE_AFTER = 20_000
"""New objects before the collector looks at them. Its default of 700 makes it look a hundred times
while a long session is loaded, and find nothing."""


def run(argv: list[str]) -> int:
    """Run `argv`; returns the exit status. Nothing escapes but SystemExit of the parser."""
    # Until the log files are open there is nowhere to log to, least of all stderr.
    logging.getLogger("hermes").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # An answer that this terminal's encoding cannot hold is still an answer.
            stream.reconfigure(errors="replace")
    options = parser(argv).parse_args(argv)
    if options.version:
        sys.stdout.write(f"hermes {__version__}\n")
        return 0
    try:
        env = Environment.current()
        # lazy: --help and a wrong option need none of the rooms
        app = load("hermes.app.build:App")(env, Home.locate(env, options.profile), options)
        verb = load(options.run)
        gc.freeze()
        gc.set_threshold(GARBAGE_AFTER)
        gc.enable()
        result = verb(options, app)
        return anyio.run(_await, result) if isinstance(result, Coroutine) else result or 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except BaseExceptionGroup as group:
        return _of(group)
    except Exception as e:  # boundary: the app
        return _say(e)


async def _await(result: Coroutine[object, object, int]) -> int:
    return await result


def _of(group: BaseExceptionGroup[BaseException]) -> int:
    first = group.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _of(first)
    if isinstance(first, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(first, Exception):
        return _say(first)
    raise first


def _say(error: Exception) -> int:
    if isinstance(error, HermesError):
        log.warning("%s", error)
        print(error, file=sys.stderr)
        return USAGE if isinstance(error, UserError | ConfigError) else FAILED
    log.error("unexpected", exc_info=error)
    print(t("cli.bug", kind=type(error).__name__, what=error), file=sys.stderr)
    return FAILED
