"""Which commands do not belong in the foreground: they do not end, or leave children behind."""

import re
from collections.abc import Sequence
from typing import Final

from hermes.safety.commands.classify import parsed
from hermes.safety.commands.rules.arguments import operands, value
from hermes.safety.commands.rules.network import interpreter
from hermes.safety.commands.walk import Draft

_ELSEWHERE: Final = frozenset(("ssh", "docker", "podman", "kubectl", "vagrant", "adb", "tmux"))
_ASKS: Final = frozenset(("--help", "--version", "-h", "-V", "--check-config"))
_SCRIPT: Final = re.compile(r"(?:dev|start|serve|watch)(?::[\w:-]+)?")
# fmt: off
_SERVERS: Final = frozenset((
    "nodemon", "uvicorn", "gunicorn", "hypercorn", "daphne", "waitress-serve", "http-server",
    "live-server", "json-server", "webpack-dev-server", "browser-sync", "caddy-run", "serve",
))
_VERBS: Final = {
    "next": ("dev", "start"), "nuxt": ("dev", "start"), "astro": ("dev", "preview"),
    "vite": ("", "dev", "serve", "preview"), "ng": ("serve",), "vue-cli-service": ("serve",),
    "webpack": ("serve",), "flask": ("run",), "fastapi": ("dev", "run"), "rails": ("server", "s"),
    "hugo": ("server", "serve"), "jekyll": ("serve",), "mkdocs": ("serve",),
    "streamlit": ("run",), "jupyter": ("lab", "notebook"), "parcel": ("serve",),
    "expo": ("start",), "gatsby": ("develop", "serve"), "remix": ("dev",), "wrangler": ("dev",),
    "caddy": ("run",), "react-scripts": ("start",), "storybook": ("dev",),
}
_MODULES: Final = frozenset((
    "http.server", "uvicorn", "gunicorn", "hypercorn", "SimpleHTTPServer", "flask", "streamlit",
))
# fmt: on
_INSTEAD: Final = (
    "Call terminal with background=true instead: it is then watched, its output can be read with "
    "process, and it can be stopped."
)


def foreground_refusal(command: str) -> str | None:
    """Why `command` is not run in the foreground, and what works; None if it may be.

    A text for the model. What cannot be parsed is left to the shell to complain about.
    """
    for draft in parsed(command, home="/root", cwd="/").drafts:
        if _ELSEWHERE & set(draft.wrappers):
            continue
        escape = next((w for w in draft.wrappers if w in ("nohup", "setsid")), "")
        if escape or draft.program in ("disown", "nohup", "setsid"):
            return (
                f"`{escape or draft.program}` would leave a process behind that nobody watches. "
                f"{_INSTEAD}"
            )
        if draft.background:
            return f"`&` would leave a process behind that nobody watches. {_INSTEAD}"
        if "timeout" not in draft.wrappers and _serves(draft):
            return (
                f"`{_shown(draft.text)}` starts a server, which does not end by itself. {_INSTEAD}"
            )
    return None


def _shown(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def _serves(draft: Draft) -> bool:
    """Whether a program is a server that stays until it is stopped."""
    words, name = draft.words, draft.program
    if _ASKS & set(words) or words[-1:] == ("-v",):
        return False
    plain = operands(words)
    if name in ("npm", "pnpm", "yarn", "bun"):
        folders = value(words, "--prefix", "-C", "--dir", "--cwd", "--filter", "-w", "--workspace")
        return _runs_script([word for word in plain if word not in folders])
    if name in ("docker", "docker-compose", "podman", "podman-compose"):
        return "up" in plain[:2] and not {"-d", "--detach", "--wait", "--no-start"} & set(words)
    if interpreter(name) == "python":
        return _python_serves(words, plain)
    if name == "php":
        return "-S" in words
    if name in _VERBS:
        return next(iter(plain), "") in _VERBS[name]
    return name in _SERVERS


def _runs_script(plain: Sequence[str]) -> bool:
    verbs = [word for word in plain if word not in ("workspace", "exec", "x")]
    if verbs[:1] in (["run"], ["run-script"]):
        verbs = verbs[1:]
    return bool(verbs) and _SCRIPT.fullmatch(verbs[0]) is not None


def _python_serves(words: Sequence[str], plain: Sequence[str]) -> bool:
    if "-m" in words[:-1]:
        module = words[words.index("-m") + 1]
        return module in _MODULES and (module not in ("flask", "streamlit") or "run" in plain)
    return bool(plain) and plain[0].endswith("manage.py") and "runserver" in plain[1:2]
