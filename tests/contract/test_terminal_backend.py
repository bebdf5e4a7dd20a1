"""What every terminal back end must do; run over each of them."""

import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from hermes.core.errors import ToolError
from hermes.ports.terminal import TerminalBackend
from terminal_rig import ONE, TWO, Leash, Run, said


async def test_a_command_answers_with_output_status_and_folder(run: Run, folder: Path) -> None:
    result = await run("echo out; echo err >&2; cd /usr; exit 3")
    assert result.output_head == b"out\nerr\n"
    assert (result.output_tail, result.total, result.exit_code) == (b"", 8, 3)
    assert (result.cwd, result.timed_out, result.moved_to) == ("/usr", False, None)
    assert (await run("true")).cwd == str(folder)


async def test_quotes_comments_heredocs_and_several_lines_are_run_as_given(run: Run) -> None:
    assert await said(run, "echo 'a & b' \"c'd\" # note") == "a & b c'd\n"
    assert await said(run, "cat <<'EOF'\nx $HOME\nEOF") == "x $HOME\n"
    assert await said(run, "a=1\nb=2\necho $((a+b)) $# $-") == "3 0 hBc\n"
    assert (await run("")).exit_code == 0
    broken = await run("if then")
    assert broken.exit_code == 2
    assert b"bash: eval: line 1: syntax error" in broken.output_head
    assert "bash: line 2: nosuch_zz" in await said(run, "true\nnosuch_zz")


async def test_exported_state_lasts_and_other_variables_do_not(run: Run) -> None:
    await run("export A=$'x\\ny' PATH=/nowhere:$PATH; B=2; f() { echo fn $1; }; alias al='echo al'")
    assert await said(run, 'echo "[$A][$B]${PATH%%:*}"; f 1; al') == "[x\ny][]/nowhere\nfn 1\nal\n"
    await run("unset A LANG HOME; unset -f f")
    assert await said(run, 'echo "[${A-no}${LANG-no}${HOME-no}]"; f') != "[nonono]\nfn\n"
    assert (await said(run, 'echo "[${A-no}${LANG-no}${HOME-no}]"')) == "[nonono]\n"
    await run("set -eu; false")
    assert await said(run, "false; echo $undefined on") == "on\n"


@pytest.mark.parametrize(
    "end", ["exit 3", "set -e; false", "trap 'true' EXIT", "readonly Q=1; export Q", "set -x"]
)
async def test_state_survives_the_way_a_command_ends(run: Run, end: str) -> None:
    result = await run(f"cd /usr; export KEPT=1; {end}")
    assert result.cwd == "/usr"
    assert await said(run, "echo $KEPT") == "1\n"


async def test_state_survives_a_timeout(run: Run) -> None:
    result = await run("cd /usr; export KEPT=1; echo begun; sleep 300", timeout=0.5)
    assert (result.timed_out, result.exit_code, result.output_head) == (True, 124, b"begun\n")
    assert result.cwd == "/usr"
    assert await said(run, "echo $KEPT") == "1\n"


async def test_commands_side_by_side_do_not_disturb_each_other_s_state(run: Run) -> None:
    await run("export KEPT=1")
    seen = []

    async def work(n: int) -> None:
        seen.append(await said(run, f"echo $KEPT {n}; export KEPT=1 N={n}"))

    async with anyio.create_task_group() as group:
        for n in range(8):
            group.start_soon(work, n)
    assert sorted(seen) == [f"1 {n}\n" for n in range(8)]
    assert await said(run, "echo $KEPT ${N:+one}") == "1 one\n"


async def test_a_shorter_state_leaves_nothing_of_a_longer_one(run: Run, folder: Path) -> None:
    (folder / ("long" * 50)).mkdir()
    await run(f"export A={'x' * 5000}; cd long*")
    for _ in range(4):
        result = await run("unset A; echo ${A-no} >out; cat out")
        assert (result.output_head, result.cwd) == (b"no\n", str(folder))


