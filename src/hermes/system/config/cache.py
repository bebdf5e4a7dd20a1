"""The parsed `config.yaml`, kept so that a start need not import the YAML parser."""

from contextlib import suppress
from typing import Any, Literal

import msgspec

from hermes.system.files import write_atomic
from hermes.system.paths import Home
from hermes.version import __version__

_FORMAT = f"{__version__}/2"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A key that changes nothing. `nearest` is the key that may have been meant."""

    kind: Literal["unknown", "unserved"]
    key: str
    line: int | None
    nearest: str | None = None


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read; `tree` holds the values as written, `${NAME}` included.

    `digest` is the sha256 of the file's bytes, `lines` maps dotted keys to line numbers from 1.
    """

    digest: str = ""
    tree: dict[str, Any] = {}
    lines: dict[str, int] = {}
    findings: list[Finding] = []
    format: str = _FORMAT


def recall(home: Home, digest: str) -> Parsed | None:
    """What was read from the file with these bytes by this version, if it is still there."""
    try:
        parsed = msgspec.json.decode(home.config_cache.read_bytes(), type=Parsed)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return parsed if (parsed.format, parsed.digest) == (_FORMAT, digest) else None


def keep(home: Home, data: bytes, parsed: Parsed) -> None:
    """Cache a file that could be loaded, and keep its bytes as the last good ones."""
    # A home that cannot be written is reported by Home.prepare; reading needs no copies.
    with suppress(OSError):
        home.cache.mkdir(mode=0o700, exist_ok=True)
        write_atomic(home.config_cache, msgspec.json.encode(parsed), mode=0o600)
    with suppress(OSError):
        if not home.config_last_good.exists() or home.config_last_good.read_bytes() != data:
            write_atomic(home.config_last_good, data, mode=0o600)
