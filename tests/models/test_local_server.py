"""The embedded model's process: started on demand, shared, ended in time."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio import to_thread

import hermes
from hermes.core.errors import ModelError, UserError
from hermes.models.local.server import Endpoint, LocalServer
from hermes.system.locks import is_alive, process_identity

SLEEPY_ENGINE = "import time\ntime.sleep(300)\n"
CRASHING_ENGINE = "import os, sys\nsys.stderr.write('boom')\nsys.stderr.flush()\nos.abort()\n"


@asynccontextmanager
async def server(
    model: Path, home: Path, *, idle_seconds: float = 600, python: str = sys.executable
) -> AsyncIterator[LocalServer]:
    made = LocalServer(
        model,
        state_dir=home / "locks",
        log=home / "logs" / "local.log",
        threads=1,  # other tests run beside this one, see server._threads
        idle_seconds=idle_seconds,
        python=python,
    )
    try:
        yield made
    finally:
        await made.aclose()


def bare_python(folder: Path, engine: str | None = None) -> str:
    """An interpreter that knows Hermes and, if given, a package named like the engine."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "hermes.pth").write_text(str(Path(hermes.__file__).parent.parent), encoding="utf-8")
    if engine is not None:
        (packages / "xllamacpp.py").write_text(engine, encoding="utf-8")
    return str(folder / "bin" / "python")


async def chat(endpoint: Endpoint, messages: list[dict[str, str]], tokens: int = 16) -> dict:
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.post(
            f"{endpoint.base_url}/chat/completions",
            headers={"Authorization": f"Bearer {endpoint.token}"},
            json={
                "messages": messages,
                "max_tokens": tokens,
                "temperature": 0,
                "ignore_eos": True,
            },
        )
    assert answer.status_code == 200, answer.text
    return answer.json()


def pid_of(home: Path) -> int:
    (state,) = (home / "locks").glob("local-*.json")
    return json.loads(state.read_text(encoding="utf-8"))["pid"]


async def gone(pid: int, within: float = 10) -> None:
    """Wait until the process is no more (a zombie is no more)."""
    with anyio.fail_after(within):
        while True:
            try:
                if not is_alive(process_identity(pid)):
                    return
            except ProcessLookupError:
                return
            await anyio.sleep(0.02)


@pytest.fixture
def any_model(tmp_path: Path) -> Path:
    """A file for tests in which no engine gets as far as reading it."""
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF")
    return path


async def test_a_missing_engine_names_the_extra_to_install(any_model: Path, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "venv")
    async with server(any_model, tmp_path, python=python) as local:
        with pytest.raises(UserError, match=r"hermes-agent\[local\]"):
            await local.ready()


async def test_an_engine_that_cannot_be_loaded_is_not_called_missing(
    any_model: Path, tmp_path: Path
) -> None:
    python = bare_python(tmp_path / "venv", "raise ImportError('GLIBC_2.99 not found')")
    async with server(any_model, tmp_path, python=python) as local:
        with pytest.raises(UserError, match=r"GLIBC_2\.99 not found"):
            await local.ready()


async def test_an_engine_without_its_openmp_library_names_the_package_to_install(
    any_model: Path, tmp_path: Path
) -> None:
    reason = "libgomp.so.1: cannot open shared object file: No such file or directory"
    python = bare_python(tmp_path / "venv", f"raise ImportError({reason!r})")
    async with server(any_model, tmp_path, python=python) as local:
        with pytest.raises(UserError, match=r"libgomp\.so\.1.*apt-get install libgomp1"):
            await local.ready()


async def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    async with server(tmp_path / "no.gguf", tmp_path) as local:
        with pytest.raises(UserError, match=r"no\.gguf"):
            await local.ready()


async def test_three_crashes_in_a_row_end_in_an_error_that_names_the_log(
    any_model: Path, tmp_path: Path
) -> None:
    python = bare_python(tmp_path / "venv", CRASHING_ENGINE)
    async with server(any_model, tmp_path, python=python) as local:
        with pytest.raises(ModelError, match="3 times") as raised:
            await local.ready()
    log = tmp_path / "logs" / "local.log"
    assert str(log) in str(raised.value)
    assert log.read_text(encoding="utf-8").count("boom") == 3


async def test_cancelling_the_start_ends_the_process_at_once(
    any_model: Path, tmp_path: Path
) -> None:
    engine = f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    python = bare_python(tmp_path / "venv", engine + SLEEPY_ENGINE)
    pid = tmp_path / "pid"
    async with server(any_model, tmp_path, python=python) as local:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(local.ready)
            with anyio.fail_after(20):
                while not (pid.exists() and pid.read_text(encoding="utf-8")):
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        await gone(int(pid.read_text(encoding="utf-8")), within=1)


@pytest.mark.localmodel
async def test_a_file_that_is_no_model_is_refused_with_the_log(
    any_model: Path, tmp_path: Path
) -> None:
    async with server(any_model, tmp_path) as local:
        with pytest.raises(ModelError, match=r"some\.gguf") as raised:
            await local.ready()
    assert str(tmp_path / "logs" / "local.log") in str(raised.value)
    assert "hermes: load: " in (tmp_path / "logs" / "local.log").read_text(encoding="utf-8")


