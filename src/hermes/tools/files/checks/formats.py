"""Which syntax a file is in, by its name: what the tool that owns the file will read.

Sources: the documentation and parsers of the tools named. Everything else that ends in `.json` is
strict JSON, as its reader most likely is.
"""

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final, Literal

Format = Literal["json", "jsonc", "json5", "jsonl", "yaml", "toml"]
"""`jsonc` is JSON with comments and trailing commas; `json5` is not parsed here."""

# fmt: off
BY_SUFFIX: Final[dict[str, Format]] = {
    ".json": "json", ".jsonc": "jsonc", ".code-workspace": "jsonc", ".code-snippets": "jsonc",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml",
}

JSON5_NAMES: Final = frozenset((
    # Babel and Renovate read JSON5 whatever the suffix.
    ".babelrc.json", "babel.config.json", "renovate.json", ".renovaterc.json",
))

JSONC_NAMES: Final = (
    # TypeScript, its documentation and packaging tools, type checkers
    "tsconfig*.json", "*.tsconfig.json", "jsconfig*.json", "tslint.json", "typedoc.json",
    "tsdoc.json", "api-extractor*.json", "pyrightconfig.json", ".luarc.json",
    # linters, formatters, test runners
    ".eslintrc.json", ".eslintrc*.json", ".oxlintrc.json", ".markdownlint.json", ".jshintrc.json",
    "dprint.json", ".dprint.json", "cspell.json", ".cspell.json", "cspell.config.json",
    ".mocharc.json", "jsdoc.json", ".jsdoc.json",
    # builders, runtimes, deployment
    "deno.json", "angular.json", "nx.json", "project.json", "workspace.json", "turbo.json",
    "rush.json", "heft.json", "rig.json", "wrangler.json", "swc.json", ".swcrc.json",
    "firebase.json", "database.rules.json", "opencode.json",
    # containers for development
    "devcontainer.json", ".devcontainer.json", "devcontainer-*.json",
    # parts of VS Code extensions
    "language-configuration.json", "*.language-configuration.json", "*-color-theme.json",
    "*.color-theme.json", "*-icon-theme.json", "keybindings.json",
    # .NET and Visual Studio
    "appsettings*.json", "launchsettings.json", "global.json", "host.json",
    "local.settings.json", "dotnet-tools.json", "bundleconfig.json", "libman.json",
    "*.runtimeconfig.json", "runtimeconfig.template.json", "*.vs.json", "cppproperties.json",
    "cmakesettings.json",
)

JSONC_FOLDERS: Final = (
    # settings, tasks, snippets of VS Code and its kin; `User` and `Machine` are its own folders
    "*/.vscode/*", "*/.cursor/*", "*/.devcontainer/*", "*/User/*", "*/Machine/*",
    "*/User/profiles/*/*", "*/snippets/*", "*/.zed/*", "*/zed/*", "*/LocalState/*",
    "*/Windows Terminal/*",
    "*/common/config/*/*",  # Rush
    "*/_locales/*/messages.json",  # browser extensions
)
# fmt: on

JSONC_SIGNS: Final = re.compile(r'"(?:compilerOptions|manifest_version)"\s*:')
"""A configuration of TypeScript, or a browser extension's manifest, under any name."""

CONTROL: Final = re.compile(
    r"""
      (?<!\$)\{\{(?!\s*"[^"\n]*"\s*:)[^\n]{0,2000}?\}\}   # Jinja, Go, Handlebars; not `{{"a": 1}}`
    | \{\{-?\s*/\*                                        # a comment of a Go template
    | \{%[-+]?\s*\w | \{\#.{0,2000}?\#\}                  # Jinja
    | <%.{0,2000}?%>                                      # ERB, EJS
    | %\{\s*(?:if|for|else|end)                           # Terraform
    """,
    re.VERBOSE | re.DOTALL,
)
"""Marks of a template language that decides which lines there are: no parser can read around it."""

INSERT: Final = re.compile(r"\$\{(?!\{)(?:[^{}]|\{[^{}]*\})*\}")
"""`${...}`: a value that is put in later, of a shell, Compose, Terraform or Gradle."""


def format_of(path: str, text: str) -> Format | None:
    """The syntax that `path` with this `text` is in, or None if it is none that is checked."""
    name = PurePosixPath(path).name.casefold()
    suffix = PurePosixPath(name).suffix
    found = BY_SUFFIX.get(suffix)
    if found != "json":
        return found
    if name in JSON5_NAMES:
        return "json5"
    if any(fnmatchcase(name, pattern) for pattern in JSONC_NAMES):
        return "jsonc"
    if any(fnmatchcase(path, pattern) for pattern in JSONC_FOLDERS):
        return "jsonc"
    return "jsonc" if JSONC_SIGNS.search(text) else "json"


def templated(text: str) -> bool:
    """Whether a template engine makes the real file out of this text."""
    return CONTROL.search(text) is not None


def filled_in(text: str, filler: str) -> str:
    """`text` with every `${...}` replaced by as many `filler`, so that places stay the same."""
    return INSERT.sub(lambda m: re.sub(r"[^\n]", filler, m.group()), text)
