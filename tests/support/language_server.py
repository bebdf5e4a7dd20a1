"""A language server as a script: an error wherever a line holds a word that starts with BAD.

`python language_server.py MODE LOG`; it appends its pid, and what it is told, to LOG.
"""

import json
import os
import subprocess
import sys
import threading
from typing import Any

MODE, LOG = sys.argv[1:3]
documents: dict[str, str] = {}


def note(words: str) -> None:
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(words + "\n")


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0"} | message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any]:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        sys.exit(0)
    message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return message


def found(text: str) -> list[dict[str, Any]]:
    items = []
    for number, line in enumerate(text.split("\n")):
        if (at := line.find("BAD")) >= 0:
            units = len(line[:at].encode("utf-16-le")) // 2
            place = {"line": number, "character": units}
            word = line[at:].split()[0]
            items.append(
                {"range": {"start": place, "end": place}, "severity": 1, "source": "scripted"}
                | {"message": f"{word}\nis not good"}
            )
    if items:
        items.append(items[0] | {"severity": 2, "message": "only a warning"})
    return items


def publish(uri: str, version: int) -> None:
    items = found(documents[uri])
    if MODE == "flood":
        items = [items[0] | {"message": f"error {i}"} for i in range(5_000)] if items else []
        for i in range(300):
            other = {"uri": f"file:///nowhere/{i}", "diagnostics": items[:50]}
            send({"method": "textDocument/publishDiagnostics", "params": other})
    params: dict[str, Any] = {"uri": uri.replace("@", "%40"), "diagnostics": items}
    if MODE == "neighbour" and items:
        other = {"uri": uri + ".other", "diagnostics": items[:1]}
        send({"method": "textDocument/publishDiagnostics", "params": other})
    if MODE != "unversioned":
        stale = params | {"version": version - 1, "diagnostics": []}
        send({"method": "textDocument/publishDiagnostics", "params": stale})
        params["version"] = version
    send({"method": "textDocument/publishDiagnostics", "params": params})


def answer(message: dict[str, Any]) -> None:
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        if MODE == "slow":
            threading.Event().wait(1.0)
        capabilities: dict[str, Any] = {"unforeseen": [{"a": {"b": None}}]}
        if MODE == "pull":
            capabilities["diagnosticProvider"] = {"interFileDependencies": False}
        send({"id": message["id"], "result": {"capabilities": capabilities}})
        # Questions a server may have: it must get an answer to each.
        send({"id": 1, "method": "workspace/configuration", "params": {"items": [{}, {}]}})
        send({"id": 2, "method": "workspace/workspaceFolders"})
        send({"id": 3, "method": "no/such/method", "params": {}})
        edit = {"edit": {"changes": {}}}
        send({"id": 4, "method": "workspace/applyEdit", "params": edit})
        send({"method": "window/logMessage", "params": {"type": 3, "message": "hello"}})
    elif method in {"textDocument/didOpen", "textDocument/didChange"}:
        document = params["textDocument"]
        text = document.get("text") or "".join(c["text"] for c in params.get("contentChanges", ()))
        documents[document["uri"]] = text
        note(f"{method} {document.get('languageId', '')}")
        if MODE == "crash" and "BAD" in text:
            sys.stderr.write("the scripted server gives up\n")
            sys.stderr.flush()
            os._exit(3)
        if MODE == "garbage":
            sys.stdout.buffer.write(b"hello, I am no language server " * 500)
            sys.stdout.buffer.flush()
        elif MODE != "pull" and MODE != "mute":
            publish(document["uri"], document["version"])
    elif method == "textDocument/diagnostic":
        report = {"kind": "full", "items": found(documents[params["textDocument"]["uri"]])}
        if MODE == "pull" and message["id"] not in documents and not documents.get("cancelled"):
            documents["cancelled"] = "once"
            error = {"code": -32802, "message": "cancelled", "data": {"retriggerRequest": True}}
            send({"id": message["id"], "error": error})
        else:
            send({"id": message["id"], "result": report})
    elif method == "shutdown":
        note("shutdown")
        send({"id": message["id"], "result": None})
    elif method == "exit":
        sys.exit(0)
    elif "method" not in message:
        note(f"answer {message['id']} {json.dumps(message.get('result', 'refused'))}")


if MODE == "stubborn":
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
    note(f"pid {child.pid}")
note(f"pid {os.getpid()}")
while True:
    request = receive()
    if MODE == "stubborn" and request.get("method") in {"shutdown", "exit"}:
        continue
    answer(request)
