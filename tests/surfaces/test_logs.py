"""`hermes logs`: the end of a log, filtered, followed through rotation."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from program import Program


def line(number: int, level: str = "INFO", session: str = "20260101_000000_aaaaaa") -> str:
    bound = f" session={session} turn=t" if session else ""
    return f"2026-01-01T00:00:00.000Z {level}{bound} hermes.agent: message {number}\n"


def log(program: Program, name: str = "agent.log") -> Path:
    path = program.home / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def shown(program: Program, *arguments: str) -> list[int]:
    run = program.run("logs", *arguments)
    assert run.returncode == 0, run.stderr
    return [int(text.split()[-1]) for text in run.stdout.decode().splitlines()]


def test_a_missing_log_is_one_sentence(program: Program) -> None:
    run = program.run("logs", "errors")
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (0, b"", 1)


def test_the_last_lines_go_back_into_rotated_files(program: Program) -> None:
    log(program, "agent.log.2").write_text("".join(map(line, range(5))), encoding="utf-8")
    log(program, "agent.log.1").write_text("".join(map(line, range(5, 9000))), encoding="utf-8")
    log(program).write_text("".join(map(line, range(9000, 9003))), encoding="utf-8")
    assert shown(program, "-n", "2") == [9001, 9002]
    assert shown(program, "-n", "5000") == list(range(4003, 9003))
    assert shown(program, "-n", "99999") == list(range(9003))
    assert shown(program, "-n", "0") == []


def test_lines_are_chosen_by_level_and_session(program: Program) -> None:
    log(program).write_text(
        line(1)
        + line(2, "WARNING")
        + line(3, "ERROR", session="20260101_000000_bbbbbb")
        + line(4, "ERROR", session="")
        + line(5, "DEBUG"),
        encoding="utf-8",
    )
    assert shown(program, "--level", "warning") == [2, 3, 4]
    assert shown(program, "--session", "20260101_000000_b") == [3]
    assert shown(program, "--level", "ERROR", "--session", "20260101_000000_a") == []
    assert program.run("logs", "--level", "loud").returncode == 2
    assert program.run("logs", "-n", "-1").returncode == 2


def test_what_a_log_holds_cannot_steer_the_terminal(program: Program) -> None:
    log(program).write_bytes(line(1).encode() + b"\x1b[2J\x9b\xff bad\n")
    run = program.run("logs")
    assert b"\x1b" not in run.stdout
    assert "\x9b" not in run.stdout.decode()
    assert run.stdout.endswith(b"bad\n")


@contextmanager
def following(program: Program) -> Iterator[subprocess.Popen[bytes]]:
    child = program.start("logs", "-f", "-n", "1")
    try:
        yield child
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=30)
        assert (child.returncode, b"Traceback" in said) == (0, False)
    finally:
        child.kill()
        child.wait()


def test_following_goes_on_through_rotation_and_ends_with_ctrl_c(program: Program) -> None:
    path = log(program)
    path.write_text(line(1) + line(2), encoding="utf-8")
    with following(program) as child:
        assert child.stdout is not None
        assert child.stdout.readline().endswith(b"message 2\n")
        with path.open("a", encoding="utf-8") as file:
            file.write(line(3)[:30])
            file.flush()
            file.write(line(3)[30:])
        assert child.stdout.readline().endswith(b"message 3\n")
        with path.open("a", encoding="utf-8") as file:
            path.rename(path.with_name("agent.log.1"))
            file.write(line(4))
        path.write_text(line(5), encoding="utf-8")
        assert child.stdout.readline().endswith(b"message 4\n")
        assert child.stdout.readline().endswith(b"message 5\n")


def test_following_waits_for_a_log_that_is_yet_to_begin(program: Program) -> None:
    with following(program) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert b"agent.log" in child.stderr.readline()
        log(program).write_text(line(1), encoding="utf-8")
        assert child.stdout.readline().endswith(b"message 1\n")
