"""The process that runs a GGUF model: `python -m hermes.models.local.child`.

One line of JSON comes in on stdin (`Options`), one line of JSON goes out on stdout (`Ready` or
`Failure`); then an OpenAI-compatible server answers on a free port of 127.0.0.1 to those who know
the token. Native code lives and crashes here and nowhere else. What it prints goes to stderr.

The process ends when its stdin closes, when its parent dies, on TERM, and when nobody has used it
for a while: users hold a shared lock on the use file while they ask and touch it afterwards.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Final, Literal, NoReturn, TypedDict

from hermes.core.clock import SystemClock

_PR_SET_PDEATHSIG: Final = 1
_CACHE_MIB: Final = 512
"""Memory for the prompts of conversations other than the last one; the library's default is 8 GiB.
Of the demo model 22 KiB a token, so some 24,000 tokens."""
_BATCH: Final = 64
"""Prompt tokens read at a time. A stop is noticed between batches: a whole prompt in one (the
library's default) goes on for seconds, and smaller batches than this one read more slowly."""
_LOG_WARNINGS: Final = 2
_BUSY_RECHECK: Final = 1.0


class Options(TypedDict):
    """What to run. `parent` is the pid that must stay alive; `use_file` is the file whose
    modification time says when the model was last used; `idle` is in seconds."""

    model: str
    alias: str
    context: int
    threads: int
    token: str
    parent: int
    use_file: str
    idle: float


class Ready(TypedDict):
    """The server answers on this port of 127.0.0.1."""

    port: int
    pid: int


class Failure(TypedDict):
    """Why there is no server. `detail` is the library's own words."""

    error: Literal["missing", "unusable", "load"]
    detail: str


def main() -> NoReturn:
    """Serve until there is a reason to end."""
    # The library may print; only our own line may reach the parent.
    answer = os.dup(1)
    os.dup2(2, 1)
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        options: Options = json.loads(stdin.readline())
    _die_with(options["parent"])
    try:
        # lazy: 100 MB of native code, used here only; its absence is an answer
        import xllamacpp  # type: ignore[import-untyped]
    except ModuleNotFoundError as e:
        _give_up(answer, "missing" if e.name == "xllamacpp" else "unusable", str(e))
    except ImportError as e:
        _give_up(answer, "unusable", str(e))
    parameters = xllamacpp.CommonParams()
    parameters.model.path = options["model"]
    parameters.model_alias = {options["alias"]}
    parameters.n_ctx = options["context"]
    parameters.n_parallel = 1
    parameters.n_batch = _BATCH
    parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = options["threads"]
    parameters.cpuparams_batch.n_threads = options["threads"]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [options["token"]]
    parameters.cache_ram_mib = _CACHE_MIB
    parameters.ui = False
    parameters.offline = True
    parameters.endpoint_slots = False
    parameters.verbosity = _LOG_WARNINGS
    try:
        # Returns once the model is loaded and the port answers; must be kept alive.
        server = xllamacpp.Server(parameters)
    except RuntimeError as e:
        _give_up(answer, "load", str(e))
    port = int(server.listening_address.rpartition(":")[2])
    _say(answer, Ready(port=port, pid=os.getpid()))
    _wait(Path(options["use_file"]), options["idle"])
    # Not sys.exit: tearing the native server down waits for the request that it is working on.
    os._exit(0)


def _die_with(parent: int) -> None:
    """End at once when `parent` ends, even in the middle of loading (Linux; elsewhere the closed
    stdin is noticed when loading is done)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _wait(use_file: Path, idle: float) -> None:
    """Return when stdin closes, or the model has not been used for `idle` seconds."""
    clock = SystemClock()
    while True:
        try:
            left = use_file.stat().st_mtime + idle - clock.now()
        except FileNotFoundError:  # the home was removed
            return
        if left <= 0:
            lock = os.open(use_file, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                left = _BUSY_RECHECK
            else:
                # Kept locked, so that nobody begins to use what is about to end.
                return
        readable, _, _ = select.select([0], [], [], min(left, idle))
        if readable and not os.read(0, 4096):
            return


def _say(answer: int, message: Ready | Failure) -> None:
    os.write(answer, json.dumps(message).encode() + b"\n")
    os.close(answer)


def _give_up(answer: int, error: Literal["missing", "unusable", "load"], detail: str) -> NoReturn:
    # Into the log, and by ourselves: what the library has to say may not be written yet.
    os.write(2, f"hermes: {error}: {detail}\n".encode("utf-8", "replace"))
    _say(answer, Failure(error=error, detail=detail))
    os._exit(0)


if __name__ == "__main__":
    main()
