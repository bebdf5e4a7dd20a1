"""One running language server, spoken to through pygls. Imported when the first server starts:
pygls and what it brings cost 0.7 s and 30 MB.

Only pygls' JSON-RPC is used, with plain JSON values: its typed layer (pygls 2.1, cattrs 26.2) drops
the whole of an answer that holds anything its types do not foresee, as ruff's to `initialize` does.
Method names and shapes are those of the Language Server Protocol 3.17.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import anyio
from cattrs import Converter
from lsprotocol.types import ResponseError, ResponseErrorMessage
from pygls.client import JsonRPCClient
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCProtocol,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)

from hermes.tools.files.checks.lsp.report import KEPT, character
from hermes.tools.files.checks.lsp.transport import Transport
from hermes.tools.files.checks.problems import Problem
from hermes.version import __version__

SETTLE: Final = 0.15
"""Seconds without news after which pushed diagnostics count as complete: servers send the syntax's
first and the rest a moment later."""

AGAIN: Final = 0.1
"""Seconds before a request that the server cancelled is made again."""

OPEN: Final = 50
"""Documents that a server holds open at most."""

FILES: Final = 500
"""Files of which pushed diagnostics are kept."""

FAREWELL: Final = 0.3
"""Seconds a server has to shut down by itself."""

ERROR: Final = 1
"""DiagnosticSeverity.Error."""

CAPABILITIES: Final = {
    "general": {"positionEncodings": ["utf-32", "utf-16"]},
    "textDocument": {
        "synchronization": {"dynamicRegistration": False},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": False},
    },
    "workspace": {"configuration": True, "workspaceFolders": True},
}

Json = Any
"""A value as the server sent it."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Document:
    """A file as the server knows it."""

    text: str
    version: int = 0
    since: int = 0
    """How many pushes there were when the server was told this text."""
    known: list[Problem] | None = None


@dataclass(slots=True)
class _Published:
    """The last that a server pushed for a file, and how many pushes there were before it."""

    problems: list[Json] = field(default_factory=list)
    version: int | None = None
    number: int = 0

    def answers(self, document: _Document) -> bool:
        """Whether this was said of the document's present text, as far as the server tells."""
        return self.number > document.since and self.version in {None, document.version}


