"""`hermes doctor`: what is found, what to do, and an exit status that scripts can use."""

import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from hermes.sdk.testing.model_server import ScriptedModel
from program import Program


def examine(program: Program) -> tuple[int, dict[str, str]]:
    """The exit status, and what was found: `status text hint` by name."""
    run = program.run("doctor")
    assert run.stderr == b""
    found: dict[str, str] = {}
    name = ""
    for line in run.stdout.decode().splitlines():
        if line[0] != " ":
            status, name, text = line.split(maxsplit=2)
            found[name] = f"{status} {text}"
        else:
            found[name] += f" {line.strip()}"
    return run.returncode, found


def test_a_bare_home_is_well_and_told_what_is_missing(program: Program) -> None:
    status, found = examine(program)
    assert status == 0
    for name in ("home", "config", ".env", "disk", "database", "shell", "python"):
        assert found[name].startswith("ok "), found[name]
    assert found["model"].startswith("warn No model")
    assert "hermes model MODEL" in found["model"]
    assert not (program.home / "hermes.db").exists()


def test_it_says_plainly_what_commands_run_in(program: Program) -> None:
    _, found = examine(program)
    status, told = program.run("sandbox", "status", "--json").returncode, found["sandbox"]
    assert told.startswith("ok " if status == 0 else "warn No sandbox works here")
    program.configure("http://127.0.0.1:9", "terminal:\n  local:\n    sandbox: off\n")
    _, found = examine(program)
    assert found["sandbox"].startswith("warn Commands run without a sandbox")


def test_a_model_that_answers_is_well(program: Program) -> None:
    with ScriptedModel([]) as model:
        program.configure(model.base_url)
        status, found = examine(program)
        assert [r.path for r in model.other_requests] == ["/v1/models"]
    assert status == 0
    assert found["model"].startswith("ok custom/scripted answers")


def test_a_model_where_nothing_answers_fails(program: Program) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        program.configure(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
        status, found = examine(program)
    assert status == 1
    assert found["model"].startswith("fail Nothing answers at 127.0.0.1")


@contextmanager
def answering(status: int) -> Iterator[str]:
    """The address of a server that answers every GET with `status`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def test_a_key_that_is_refused_fails(program: Program) -> None:
    with answering(401) as url:
        own = f"{{base_url: '{url}', api_key: wrong-key-wrong-key}}"
        program.configure(url, f"providers: {{mine: {own}}}\n")
        program.env["HERMES_INFERENCE_PROVIDER"] = "mine"
        status, found = examine(program)
    assert status == 1
    assert "refused the key (HTTP 401)" in found["model"]


def test_an_endpoint_without_a_list_of_models_is_well(program: Program) -> None:
    with answering(404) as url:
        program.configure(url)
        status, found = examine(program)
    assert (status, found["model"].split()[0]) == (0, "ok")


def test_problems_of_the_configuration_are_counted(program: Program) -> None:
    program.home.mkdir()
    config = program.home / "config.yaml"
    config.write_text("modelx: x\nstt: {enabled: true}\n", encoding="utf-8")
    (program.home / ".env").write_text("A_KEY=abcdefgh\n", encoding="utf-8")
    (program.home / ".env").chmod(0o640)
    status, found = examine(program)
    assert status == 0
    assert found["config"].startswith("warn ~/home/config.yaml: 1 keys")
    assert "hermes config check" in found["config"]
    assert "chmod 600" in found[".env"]


def test_a_broken_configuration_fails_and_the_rest_is_still_examined(program: Program) -> None:
    program.home.mkdir()
    (program.home / "config.yaml").write_text("model: [\n", encoding="utf-8")
    status, found = examine(program)
    assert status == 1
    assert found["config"].startswith("fail ~/home/config.yaml:")
    assert "model" not in found
    assert found["shell"].startswith("ok ")


def test_a_database_of_a_newer_version_fails_and_is_not_touched(program: Program) -> None:
    program.run("tools", "call", "read_file", '{"path": "x"}')
    file = program.home / "hermes.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 9999")
    db.close()
    before = file.read_bytes()
    status, found = examine(program)
    assert status == 1
    assert found["database"].startswith("fail ")
    assert file.read_bytes() == before


def test_a_home_that_is_a_file_fails(program: Program) -> None:
    program.home.write_text("not a folder", encoding="utf-8")
    status, found = examine(program)
    assert status == 1
    assert found["home"].startswith("fail ")


def test_a_machine_without_bash_fails(program: Program) -> None:
    program.env["PATH"] = "/nonexistent"
    status, found = examine(program)
    assert status == 1
    assert found["shell"].startswith("fail There is no bash")