@pytest.mark.localmodel
async def test_a_conversation_that_grows_is_read_from_the_cache(
    demo_model: Path, tmp_path: Path
) -> None:
    cached = []
    messages = [{"role": "system", "content": "You are a helpful assistant. " * 5}]
    async with server(demo_model, tmp_path) as local:
        for question in ("Hello", "And now?", "And then?"):
            messages.append({"role": "user", "content": question})
            async with local.use() as endpoint:
                answer = await chat(endpoint, messages, tokens=4)
            messages.append(answer["choices"][0]["message"])
            cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
        messages[0]["content"] = "Changed. " + messages[0]["content"]
        changed = await chat(await local.ready(), messages, tokens=1)
    assert cached[0] == 0 < cached[1] < cached[2]
    assert changed["usage"]["prompt_tokens_details"]["cached_tokens"] < 10


@pytest.mark.localmodel
async def test_only_who_knows_the_token_is_answered_and_only_the_owner_can_read_it(
    demo_model: Path, tmp_path: Path
) -> None:
    async with server(demo_model, tmp_path) as local, httpx2.AsyncClient() as client:
        endpoint = await local.ready()
        refused = await client.get(f"{endpoint.base_url}/models")
        command_line = Path(f"/proc/{pid_of(tmp_path)}/cmdline")
        if command_line.exists():
            assert endpoint.token.encode() not in command_line.read_bytes()
    assert refused.status_code == 401
    assert endpoint.token not in repr(endpoint)
    (state,) = (tmp_path / "locks").glob("local-*.json")
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


@pytest.mark.localmodel
async def test_closing_ends_the_process(demo_model: Path, tmp_path: Path) -> None:
    async with server(demo_model, tmp_path) as local:
        await local.ready()
        pid = pid_of(tmp_path)
        assert is_alive(process_identity(pid))
    await gone(pid, within=1)


@pytest.mark.localmodel
async def test_a_crash_costs_one_restart_and_not_hermes(demo_model: Path, tmp_path: Path) -> None:
    async with server(demo_model, tmp_path) as local:
        await local.ready()
        first = pid_of(tmp_path)
        os.kill(first, signal.SIGSEGV)
        await gone(first)
        async with local.use() as endpoint:
            answer = await chat(endpoint, [{"role": "user", "content": "Hello"}])
        assert answer["usage"]["completion_tokens"] == 16
        assert pid_of(tmp_path) != first


@pytest.mark.localmodel
async def test_crashes_between_good_answers_do_not_add_up(demo_model: Path, tmp_path: Path) -> None:
    async with server(demo_model, tmp_path) as local:
        for _ in range(3):
            async with local.use() as endpoint:
                await chat(endpoint, [{"role": "user", "content": "Hello"}], tokens=1)
            os.kill(pid := pid_of(tmp_path), signal.SIGSEGV)
            await gone(pid)
        async with local.use() as endpoint:
            await chat(endpoint, [{"role": "user", "content": "Hello"}], tokens=1)


@pytest.mark.localmodel
async def test_an_idle_process_ends_but_not_while_it_is_used(
    demo_model: Path, tmp_path: Path
) -> None:
    async with server(demo_model, tmp_path, idle_seconds=0.1) as local:
        async with local.use() as endpoint:
            answer = await chat(endpoint, [{"role": "user", "content": "Tell a story"}], tokens=60)
            assert answer["timings"]["predicted_ms"] > 200
            pid = pid_of(tmp_path)
            assert is_alive(process_identity(pid))
        await gone(pid)
        async with local.use() as again:
            await chat(again, [{"role": "user", "content": "Hello"}], tokens=1)
        assert again.base_url and pid_of(tmp_path) != pid


OTHER_HERMES = """
import sys
from pathlib import Path
import anyio
from hermes.models.local.server import LocalServer

async def main(model, home):
    local = LocalServer(model, state_dir=home / "locks", log=home / "logs" / "local.log")
    endpoint = await local.ready()
    print(endpoint.base_url, flush=True)
    await anyio.to_thread.run_sync(sys.stdin.read)
    await local.aclose()

anyio.run(main, Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.localmodel
async def test_processes_of_one_home_share_a_model_and_survive_the_end_of_its_owner(
    demo_model: Path, tmp_path: Path
) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER_HERMES, demo_model, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with other:
        try:
            theirs = (await to_thread.run_sync(other.stdout.readline)).strip()
            pid = pid_of(tmp_path)
            async with server(demo_model, tmp_path) as local:
                assert (await local.ready()).base_url == theirs
                assert not local.owned
                other.kill()
                await gone(pid)
                async with local.use() as endpoint:
                    await chat(endpoint, [{"role": "user", "content": "Hello"}], tokens=1)
                assert local.owned
        finally:
            other.kill()


@pytest.mark.localmodel
async def test_two_that_start_together_start_one_process(demo_model: Path, tmp_path: Path) -> None:
    async with server(demo_model, tmp_path) as one, server(demo_model, tmp_path) as two:
        found: list[str] = []

        async def start(local: LocalServer) -> None:
            found.append((await local.ready()).base_url)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start, one)
            tasks.start_soon(start, two)
        assert found[0] == found[1]
        assert one.owned != two.owned


@pytest.mark.localmodel
async def test_a_stranger_on_a_port_left_free_is_not_trusted(
    demo_model: Path, tmp_path: Path
) -> None:
    async def stranger(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            body = b'{"object":"list","data":[{"id":"a model"}]}'
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async with server(demo_model, tmp_path) as local:
        await local.ready()
    (state,) = (tmp_path / "locks").glob("local-*.json")
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, stranger)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        moved = json.loads(state.read_text(encoding="utf-8")) | {"port": port}
        state.write_text(json.dumps(moved), encoding="utf-8")
        async with server(demo_model, tmp_path) as local:
            assert f":{port}/" not in (await local.ready()).base_url
        tasks.cancel_scope.cancel()