class Connection:
    """A server and what it was told. One caller at a time."""

    def __init__(self, transport: Transport, root: str) -> None:
        # pygls logs whole documents, and warns on stderr of every message it does not know.
        logger = logging.getLogger("pygls")
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        self._client = JsonRPCClient(JsonRPCProtocol, _plain)
        self._rpc = self._client.protocol
        self._rpc.set_writer(transport, include_headers=True)
        self._root = root
        self._documents: dict[str, _Document] = {}
        self._published: dict[str, _Published] = {}
        self._pushes = 0
        self._news = anyio.Event()
        self._encoding = "utf-16"
        self._pulls = False
        self._answer_server()

    def receive(self, body: bytes) -> None:
        """Take one message of the server; what is not understood is left alone."""
        try:
            self._rpc.handle_message(self._rpc.structure_message(json.loads(body)))
        except Exception:  # boundary: any server's idea of the protocol
            log.debug("a message of a language server was not understood", exc_info=True)

    async def initialize(self) -> None:
        """Shake hands; the server is ready after this."""
        result = await self._rpc.send_request_async(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "hermes", "version": __version__},
                "rootUri": Path(self._root).as_uri(),
                "workspaceFolders": self._folders(),
                "capabilities": CAPABILITIES,
            },
        )
        capabilities = result["capabilities"]
        self._encoding = capabilities.get("positionEncoding", "utf-16")
        self._pulls = bool(capabilities.get("diagnosticProvider"))
        self._rpc.notify("initialized", {})

    async def stop(self) -> None:
        """Ask the server to shut down by itself, for FAREWELL at most."""
        with anyio.move_on_after(FAREWELL):
            try:
                await self._rpc.send_request_async("shutdown")
                self._rpc.notify("exit")
            except Exception:  # boundary: it is ended in any case
                log.debug("a language server did not shut down", exc_info=True)

    async def errors(self, path: str, language: str, text: str) -> list[Problem]:
        """The errors of `path` when it holds `text`. Waits for as long as the server takes."""
        document = self._sync(path, language, text)
        if document.known is not None:
            return document.known
        found = await self._pulled(path) if self._pulls else []
        if not self._pulls:
            await self._pushed(path, document)
        published = self._published.get(path)
        if published and published.answers(document):
            found = [*found, *published.problems]
        document.known = self._problems(found, text)
        return document.known

    def others(self, path: str) -> dict[str, list[Problem]]:
        """The errors last pushed for other files, by path. Columns are the protocol's own."""
        return {
            other: self._problems(published.problems, None)
            for other, published in self._published.items()
            if other != path
        }

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing was pushed for `seconds`."""
        while True:
            with anyio.move_on_after(seconds) as silence:
                await self._news.wait()
            if silence.cancelled_caught:
                return

    def _sync(self, path: str, language: str, text: str) -> _Document:
        identifier: dict[str, Json] = {"uri": Path(path).as_uri()}
        document = self._documents.pop(path, None)
        if document is None:
            document = _Document(text=text, since=self._pushes)
            self._rpc.notify(
                "textDocument/didOpen",
                {"textDocument": identifier | {"languageId": language, "version": 0, "text": text}},
            )
        elif document.text != text:
            document.version += 1
            document.text, document.known, document.since = text, None, self._pushes
            self._rpc.notify(
                "textDocument/didChange",
                {
                    "textDocument": identifier | {"version": document.version},
                    "contentChanges": [{"text": text}],
                },
            )
        self._documents[path] = document
        while len(self._documents) > OPEN:
            oldest = next(iter(self._documents))
            del self._documents[oldest]
            closed = {"textDocument": {"uri": Path(oldest).as_uri()}}
            self._rpc.notify("textDocument/didClose", closed)
        return document

    async def _pulled(self, path: str) -> list[Json]:
        asked = {"textDocument": {"uri": Path(path).as_uri()}}
        while True:
            try:
                report = await self._rpc.send_request_async("textDocument/diagnostic", asked)
            except Exception as e:  # boundary: a server may cancel while it loads a project
                log.debug("a language server did not answer", exc_info=e)
                await anyio.sleep(AGAIN)
                continue
            return list(report.get("items", ()))

    async def _pushed(self, path: str, document: _Document) -> None:
        while not ((last := self._published.get(path)) and last.answers(document)):
            await self._news.wait()
        await self.quiet(SETTLE)

    def _problems(self, found: Sequence[Json], text: str | None) -> list[Problem]:
        lines = text.split("\n") if text is not None else []
        problems: dict[Problem, None] = {}
        for diagnostic in found[:KEPT]:
            # Without a severity it is the client's to choose; it says that something is wrong.
            if diagnostic.get("severity", ERROR) != ERROR:
                continue
            start = diagnostic["range"]["start"]
            at, units = start["line"], start["character"]
            line = lines[at] if at < len(lines) else ""
            column = character(line, units, self._encoding) if lines else units + 1
            message = " ".join(str(diagnostic["message"]).split())
            source = f" [{diagnostic['source']}]" if diagnostic.get("source") else ""
            found_one = Problem(line=at + 1, column=column, message=f"error {message}{source}")
            problems[found_one] = None
        return list(problems)

    def _publish(self, params: Json) -> None:
        # Servers write the same address in different ways (`%40` and `@`); the path is one.
        path = unquote(params["uri"].removeprefix("file://"))
        self._pushes += 1
        self._published.pop(path, None)
        self._published[path] = _Published(
            problems=params["diagnostics"][:KEPT],
            version=params.get("version"),
            number=self._pushes,
        )
        while len(self._published) > FILES:
            del self._published[next(iter(self._published))]
        news, self._news = self._news, anyio.Event()
        news.set()

    def _folders(self, _: Json = None) -> list[Json]:
        root = Path(self._root)
        return [{"uri": root.as_uri(), "name": root.name}]

    def _answer_server(self) -> None:
        """What a server may ask of us. It is never allowed to change a file."""
        feature = self._client.feature
        # pygls marks what it is given, and a bound method takes no marks.
        feature("textDocument/publishDiagnostics")(partial(self._publish))
        feature("workspace/workspaceFolders")(partial(self._folders))
        feature("workspace/configuration")(lambda params: [None] * len(params["items"]))
        feature("workspace/applyEdit")(lambda _: {"applied": False})
        for method in (
            "client/registerCapability",
            "client/unregisterCapability",
            "window/workDoneProgress/create",
            "window/showMessageRequest",
            "workspace/diagnostic/refresh",
        ):
            feature(method)(lambda _: None)


def _plain() -> Converter:
    """A converter that leaves every message's content as it is; what is missing is None."""
    converter = Converter()

    def fill(data: Mapping[str, Json], kind: type[Json]) -> Json:
        return kind(**{name: data.get(name) for name in kind.__annotations__})

    for kind in (JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage):
        converter.register_structure_hook(kind, fill)

    def refusal(data: Mapping[str, Json], _: type[Json]) -> ResponseErrorMessage:
        error = data["error"]
        return ResponseErrorMessage(
            id=data["id"], error=ResponseError(error["code"], error["message"])
        )

    converter.register_structure_hook(ResponseErrorMessage, refusal)
    return converter
