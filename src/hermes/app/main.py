"""argv to a surface. `--version` is answered before anything else is imported."""

import gc
import sys


def main() -> int:
    """The `hermes` command; returns the exit status."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from hermes.version import __version__  # lazy: the whole of a fast --version

        sys.stdout.write(f"hermes {__version__}\n")
        return 0
    # Start-up makes many objects and no garbage; looking for it costs a tenth of a one-shot.
    gc.disable()
    from hermes.app.lifetime import run  # lazy: the rest of the program

    return run(sys.argv[1:])
