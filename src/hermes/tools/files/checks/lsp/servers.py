"""The language servers that are known, as data, and which of them serves a file.

A server is used if it is on PATH; none is ever downloaded. Names, arguments and language ids are
those of the servers' and the protocol's documentation.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from hermes.system.config.sections import LspServerSection


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server: its command, the language id of each suffix, and what marks a project's root."""

    name: str
    command: tuple[str, ...]
    languages: Mapping[str, str]
    markers: tuple[str, ...]


_PYTHON = {".py": "python", ".pyi": "python"}
_PYTHON_ROOTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile")
_C = {".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp"}
_SCRIPT = {
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
}


def _spec(
    command: str, languages: Mapping[str, str], markers: tuple[str, ...], name: str = ""
) -> ServerSpec:
    words = tuple(command.split())
    return ServerSpec(
        name=name or words[0], command=words, languages=languages, markers=(*markers, ".git")
    )


SERVERS: Final = (
    _spec("basedpyright-langserver --stdio", _PYTHON, (*_PYTHON_ROOTS, "pyrightconfig.json")),
    _spec("pyright-langserver --stdio", _PYTHON, (*_PYTHON_ROOTS, "pyrightconfig.json")),
    _spec("ty server", _PYTHON, (*_PYTHON_ROOTS, "ty.toml")),
    _spec("pylsp", _PYTHON, _PYTHON_ROOTS),
    _spec("ruff server", _PYTHON, (*_PYTHON_ROOTS, "ruff.toml", ".ruff.toml")),
    _spec(
        "typescript-language-server --stdio",
        _SCRIPT,
        ("tsconfig.json", "jsconfig.json", "package.json"),
    ),
    _spec("gopls", {".go": "go"}, ("go.work", "go.mod")),
    _spec("rust-analyzer", {".rs": "rust"}, ("Cargo.toml",)),
    _spec("clangd", _C, ("compile_commands.json", "compile_flags.txt", ".clangd")),
    _spec("zls", {".zig": "zig"}, ("build.zig",)),
    _spec("lua-language-server", {".lua": "lua"}, (".luarc.json", ".luarc.jsonc")),
    _spec("bash-language-server start", {".sh": "shellscript", ".bash": "shellscript"}, ()),
)
"""In order of preference: the first that is installed serves a language."""


def specs(own: Mapping[str, LspServerSection]) -> tuple[ServerSpec, ...]:
    """The person's `own` servers, then the known ones that were not replaced or disabled."""
    mine = tuple(
        ServerSpec(
            name=name,
            command=section.command,
            languages={_dotted(s): section.language_id or name for s in section.extensions},
            markers=(*section.markers, ".git"),
        )
        for name, section in own.items()
        if section.command and not section.disabled
    )
    return mine + tuple(spec for spec in SERVERS if spec.name not in own)


def server_for(
    path: str, known: tuple[ServerSpec, ...], find: Callable[[str], str | None]
) -> tuple[ServerSpec, str] | None:
    """The server for `path` and its program's absolute path, or None if none is installed."""
    suffix = PurePosixPath(path).suffix.casefold()
    for spec in known:
        if suffix in spec.languages and (program := find(spec.command[0])):
            return spec, program
    return None


def project_root(path: str, spec: ServerSpec, workspace: str) -> str:
    """The nearest folder above `path` with one of the server's markers, within `workspace`.

    A marker of the language wins over `.git`, which any project may have.
    """
    for markers in (spec.markers[:-1], spec.markers[-1:]):
        for folder in _folders(path, workspace):
            if any(Path(folder, marker).exists() for marker in markers):
                return folder
    return workspace


def within(path: str, root: str) -> bool:
    """Whether `path` is `root` or below it; both absolute and canonical."""
    return PurePosixPath(path).is_relative_to(root)


def _folders(path: str, workspace: str) -> Iterator[str]:
    for folder in PurePosixPath(path).parents:
        if not within(str(folder), workspace):
            return
        yield str(folder)


def _dotted(suffix: str) -> str:
    suffix = suffix.casefold()
    return suffix if suffix.startswith(".") else f".{suffix}"