async def test_a_shell_that_was_replaced_or_killed_leaves_the_state_before(run: Run) -> None:
    await run("export KEPT=1")
    assert (await run("export KEPT=2; exec echo x")).cwd is None
    killed = await run("export KEPT=2; kill -9 $BASHPID")
    assert (killed.cwd, killed.exit_code) == (None, 137)
    assert await said(run, "echo $KEPT") == "1\n"
    assert (await run("kill -9 $$; sleep 300")).exit_code == -9
    assert await said(run, "echo $KEPT") == "1\n"


async def test_sessions_do_not_see_each_other_and_a_forgotten_one_starts_anew(
    run: Run, backend: TerminalBackend
) -> None:
    await run("export KEPT=1")
    assert await said(run, "echo [$KEPT] $HERMES_SESSION_ID", session=TWO) == f"[] {TWO}\n"
    await backend.forget(ONE)
    await backend.forget(ONE)
    assert await said(run, "echo [$KEPT]") == "[]\n"


async def test_state_files_are_for_the_user_alone(run: Run, tmp_path: Path) -> None:
    await run("umask 0; export SECRET=1")
    folders = [tmp_path / "state", *(tmp_path / "state").iterdir()]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    files = (tmp_path / "state").glob("*/*")
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


async def test_a_folder_with_any_name_is_followed(run: Run, folder: Path) -> None:
    for name in ("d(1)", "a'b", "x y;id", "line\nbreak", "ü"):
        (folder / name).mkdir()
        result = await run("cd ./*", cwd=folder)
        assert result.cwd == str(folder / name)
        assert (await run("pwd", cwd=result.cwd)).output_head.decode() == f"{folder / name}\n"
        (folder / name).rmdir()


async def test_a_deleted_folder_does_not_wedge_the_session(run: Run, folder: Path) -> None:
    gone = folder / "x" / "y"
    gone.mkdir(parents=True)
    assert (await run("rm -rf ../../x", cwd=gone)).exit_code == 0
    result = await run("pwd", cwd=gone)
    assert (result.output_head.decode(), result.moved_to) == (f"{folder}\n", str(folder))
    with pytest.raises(ToolError, match="x/y is not an existing folder; nothing was run"):
        await run("pwd", cwd=gone, fall_back=False)


async def test_only_allowed_variables_reach_a_command(run: Run) -> None:
    assert "s3cr3t" not in await said(run, "env; cat /proc/$PPID/environ")
    markers = "echo $AI_AGENT $HERMES_AGENT $HERMES_SESSION_ID $PAGER $GIT_PAGER"
    assert await said(run, markers) == f"hermes-agent true {ONE} cat cat\n"
    await run("export AI_AGENT=other HERMES_SESSION_ID=other")
    assert await said(run, markers) == f"hermes-agent true {ONE} cat cat\n"


async def test_nothing_waits_for_a_person(run: Run, folder: Path) -> None:
    assert await said(run, "read x; echo $? [$x]; cat; tty") == "1 []\nnot a tty\n"
    assert (await run("echo x >/dev/tty")).exit_code == 1
    subprocess.run(["git", "init", "-q", folder], check=True)
    begun = time.monotonic()
    identity = "-c user.name=a -c user.email=a@example.org -c core.editor=vi"
    result = await run(f"git {identity} commit --allow-empty")
    assert result.exit_code == 1
    assert b"editor" in result.output_head
    assert time.monotonic() - begun < 10
    assert (await run("git log; git help git >/dev/null; $EDITOR x")).exit_code == 1


async def test_sudo_is_run_as_given(run: Run, folder: Path) -> None:
    sudo = folder / "sudo"
    sudo.write_text('#!/bin/sh\nprintf "%s " "$@"\ncat\n', encoding="utf-8")
    sudo.chmod(0o755)
    assert await said(run, f"PATH={folder}:$PATH; sudo -n true") == "-n true "


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo $!",
        "setsid sleep 300 & disown; echo $!",
        f"{sys.executable} -m http.server 0 & echo $!",
        "nohup sleep 300 >/dev/null 2>&1 & echo $!",
    ],
)
async def test_a_call_returns_when_the_shell_does_and_what_is_left_ends_with_the_session(
    run: Run, backend: TerminalBackend, leash: Leash, command: str
) -> None:
    begun = time.monotonic()
    pid = int((await said(run, f"exec 9>{leash.path}; {command}")).splitlines()[0])
    assert time.monotonic() - begun < 5
    assert await said(run, f"kill -0 {pid} && echo there") == "there\n"
    assert leash.held()
    await backend.forget(ONE)
    assert not leash.held()


