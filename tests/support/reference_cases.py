"""The reference implementation's own cases, run through the dispatcher, and what differs."""

import argparse
import base64
import json
import os
import re
import stat
import subprocess
from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from hermes.agent.direct import DirectCalls
from hermes.app.build import App
from hermes.system.env import Environment
from hermes.system.paths import Home

LINE_CUT: Final = "... [truncated]"

WORDINGS: Final = (
    (r"bash: (?:eval: )?line \d+(?=:)", "<BASH>"),
    (r"<BASH>: +\d+ (?=Segmentation)", "<BASH>: <PID> "),
    (r"\[timed out after [^\]]*\]", "<TIMEOUT_MARK>"),
    (r"^Background process started$", "<BG_STARTED>"),
)


class Place:
    """A scratch folder, a person's home and a home of Hermes, and the names cases have for them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "R"
        self.user = folder / "user"
        self.home = folder / "user" / ".hermes"
        for each in (self.root, self.home):
            each.mkdir(parents=True)
        self._names = {
            "{R}": str(self.root),
            "{HERMES_HOME}": str(self.home),
            "{USERHOME}": str(self.user),
        }

    def real(self, value: Any) -> Any:
        """`value` with paths of this place."""
        match value:
            case str():
                for name, path in self._names.items():
                    value = value.replace(name, path)
                return value
            case {"repeat": text, "n": count}:
                return text * count
            case dict():
                return {self.real(key): self.real(item) for key, item in value.items()}
            case list():
                return [self.real(item) for item in value]
        return value

    def make(self, setup: dict[str, Any]) -> None:
        for name in setup.get("dirs", ()):
            (self.root / name).mkdir(parents=True)
        for name, content in (setup.get("files") or {}).items():
            self.write(name, content)
        for name, target in setup.get("symlinks", {}).items():
            (self.root / name).symlink_to(self.real(target))
        for name in setup.get("fifos", ()):
            os.mkfifo(self.root / name)
        for name, mode in setup.get("modes", {}).items():
            (self.root / name).chmod(int(mode, 8))
        for name, at in setup.get("mtimes", {}).items():
            os.utime(self.root / name, (at, at))
        if setup.get("git"):
            subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def write(self, name: str, content: Any) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_bytes(content))

    def after(self) -> dict[str, Any]:
        """What is in the scratch folder, as the cases tell it."""
        found: dict[str, Any] = {}
        for folder, folders, files in os.walk(self.root):
            if ".git" in folders:
                folders.remove(".git")
            for name in files:
                path = Path(folder) / name
                found[str(path.relative_to(self.root))] = _told(path)
        return found


def _bytes(content: Any) -> bytes:
    match content:
        case str():
            return content.encode("utf-8", "surrogateescape")
        case {"b64": text}:
            return base64.b64decode(text)
        case {"repeat": text, "n": count}:
            return (text * count).encode()
        case {"numbered": text, "n": count}:
            return "".join(text.replace("{i}", str(i)) for i in range(1, count + 1)).encode()
    raise AssertionError(content)


def _told(path: Path) -> dict[str, Any]:
    at = path.lstat()
    if stat.S_ISLNK(at.st_mode):
        return {"symlink": str(path.readlink())}
    if not stat.S_ISREG(at.st_mode):
        return {"special": True}
    return {"size": at.st_size, "mode": oct(stat.S_IMODE(at.st_mode)), "data": path.read_bytes()}


async def results(row: dict[str, Any], place: Place, variables: dict[str, str]) -> list[Any]:
    """The results of the case's calls, those of a task in a session of their own."""
    env = {"HOME": str(place.user), "PATH": os.environ["PATH"]}
    env |= {"HERMES_HOME": str(place.home)} | variables
    environment = Environment(env)
    app = App(environment, Home.locate(environment), argparse.Namespace())
    found: list[Any] = []
    ids = [""]
    async with AsyncExitStack() as stack:
        tasks: dict[str, DirectCalls] = {}

        async def call(task: str, tool: str, arguments: dict[str, Any]) -> Any:
            if task not in tasks:
                opened = app.direct(cwd=str(place.root), approve=False)
                tasks[task] = await stack.enter_async_context(opened)
            real = place.real(arguments)
            if real.get("session_id") == "{sid}":
                real["session_id"] = ids[-1]
            return json.loads(await tasks[task].call(tool, real))

        for step in row.get("steps") or [{"tool": row["tool"], "args": row["args"]}]:
            if "tool" in step:
                result = await call(step.get("task_id", ""), step["tool"], step["args"])
                found.append(result)
                if str(result.get("session_id", "")).startswith("proc_"):
                    ids.append(result["session_id"])
            if "sleep" in step:
                # The case lets a command get on: it is waited for as long, or until its end.
                wait = {"action": "wait", "session_id": ids[-1], "timeout": step["sleep"]}
                await call("", "process", wait)
            for name, content in step.get("fs_write", {}).items():
                place.write(name, content)
    return found


