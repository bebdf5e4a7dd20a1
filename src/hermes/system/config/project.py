"""The settings that a project brings along in `.hermes/config.yaml`; read only once it is trusted.

Hooks are all that is served. `${NAME}` stays as it is written: no variable and no secret of the
person's is put into a text that came with a folder.
"""

from pathlib import Path
from typing import Final

from msgspec import Struct, field

from hermes.core.errors import ConfigError
from hermes.system.config.convert import convert
from hermes.system.config.document import parse
from hermes.system.config.fault import decode
from hermes.system.config.sections import HooksSection
from hermes.system.i18n import t
from hermes.system.paths import Home

NAME: Final = ".hermes/config.yaml"
LARGEST: Final = 1 << 20
"""Bytes of a file that is read at all."""


class ProjectSettings(Struct, frozen=True, kw_only=True):
    """What a project can set."""

    hooks: HooksSection = field(default_factory=HooksSection)


def load_project(root: Path, home: Home) -> ProjectSettings:
    """The settings of the project in `root`; raises ConfigError as for the person's own file."""
    path = root / NAME
    name = home.display(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return ProjectSettings()
    except OSError as e:
        raise ConfigError(
            t("config.unreadable", path=name, reason=e.strerror or str(e)),
            hint=t("config.unreadable_hint"),
        ) from e
    if len(data) > LARGEST:
        raise ConfigError(t("config.unreadable", path=name, reason=t("hooks.large_file")))
    document = parse(decode(data, path, home), name)

    def where(key: str) -> str:
        line = document.lines.get(key)
        return name if line is None else f"{name}:{line}"

    return convert(document.tree, ProjectSettings, where=where, expand=lambda _, text: text)