async def test_output_that_is_still_coming_when_the_shell_exits_is_taken(run: Run) -> None:
    assert await said(run, "for i in {1..200}; do echo $i; done; exit") == "".join(
        f"{i}\n" for i in range(1, 201)
    )
    assert await said(run, "echo late > >(cat)") == "late\n"


async def test_silence_is_not_failure(run: Run) -> None:
    result = await run("sleep 1.2; echo done", timeout=30)
    assert (result.output_head, result.timed_out) == (b"done\n", False)


@pytest.mark.parametrize(
    "command",
    [
        "echo >&9; sleep 300",
        "trap '' TERM; echo >&9; sleep 300; sleep 300",
        "setsid sh -c 'trap \"\" TERM; echo >&9; sleep 300; sleep 300' & wait",
        "(setsid sh -c 'trap \"\" TERM; echo >&9; sleep 300; sleep 300' &) ; sleep 300",
        "echo >&9; yes",
    ],
    ids=["plain", "ignores TERM", "setsid", "double fork", "flood"],
)
async def test_cancelling_ends_the_tree_within_a_second(
    run: Run, leash: Leash, tmp_path: Path, command: str
) -> None:
    await run("export KEPT=1")
    async with anyio.create_task_group() as group:
        group.start_soon(run, f"exec 9>{leash.path}; {command}")
        await leash.line()
        assert leash.held()
        begun = time.monotonic()
        group.cancel_scope.cancel()
    assert time.monotonic() - begun < 1.0
    assert not leash.held()
    assert not list((tmp_path / "spill").iterdir())
    assert await said(run, "echo $KEPT") == "1\n"


async def test_a_timeout_ends_the_tree_and_keeps_the_output(run: Run, leash: Leash) -> None:
    begun = time.monotonic()
    stubborn = "trap '' TERM; echo begun; setsid sleep 300 & sleep 300; sleep 300"
    result = await run(f"exec 9>{leash.path}; {stubborn}", timeout=0.5)
    assert (result.timed_out, result.exit_code, result.output_head) == (True, 124, b"begun\n")
    assert not leash.held()
    assert time.monotonic() - begun < 5


async def test_output_up_to_the_limit_is_whole_and_makes_no_file(run: Run) -> None:
    result = await run("head -c 50000 /dev/zero | tr '\\0' x")
    assert result.output_head == b"x" * 50_000
    assert (result.output_tail, result.total, result.spill) == (b"", 50_000, None)


async def test_longer_output_keeps_head_and_tail_and_goes_whole_into_a_file(run: Run) -> None:
    whole = "".join(f"{i}\n" for i in range(1, 40_001)).encode()
    result = await run("seq 1 40000")
    assert result.output_head == whole[:20_000]
    assert result.output_tail == whole[-30_000:]
    assert result.total == len(whole)
    assert result.spill is not None
    spill = Path(result.spill)
    assert spill.read_bytes() == whole
    assert spill.stat().st_mode & 0o777 == 0o600
    just_over = await run("head -c 11 /dev/zero | tr '\\0' x", limit=10)
    assert (just_over.output_head, just_over.output_tail) == (b"x" * 4, b"x" * 6)


async def test_a_spill_that_cannot_be_written_is_not_claimed(run: Run, tmp_path: Path) -> None:
    await run("true")
    (tmp_path / "spill").rmdir()
    (tmp_path / "spill").write_text("in the way", encoding="utf-8")
    result = await run("seq 1 40000")
    assert (result.spill, result.exit_code, len(result.output_tail)) == (None, 0, 30_000)


async def test_a_command_longer_than_an_argument_may_be_is_run(run: Run) -> None:
    assert await said(run, f"echo '{'é' * 200_000}' | wc -m") == "200001\n"


async def test_a_nul_in_a_command_is_refused_in_words(run: Run) -> None:
    with pytest.raises(ToolError, match="NUL"):
        await run("echo a\0b")