def differences(
    row: dict[str, Any], place: Place, result: Any, ignored: Collection[str] = ()
) -> list[str]:
    """In what the last result and the files differ from what the reference did; keys that are
    `ignored` are not compared."""
    observed = place.real(row["observed"])
    wrong: list[str] = []
    if observed.get("hung"):
        return ["the reference hangs"]
    if set(observed["keys"]) != set(result):
        wrong.append(f"keys {sorted(result)}, not {sorted(observed['keys'])}")
    for key, value in (observed["values"] or {}).items():
        if key in ignored:
            continue
        got = _value(result, key)
        if not _same(_canonical(key, got), _canonical(key, value)):
            wrong.append(f"{key}: {got!r}, not {value!r}")
    expected = observed.get("files_after")
    if expected is not None:
        wrong += _file_differences(expected, place.after())
    return wrong


def _value(result: Any, key: str) -> Any:
    if key == "n_processes":
        return len(result["processes"])
    if key == "process_entry_keys":
        return sorted(result["processes"][0])
    if key.startswith("has_"):
        name = key.removeprefix("has_")
        return any(result.get(each) for each in (name, f"_{name}"))
    if key == "lint_status":
        lint = result.get("lint", {})
        return lint.get("status") or {path: each["status"] for path, each in lint.items()} or None
    return result.get(key)


def _same(got: Any, expected: Any) -> bool:
    """Long texts are told by their length and their ends, words that are the reference's own by a
    name."""
    match expected:
        case {"len": length, "head": head, "tail": tail}:
            head, tail = (part.replace("<LINE_CUT>", LINE_CUT) for part in (head, tail))
            if not (isinstance(got, str) and got.startswith(head) and got.endswith(tail)):
                return False
            return len(got) == length or "<LINE_CUT>" in expected["tail"]
        case {"stdout": stdout, "last_line": last}:
            head, mark, errors = got.partition("--- stderr ---\n")
            return bool(head == stdout and mark and errors.splitlines()[-1] == last)
        case str() if "<LINE_CUT>" in expected:
            return bool(got == expected.replace("<LINE_CUT>", LINE_CUT))
    return bool(got == expected)


def _canonical(key: str, value: Any) -> Any:
    """The order in which the reference finds things is that of threads; what is its own wording has
    a name in the cases."""
    if key == "output" and isinstance(value, str):
        for pattern, name in WORDINGS:
            value = re.sub(pattern, name, value)
    if key == "matches_text" and isinstance(value, str):
        blocks: list[list[str]] = []
        for line in value.split("\n"):
            if not line.startswith("  "):
                blocks.append([])
            blocks[-1].append(line)
        return sorted(blocks)
    if key in ("matches", "files") and isinstance(value, list):
        return sorted(value, key=json.dumps)
    return value


def _file_differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    wrong = []
    if set(expected) != set(found):
        wrong.append(f"files {sorted(found)}, not {sorted(expected)}")
    for name in set(expected) & set(found):
        want, got = expected[name], found[name]
        for key in ("size", "mode", "symlink", "special"):
            if key in want and want[key] != got.get(key):
                wrong.append(f"{name}: {key} {got.get(key)!r}, not {want[key]!r}")
        if "b64" in want and base64.b64decode(want["b64"]) != got.get("data"):
            wrong.append(f"{name}: {got.get('data')!r}, not {want['b64']!r}")
        if "text" in want and want["text"].encode("utf-8", "surrogateescape") != got.get("data"):
            wrong.append(f"{name}: {got.get('data')!r}, not {want['text']!r}")
    return wrong


def variables_of(row: dict[str, Any], place: Place) -> dict[str, str]:
    steps = row.get("steps") or []
    return {
        name: value
        for step in steps
        for name, value in place.real(step.get("setenv") or {}).items()
        if value is not None
    }
