"""Diagnostics of language servers: a real one (ruff), and a scripted one that misbehaves."""

import logging
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes.core.clock import SystemClock
from hermes.system.config.sections import LspSection, LspServerSection
from hermes.system.process import Reaper
from hermes.tools.files.checks.checker import Checker

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

SCRIPT = Path(__file__).parents[1] / "support" / "language_server.py"
RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")

OLD = "one\ntwo\n"
NEW = "one\nBADword\ntwo\n"


class Bench:
    """A workspace `root`, the scripted server's `log`, and checkers for both."""

    def __init__(self, folder: Path) -> None:
        # A name that servers write in different ways.
        self.root = folder / "work space@1"
        self.root.mkdir()
        self.log = folder / "log"
        self.log.write_text("", encoding="utf-8")

    @asynccontextmanager
    async def checker(self, mode: str = "push", **changes: Any) -> AsyncIterator[Checker]:
        command = (sys.executable, "-I", "-S", str(SCRIPT), mode, str(self.log))
        own = LspServerSection(command=command, extensions=("scr",), markers=("marker",))
        settings = LspSection(**({"servers": {"scripted": own}, "wait_timeout": 20.0} | changes))
        reaper = Reaper()
        parts: dict[str, Any] = {"env": {"PATH": "/usr/bin:/bin"}, "redact": str}
        try:
            async with Checker(settings, reaper=reaper, clock=SystemClock(), **parts) as checker:
                yield checker
        finally:
            await reaper.aclose()

    async def edit(self, checker: Checker, old: str | None, new: str, name: str = "a.scr") -> Any:
        path = self.root / name
        return await checker.diagnostics(str(path), old, new, workspace=str(self.root))

    def said(self, start: str) -> list[str]:
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith(start)]

    def running(self) -> list[int]:
        pids = [int(line.split()[1]) for line in self.said("pid ")]
        return [pid for pid in pids if _alive(pid)]


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def warnings() -> Any:
    heard: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    ear, logger = Ear(), logging.getLogger("hermes")
    logger.addHandler(ear)
    yield heard
    logger.removeHandler(ear)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.01)


@pytest.mark.parametrize("mode", ["push", "unversioned", "pull"])
async def test_only_errors_that_the_edit_brought_in_are_shown(bench: Bench, mode: str) -> None:
    async with bench.checker(mode) as checker:
        assert await bench.edit(checker, OLD, NEW) == "2:1 error BADword is not good [scripted]"
        moved = "zero\n" + NEW
        assert await bench.edit(checker, NEW, moved) is None
        worse = moved + "x BADmore\n"
        assert await bench.edit(checker, moved, worse) == "5:3 error BADmore is not good [scripted]"
        assert await bench.edit(checker, worse, OLD) is None


async def test_a_new_file_has_no_errors_of_before(bench: Bench) -> None:
    async with bench.checker() as checker:
        assert await bench.edit(checker, None, NEW) == "2:1 error BADword is not good [scripted]"


async def test_columns_count_characters_whatever_the_server_counts(bench: Bench) -> None:
    async with bench.checker() as checker:
        found = await bench.edit(checker, None, "\U0001f600\U0001f600 é BAD")
    assert found == "1:6 error BAD is not good [scripted]"


async def test_a_file_changed_by_others_meanwhile_is_not_blamed_on_the_edit(bench: Bench) -> None:
    async with bench.checker() as checker:
        assert await bench.edit(checker, None, OLD) is None
        theirs = "BADtheirs\n" + OLD
        assert await bench.edit(checker, theirs, theirs + "fine\n") is None


async def test_a_server_starts_once_and_its_questions_are_answered(bench: Bench) -> None:
    async with bench.checker() as checker:
        for _ in range(3):
            await bench.edit(checker, OLD, NEW)
            await bench.edit(checker, NEW, OLD)
        await until(lambda: len(bench.said("answer")) == 4)
        assert len(bench.said("pid")) == 1
        assert len(bench.said("textDocument/didOpen")) == 1
        uri = bench.root.as_uri()
        folder = f'[{{"uri": "{uri}", "name": "{bench.root.name}"}}]'
        assert bench.said("answer") == [
            "answer 1 [null, null]",
            f"answer 2 {folder}",
            'answer 3 "refused"',
            'answer 4 {"applied": false}',
        ]


async def test_the_root_is_the_nearest_marker_inside_the_workspace(bench: Bench) -> None:
    inner = bench.root / "inner"
    (inner / "deep").mkdir(parents=True)
    (inner / "marker").write_text("", encoding="utf-8")
    (bench.root.parent / "marker").write_text("", encoding="utf-8")
    async with bench.checker() as checker:
        await bench.edit(checker, OLD, NEW, "inner/deep/a.scr")
        await until(lambda: len(bench.said("answer 2")) == 1)
        assert bench.said("answer 2")[0].count(f'"{inner.as_uri()}"') == 1
        await bench.edit(checker, OLD, NEW, "a.scr")
        await until(lambda: len(bench.said("answer 2")) == 2)
        assert bench.said("answer 2")[1].count(f'"{bench.root.as_uri()}"') == 1


async def test_a_slow_start_costs_the_wait_once_and_goes_on_in_the_background(
    bench: Bench,
) -> None:
    async with bench.checker("slow", wait_timeout=0.2) as checker:
        started = time.monotonic()
        assert await bench.edit(checker, OLD, NEW) is None
        assert time.monotonic() - started < 1.5
        await until(lambda: bool(bench.said("answer 4")))
        assert len(bench.said("pid")) == 1
    async with bench.checker("slow", wait_timeout=0.5, warmup_timeout=20.0) as checker:
        assert await bench.edit(checker, OLD, NEW) == "2:1 error BADword is not good [scripted]"


