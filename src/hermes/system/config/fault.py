"""The errors that a configuration file can give, with file and line."""

import re
from pathlib import Path

from hermes.core.errors import ConfigError
from hermes.system.files import BOM
from hermes.system.i18n import t
from hermes.system.paths import Home


def broken(name: str, line: int, column: int, cause: str) -> ConfigError:
    """A file that is not YAML, or not YAML that a configuration can be."""
    cause = re.sub(r"\s+", " ", cause).strip()
    return ConfigError(
        t("config.broken", path=name, line=line, column=column, cause=cause),
        hint=t("config.broken_hint"),
    )


def with_last_good(error: ConfigError, home: Home) -> ConfigError:
    """`error` with a word about the last good copy, if there is one."""
    if not home.config_last_good.exists():
        return error
    hint = t("config.last_good", hint=error.hint or "", path=home.display(home.config_last_good))
    return ConfigError(error.message, hint=hint.strip())


def read_config(home: Home) -> bytes:
    """The bytes of `config.yaml`, none if there is no such file; raises ConfigError."""
    try:
        return home.config.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as e:
        raise ConfigError(
            t(
                "config.unreadable",
                path=home.display(home.config),
                reason=e.strerror or str(e),
            ),
            hint=t("config.unreadable_hint"),
        ) from e


def decode(data: bytes, path: Path, home: Home) -> str:
    """`data` as UTF-8 without its byte order mark; raises ConfigError naming line and offset."""
    try:
        return data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise ConfigError(
            t("config.not_utf8", path=home.display(path), line=line, offset=e.start),
            hint=t("config.not_utf8_hint"),
        ) from e
