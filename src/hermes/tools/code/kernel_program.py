"""The kernel: a script of its own, run by the session's Python, which may be an old one.

It imports nothing of Hermes. Standard input is a socket to Hermes over which JSON texts go, each
ended by a newline:

- in: `{"run": CODE, "name": FILE, "mark": TEXT, "tools": {NAME: [ARGUMENT, ...]}}`,
  `{"result": TEXT}` for a call;
- out: `{"call": NAME, "arguments": {...}}`, and `{"done": STATUS, "error": TEXT, "ended": BOOL}`,
  after which MARK is printed to standard output and standard error.

The code itself reads from nowhere: `input()` raises EOFError at once.
"""

from __future__ import annotations

import json
import linecache
import os
import shlex
import socket
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from typing import Any


class Channel:
    """The socket to Hermes."""

    def __init__(self) -> None:
        self._socket = socket.socket(fileno=os.dup(0))
        self._reader = self._socket.makefile("rb")
        self._lock = threading.Lock()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def receive(self) -> Any:
        """The next message; ends the kernel if Hermes has gone."""
        line = self._reader.readline()
        if not line:
            os._exit(0)
        return json.loads(line)

    def send(self, message: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The result of a tool, one call at a time."""
        with self._lock:
            self.send({"call": tool, "arguments": arguments})
            text = self.receive()["result"]
        try:
            return json.loads(text)
        except ValueError:
            return text


def tool_function(channel: Channel, name: str, parameters: list[str]) -> Callable[..., Any]:
    """What stands for the tool `name` in `hermes_tools`."""

    def function(*values: Any, **named: Any) -> Any:
        if len(values) > len(parameters):
            raise TypeError(f"{name}() takes at most {len(parameters)} positional arguments")
        arguments = dict(zip(parameters, values))  # noqa: B905  strict= is of Python 3.10
        for key, value in named.items():
            if key in arguments:
                raise TypeError(f"{name}() got two values for {key!r}")
            arguments[key] = value
        return channel.call(name, {k: v for k, v in arguments.items() if v is not None})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}({', '.join(parameters)}): the tool's result as a dict."
    return function


def json_parse(text: str) -> Any:
    """The value of a JSON text, also with raw control characters in its strings."""
    return json.loads(text, strict=False)


def retry(function: Callable[[], Any], max_attempts: int = 3, delay: float = 2) -> Any:
    """What `function` returns; called again after a growing pause while it raises."""
    for attempt in range(1, max_attempts + 1):
        try:
            return function()
        except Exception:  # boundary: the code's own function
            if attempt == max_attempts:
                raise
            time.sleep(delay * 2 ** (attempt - 1))
    return None


def tools_module(channel: Channel, tools: dict[str, list[str]]) -> types.ModuleType:
    """`hermes_tools`, with the tools there are."""
    module = types.ModuleType("hermes_tools", "The tools of Hermes, for code.")
    module.__file__ = "hermes_tools.py"
    for name, parameters in tools.items():
        setattr(module, name, tool_function(channel, name, parameters))
    extras = {"json_parse": json_parse, "shell_quote": shlex.quote, "retry": retry}
    for name, helper in extras.items():
        setattr(module, name, helper)
    return module


def execute(code: str, name: str, space: dict[str, Any]) -> tuple[int, str, bool]:
    """Run `code`; its status, what went wrong in a line, and whether it wants the kernel to end."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        exec(compile(code, name, "exec", dont_inherit=True), space)
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return int(e.code or 0), "", True
        sys.stderr.write(f"{e.code}\n")
        return 1, str(e.code), True
    except BaseException as e:  # boundary: the code
        frames = e.__traceback__.tb_next if e.__traceback__ else None
        traceback.print_exception(type(e), e, frames)
        return 1, traceback.format_exception_only(type(e), e)[-1].strip(), False
    return 0, "", False


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # boundary: the code may have put anything in place of it
            continue


def main() -> None:
    channel = Channel()
    # The code may close or replace 1 and 2; these stay. They are not inherited by programs.
    outputs = os.dup(1), os.dup(2)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.argv = [""]
    sys.path[0] = ""
    while True:
        message = channel.receive()
        sys.modules["hermes_tools"] = tools_module(channel, message["tools"])
        status, error, ended = execute(message["run"], message["name"], module.__dict__)
        flush()
        for fd in outputs:
            os.write(fd, message["mark"].encode())
        channel.send({"done": status, "error": error, "ended": ended})
        if ended:
            os._exit(0)


if __name__ == "__main__":
    main()
