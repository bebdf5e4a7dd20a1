"""Keys and tokens from the environment and from `.env`; never part of the settings.

The file is only read here. Its syntax: `NAME=value`, `export NAME=value`, `# comment`; a value in
single quotes is literal, one in double quotes knows \\n, \\t, \\", \\\\ and \\$ and may span lines.
Without quotes a ` #` begins a comment.
"""

import re
import stat
from collections.abc import Iterator, Mapping
from typing import final

from hermes.core.errors import ConfigError
from hermes.system.env import Environment
from hermes.system.files import BOM, write_atomic
from hermes.system.i18n import t
from hermes.system.paths import Home

_SECRET_WORDS = {"KEY", "APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD"}
_SECRET_WORDS |= {"PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "AUTH", "AUTHORIZATION"}
_NOT_SECRET_AT_END = {"PATH", "FILE", "URL", "DIR", "ID", "ENV", "SECONDS", "HOST", "PORT"}
_COUNTS = {"MAX", "MIN", "LIMIT", "THRESHOLD"}
_SHORTEST = 6
# These are compiled when a .env is read: most starts have none, and compiling takes 3 ms.
_ENTRY = r"""(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*
    (?: '(?P<single>[^']*)'
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | (?P<plain>[^'"\r\n][^\r\n]*)?
    )[ \t]*(?:\#[^\r\n]*)?(?=\r?\n|\Z)"""
_SKIPPED = r"(?:[ \t\r\n]+|\#[^\n]*)+"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


def is_secret_name(name: str) -> bool:
    """Whether a variable or key of this name is taken to hold a secret."""
    words = name.upper().replace("-", "_").split("_")
    if words[-1] in _NOT_SECRET_AT_END or not _COUNTS.isdisjoint(words):
        return False
    return not _SECRET_WORDS.isdisjoint(words)


@final
class Secrets:
    """Named values: the environment first, then `.env`."""

    def __init__(
        self, env: Environment, file: Mapping[str, str], problems: tuple[str, ...] = ()
    ) -> None:
        self._env = env
        self._file = file
        self.problems = problems

    @classmethod
    def read(cls, home: Home, env: Environment) -> "Secrets":
        """The secrets of `home`; `problems` says in words what is wrong with the file's mode.

        Raises ConfigError for a file that cannot be read, naming the line.
        """
        path = home.env_file
        name = home.display(path)
        try:
            mode = path.stat().st_mode
            data = path.read_bytes()
        except FileNotFoundError:
            return cls(env, {})
        except OSError as e:
            raise ConfigError(
                t("config.unreadable", path=name, reason=e.strerror or str(e)),
                hint=t("config.unreadable_hint"),
            ) from e
        try:
            text = data.decode("utf-8").removeprefix(BOM)
        except UnicodeDecodeError as e:
            line = data.count(b"\n", 0, e.start) + 1
            raise ConfigError(
                t("config.not_utf8", path=name, line=line, offset=e.start),
                hint=t("config.not_utf8_hint"),
            ) from e
        problems: tuple[str, ...] = ()
        if stat.S_IMODE(mode) & 0o077:
            problems = (t("config.env_mode", path=name, mode=f"{stat.S_IMODE(mode):04o}"),)
        return cls(env, dict(_entries(text, name)), problems)

    def get(self, name: str) -> str | None:
        """The value of `name`, or None if it is unset or empty."""
        return self._env.get(name) or self._file.get(name) or None

    def source(self, name: str) -> str | None:
        """Where the value of `name` comes from: `environment`, `.env`, or None."""
        if self._env.get(name):
            return "environment"
        return ".env" if self._file.get(name) else None

    def values(self) -> tuple[str, ...]:
        """Every value whose name says that it is a secret, for the redactor."""
        found = {
            value: None
            for source in (self._env, self._file)
            for name, value in source.items()
            if len(value) >= _SHORTEST and is_secret_name(name)
        }
        return tuple(found)

    def __repr__(self) -> str:
        return f"Secrets({len(self._file)} in .env)"


def keep(home: Home, name: str, value: str) -> None:
    """Add `name` to `.env`, readable by its owner only; a later line wins over an earlier one.

    `value` is one printable line. Raises OSError, and then the file is as it was.
    """
    try:
        before = home.env_file.read_bytes()
    except FileNotFoundError:
        before = b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    write_atomic(home.env_file, before + f'{name}="{quoted}"\n'.encode(), mode=0o600)


def _entries(text: str, path: str) -> Iterator[tuple[str, str]]:
    syntax, skipping = re.compile(_ENTRY, re.X | re.S), re.compile(_SKIPPED)
    at = 0
    while True:
        if skipped := skipping.match(text, at):
            at = skipped.end()
        if at == len(text):
            return
        entry = syntax.match(text, at)
        if entry is None:
            line = text.count("\n", 0, at) + 1
            raise ConfigError(
                t("config.env_line", path=path, line=line), hint=t("config.env_line_hint")
            )
        yield entry["name"], _value(entry)
        at = entry.end()


def _value(entry: re.Match[str]) -> str:
    if entry["single"] is not None:
        return str(entry["single"])
    if entry["double"] is not None:
        return re.sub(
            r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), entry["double"], flags=re.DOTALL
        )
    plain = str(entry["plain"] or "")
    return re.split(r"(?:^|[ \t])#", plain, maxsplit=1)[0].strip()