async def test_a_server_that_stays_silent_costs_the_wait_and_nothing_more(bench: Bench) -> None:
    async with bench.checker("mute", wait_timeout=0.4, warmup_timeout=20.0) as checker:
        with anyio.fail_after(10):
            assert await bench.edit(checker, OLD, NEW) is None
        assert bench.running()


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("crash", "status 3: the scripted server gives up"), ("garbage", "not the protocol")],
)
async def test_a_server_that_fails_is_left_alone_for_a_while(
    bench: Bench, warnings: list[str], mode: str, reason: str
) -> None:
    async with bench.checker(mode, broken_retry_seconds=1.0) as checker:
        assert await bench.edit(checker, None, NEW) is None
        assert await bench.edit(checker, None, NEW) is None
        await until(lambda: any(reason in words for words in warnings))
        assert len(bench.said("pid")) == 1
        with anyio.fail_after(10):
            while len(bench.said("pid")) == 1:
                await bench.edit(checker, None, NEW)
                await anyio.sleep(0.05)


async def test_a_flood_is_cut_and_counted(bench: Bench) -> None:
    async with bench.checker("flood") as checker:
        found = await bench.edit(checker, OLD, NEW)
    lines = found.split("\n")
    assert len(lines) == 20
    assert lines[0] == "2:1 error error 0 [scripted]"
    assert lines[-1] == "... and 981 more errors"


async def test_full_mode_tells_of_other_files_too(bench: Bench) -> None:
    async with bench.checker("neighbour", wait_mode="full") as checker:
        found = await bench.edit(checker, OLD, NEW)
    assert found.split("\n") == [
        "2:1 error BADword is not good [scripted]",
        f"{bench.root}/a.scr.other:2:1 error BADword is not good [scripted]",
    ]


async def test_leaving_ends_a_stubborn_server_and_its_children(bench: Bench) -> None:
    async with bench.checker("stubborn") as checker:
        await bench.edit(checker, OLD, NEW)
        assert len(bench.running()) == 2
        left = time.monotonic()
    assert not bench.running()
    assert time.monotonic() - left < 2.0


async def test_leaving_lets_a_server_shut_down_by_itself(bench: Bench, warnings: list[str]) -> None:
    async with bench.checker() as checker:
        await bench.edit(checker, OLD, NEW)
    assert bench.said("shutdown") == ["shutdown"]
    assert warnings == []


async def test_a_cancelled_wait_leaves_at_once_and_the_server_usable(bench: Bench) -> None:
    async with bench.checker("slow") as checker:
        started = time.monotonic()
        with anyio.move_on_after(0.2):
            await bench.edit(checker, OLD, NEW)
        assert time.monotonic() - started < 1.0
        assert await bench.edit(checker, OLD, NEW) == "2:1 error BADword is not good [scripted]"
        assert len(bench.said("pid")) == 1


async def test_an_idle_server_is_ended_and_started_again_at_need(
    bench: Bench, warnings: list[str]
) -> None:
    async with bench.checker(idle_timeout=4.0) as checker:
        await bench.edit(checker, OLD, NEW)
        await until(lambda: not bench.running())
        assert await bench.edit(checker, OLD, NEW) == "2:1 error BADword is not good [scripted]"
        assert len(bench.said("pid")) == 2
    assert warnings == []


@pytest.mark.parametrize("change", ["enabled", "excluded", "untrusted", "outside", "no server"])
async def test_no_server_starts_where_none_may(bench: Bench, change: str) -> None:
    changes: dict[str, Any] = {
        "enabled": {"enabled": False},
        "excluded": {"exclude_roots": (str(bench.root),)},
        "untrusted": {"trusted_workspaces": ("/some/where/else",)},
    }.get(change, {})
    name = {"outside": "../a.scr", "no server": "a.txt"}.get(change, "a.scr")
    path = (bench.root / name).resolve()
    async with bench.checker(**changes) as checker:
        found = await checker.diagnostics(str(path), OLD, NEW, workspace=str(bench.root))
    assert found is None
    assert bench.said("pid") == []


async def test_a_trusted_workspace_is_served(bench: Bench) -> None:
    async with bench.checker(trusted_workspaces=(str(bench.root.parent),)) as checker:
        assert await bench.edit(checker, OLD, NEW) is not None


@pytest.mark.skipif(RUFF is None, reason="ruff is not installed")
async def test_a_real_server_finds_what_an_edit_broke(bench: Bench) -> None:
    assert RUFF
    ruff = LspServerSection(command=(RUFF, "server"), extensions=(".py",), language_id="python")
    async with bench.checker(servers={"real": ruff}, warmup_timeout=20.0) as checker:
        old = "import os\n\nprint(os.sep)\n"
        new = old + "print(nowhere)\n"
        found = await bench.edit(checker, old, new, "a.py")
        assert found == "4:7 error Undefined name `nowhere` [Ruff]"
        assert await bench.edit(checker, new, "# on top\n" + new, "a.py") is None


async def test_an_error_beside_the_servers_stays_what_it_is(bench: Bench) -> None:
    with pytest.raises(LookupError, match="not ours"):
        async with bench.checker() as checker:
            await bench.edit(checker, OLD, NEW)
            raise LookupError("not ours")
    assert not bench.running()
    with anyio.move_on_after(0.2) as scope:
        async with bench.checker() as checker:
            await bench.edit(checker, OLD, NEW)
            await anyio.sleep_forever()
    assert scope.cancelled_caught
