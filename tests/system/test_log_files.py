"""The log files: one line a record, redacted, rotated, and never in the way."""

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes.system.config.sections import LoggingSection
from hermes.system.logs import LogFile, Logs, bind, open_logs
from hermes.system.paths import Home

LOG = logging.getLogger("hermes.test")


@contextmanager
def logs(folder: Path, **settings: object) -> Iterator[Logs]:
    section = LoggingSection(**settings)  # type: ignore[arg-type]
    opened = open_logs(Home(folder), section, lambda text: text.replace("hunter2", "***"))
    try:
        yield opened
    finally:
        opened.close()


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_nothing_is_opened_before_the_first_record(tmp_path: Path) -> None:
    with logs(tmp_path):
        assert list(tmp_path.iterdir()) == []
        LOG.debug("below the level")
        assert list(tmp_path.iterdir()) == []
        LOG.info("now")
        assert [p.name for p in (tmp_path / "logs").iterdir()] == ["agent.log"]


def test_warnings_go_to_both_files_and_each_record_is_one_line(tmp_path: Path) -> None:
    with logs(tmp_path), bind(session="s1", turn="t1"):
        LOG.info("hello %s", "you")
        with bind(call="c1"):
            LOG.warning("two\nlines \x1b[31m hunter2 \u2028 \ud800")
        logging.getLogger("another").info("not ours")
        logging.getLogger("another").warning("not ours, but a warning")
    agent, errors = lines(tmp_path / "logs/agent.log"), lines(tmp_path / "logs/errors.log")
    assert len(agent) == 3
    assert errors == agent[1:]
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    assert re.fullmatch(rf"{stamp} INFO session=s1 turn=t1 hermes\.test: hello you", agent[0])
    assert "call=c1" in agent[1]
    assert "two\\nlines \\x1b[31m *** \\u2028" in agent[1]
    assert "call=c1" not in agent[2]


def test_a_traceback_is_redacted_and_stays_on_its_line(tmp_path: Path) -> None:
    with logs(tmp_path):
        try:
            raise ValueError("the key is hunter2")
        except ValueError:
            LOG.exception("it failed")
    (line,) = lines(tmp_path / "logs/errors.log")
    assert "ValueError: the key is ***" in line
    assert "Traceback" in line


def test_a_redactor_that_fails_loses_the_record_and_writes_nothing(tmp_path: Path) -> None:
    def fail(_: str) -> str:
        raise RuntimeError("broken")

    opened = open_logs(Home(tmp_path), LoggingSection(), fail)
    try:
        LOG.info("hunter2")
        assert opened.lost == 1
    finally:
        opened.close()
    assert not (tmp_path / "logs/agent.log").exists()


def test_a_file_that_cannot_be_written_never_raises(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if full.exists():
        file = LogFile(full, level=0, size=1 << 20, backups=1, redact=str)
        file.handle(logging.makeLogRecord({"msg": "x"}))
        assert file.lost == 1
        file.close()
    (tmp_path / "logs").write_text("a file", encoding="utf-8")
    with logs(tmp_path) as opened:
        LOG.info("x")
        assert opened.lost == 1


def test_a_record_that_cannot_be_formatted_never_raises(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "a.log", level=0, size=1 << 20, backups=1, redact=str)
    file.handle(logging.makeLogRecord({"msg": "%d", "args": ("not a number",)}))
    assert file.lost == 1
    file.close()


def test_a_file_is_rotated_and_only_so_many_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    file = LogFile(path, level=0, size=1000, backups=2, redact=str)
    for i in range(60):
        file.handle(logging.makeLogRecord({"msg": f"record {i:03} {'x' * 60}", "name": "n"}))
    file.close()
    kept = sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("."))
    assert kept == ["a.log", "a.log.1", "a.log.2"]
    text = "".join((tmp_path / n).read_text("utf-8") for n in ("a.log.2", "a.log.1", "a.log"))
    numbers = [int(n) for n in re.findall(r"record (\d+)", text)]
    assert numbers == list(range(numbers[0], 60))
    assert all(p.stat().st_size <= 1000 for p in tmp_path.iterdir())
    assert path.stat().st_mode & 0o777 == 0o600


def test_processes_that_share_a_file_lose_no_line_and_tear_none(tmp_path: Path) -> None:
    script = (
        "import logging, sys; from pathlib import Path; from hermes.system.logs import LogFile;"
        "f = LogFile(Path(sys.argv[1]), level=0, size=8000, backups=50, redact=str);"
        "[f.handle(logging.makeLogRecord({'msg': f'<{sys.argv[2]}-{i}>' + 'y' * 50}))"
        " for i in range(300)]; assert not f.lost"
    )
    path = tmp_path / "a.log"
    workers = [
        subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("a", "b")
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    text = "".join(p.read_text("utf-8") for p in tmp_path.iterdir())
    assert sorted(re.findall(r"<(\w-\d+)>y{50}\n", text)) == sorted(
        f"{name}-{i}" for name in ("a", "b") for i in range(300)
    )
