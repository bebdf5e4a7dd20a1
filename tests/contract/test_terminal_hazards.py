"""What commands may do to their shell, to what looks after it and to its files."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import anyio
import pytest

from hermes.core.errors import ToolError
from hermes.ports.terminal import TerminalBackend
from terminal_rig import ONE, Leash, Run, local_terminal, said

# fmt: off
BUILTINS = (
    "read", "printf", "cd", "eval", "exec", "exit", "trap", "set", "unset", "export", "declare",
    "typeset", "alias", "unalias", "compgen", "shopt", "return", "echo", "pwd", "test", "true",
)
# fmt: on
anywhere_the_same = pytest.mark.parametrize("kind", ["local"], indirect=True)
"""What is bash's affair alone is not asked in each sandbox."""


@anywhere_the_same
@pytest.mark.parametrize("name", BUILTINS)
async def test_a_function_may_have_the_name_of_a_builtin(run: Run, name: str, folder: Path) -> None:
    (folder / "in").mkdir()
    result = await run(f"cd in; export KEPT=1; {name}() {{ builtin echo mine; }}; {name}")
    assert result.output_head == b"mine\n"
    assert result.cwd == str(folder / "in")
    told = await said(run, f"{name}; builtin echo $KEPT; builtin pwd", cwd=result.cwd)
    assert told == f"mine\n1\n{folder}/in\n"
    await run(f"builtin unset -f {name}; builtin export KEPT=2")
    assert (await said(run, f"builtin type -t {name}; builtin echo $KEPT")) == "builtin\n2\n"


async def test_a_function_named_builtin_is_not_carried_and_does_no_harm(run: Run) -> None:
    await run("export KEPT=1")
    lost = await run("builtin() { :; }; export KEPT=2; false")
    assert (lost.cwd, lost.exit_code) == (None, 1)
    assert await said(run, "type -t builtin; echo $KEPT") == "builtin\n1\n"


@anywhere_the_same
@pytest.mark.parametrize("name", ["builtin", "declare", "unalias", "shopt", "cd", "eval", "export"])
async def test_an_alias_may_have_any_name(run: Run, name: str) -> None:
    await run(f"f() {{ \\builtin echo body; }}; export KEPT=1; alias {name}='echo mine'")
    assert await said(run, f"\\echo $KEPT; f\n{name} x") == "1\nbody\nmine x\n"
    await run("\\unalias -a; \\export KEPT=2")
    assert await said(run, f"echo $KEPT; type -t {name}") == "2\nbuiltin\n"


@anywhere_the_same
@pytest.mark.parametrize(
    "hostile",
    [
        "export IFS=x",
        "export LC_ALL=nonsense",
        "export LC_ALL=C.UTF-8 LANG=x",
        "export BASH_ENV=/no/such/file",
        "export PROMPT_COMMAND='echo prompt'",
        "export CDPATH=/usr:/",
        "export ENV=/etc/passwd PS4='$(echo hi >&2)'",
        "export POSIXLY_CORRECT=1",
        "export TMOUT=1",
        "export PATH=",
        "export BASH_XTRACEFD=1 SHELLOPTS",
        "export GLOBIGNORE='*' HOME=/nowhere",
        "readonly rc=5 LIMIT; readonly -a LIST=(1); export rc LIMIT",
        "export TMPDIR=/proc",
        "set -o posix",
        "set -aeufxv; set -o noclobber; set -o pipefail",
        "shopt -s extglob nullglob failglob",
        "set -T; trap 'echo debug' DEBUG; trap 'echo err' ERR; trap 'echo ret' RETURN",
        "umask 777",
        "enable -n printf export pwd compgen",
        "unset PWD OLDPWD HOME PATH",
        "PWD=/somewhere/else",
        "exec 2>/dev/null",
        "trap '' TERM INT HUP PIPE CHLD",
        "ulimit -n 12",
    ],
)
async def test_what_a_command_sets_does_not_break_the_next_one(
    run: Run, hostile: str, folder: Path
) -> None:
    changed = await run(f"export KEPT=1; {hostile}")
    kept = "" if changed.cwd is None else "1"
    check = '(exit 3); /bin/echo "$? [$KEPT]" a b c; f() { return 4; }; f'
    again = await run(check)
    assert (again.exit_code, again.output_head.decode()) == (4, f"3 [{kept}] a b c\n")
    assert again.cwd == str(folder)
    broken = await run("false")
    assert (broken.exit_code, broken.output_head) == (1, b"")


@anywhere_the_same
@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("trap 'echo bye' EXIT; echo on", "on\nbye\n", 0),
        ("trap 'echo bye' EXIT; exit 5", "bye\n", 5),
        ("trap 'echo err' ERR; true", "", 0),
        ("readonly rc=5; false", "", 1),
        ("exec >file; echo x; exec >&2; cat file >&2", "x\n", 0),
        ("exec 0<&- 1>&- 2>&-; exit 7", "", 7),
        ('for f in {0..99}; do eval "exec $f>&-"; done 2>/dev/null; exit 8', "", 8),
        ("set -o posix; readonly A=1; unset -v A; echo on", None, 0),
        ("return 3", None, 3),
        ("exec true", "", 0),
        ("set -n", "", 0),
        ("echo 'open", None, 2),
        ("echo $(", None, 2),
        ("cat <<E", None, 0),
        ("\\", None, 0),
    ],
)
async def test_any_end_has_its_status_and_the_session_goes_on(
    run: Run, command: str, output: str | None, status: int
) -> None:
    result = await run(command, timeout=10)
    assert not result.timed_out
    if output is not None:
        assert result.output_head.decode() == output
    if status:
        assert result.exit_code == status or (status == 3 and result.exit_code in {1, 2, 3})
    assert await said(run, "echo on") == "on\n"


async def test_large_states_are_carried(run: Run) -> None:
    await run("export BIG=$(head -c 1000000 /dev/zero | tr '\\0' x)")
    assert await said(run, "echo ${#BIG}") == "1000000\n"
    assert (await run("/bin/true")).exit_code == 126
    await run('unset BIG; for i in {1..500}; do eval "f$i() { echo $i; }"; done; export -f f7')
    assert await said(run, "f1; f500; bash -c f7; declare -F | grep -c ' f'") == "1\n500\n7\n500\n"
    too_big = await run("export BIG=$(head -c 5000000 /dev/zero | tr '\\0' x); export KEPT=1")
    assert (too_big.exit_code, too_big.cwd) == (0, None)
    assert await said(run, "echo ${#BIG}[$KEPT]") == "0[]\n"


async def test_a_readonly_variable_stays_what_it_is(run: Run) -> None:
    await run("readonly FIXED=1; export FIXED; export OTHER=1")
    assert "readonly" in await said(run, "FIXED=2; echo not here")
    await run("export OTHER=2")
    assert await said(run, "echo $FIXED$OTHER") == "12\n"


async def test_folders_that_are_gone_or_closed_are_survived(run: Run, folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    left = await run("cd gone; rmdir ../gone; export KEPT=1; pwd")
    assert left.output_head.decode() == f"{gone}\n"
    after = await run("echo $KEPT; pwd", cwd=left.cwd)
    assert (after.output_head.decode(), after.moved_to) == (f"1\n{folder}\n", str(folder))
    job_folder = folder / "job"
    job_folder.mkdir()
    await run("cd job; rmdir ../job")
    assert await said(run, "echo on", cwd=folder) == "on\n"


async def test_a_folder_whose_name_ends_in_a_newline_is_followed(run: Run, folder: Path) -> None:
    (folder / "end\n").mkdir()
    assert (await run("cd end*")).cwd == str(folder / "end\n")


async def test_a_shell_that_is_killed_from_inside_comes_back_as_it_was(
    run: Run, leash: Leash
) -> None:
    await run("export KEPT=1; f() { echo fn; }; alias a='echo al'")
    for kill in ("kill -9 $$", "kill -9 $$ $BASHPID", "kill -9 -- -$$; kill -9 $$"):
        await run(f"exec 9>{leash.path}; {kill}; sleep 300", timeout=20)
        assert not leash.held()
        assert await said(run, "echo $KEPT; f; a") == "1\nfn\nal\n"


async def test_a_shell_whose_keeper_is_killed_is_not_said_to_have_ended_well(
    run: Run, leash: Leash
) -> None:
    await run("export KEPT=1")
    with pytest.raises(ToolError, match="was killed"):
        await run(f"exec 9>{leash.path}; kill -9 $PPID; sleep 300")
    assert await said(run, "echo $KEPT") == "1\n"


async def test_a_killed_keeper_of_everything_is_replaced(
    run: Run, backend: TerminalBackend, leash: Leash, kind: str
) -> None:
    await run("export KEPT=1")
    keeper = "$(ps -o ppid= -p $PPID)" if kind != "local in bubblewrap" else "$(ps -o pid= -p 2)"
    if shutil.which("ps") is None:
        pytest.skip("there is no ps here")
    killing = f"exec 9>{leash.path}; kill -9 {keeper}; sleep 0.2"
    try:
        await run(killing)
    except ToolError as e:
        assert "was killed" in str(e)  # Either may come first.
    assert await said(run, "echo $KEPT") == "1\n"
    await backend.forget(ONE)
    assert not leash.held()


async def test_a_session_whose_files_were_removed_heals(run: Run, tmp_path: Path) -> None:
    await run("export KEPT=1")
    for part in ("out-*", "dump-*", "run-*", "adopt-*", ""):
        result = await run(f"rm -rf {tmp_path}/state/*/{part}; export KEPT=${{KEPT}}1")
        assert result.exit_code == 0
        assert (await said(run, "echo $KEPT")).strip("1") == "\n"
        await run("export KEPT=1")


async def test_hermes_is_not_led_away_from_its_files(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / "precious"
    secret.write_text("precious", encoding="utf-8")
    for part in ("run", "adopt", "out"):
        await run(f"cd {tmp_path}/state/*/; for f in {part}-*; do ln -sf {secret} $f; done; cd /")
        assert await said(run, "export KEPT=1; echo on") == "on\n"
        assert secret.read_text(encoding="utf-8") == "precious"


async def test_a_full_disk_is_told_and_nothing_is_run_in_part(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=True)
    terminal = local_terminal("local", tmp_path, state=disk / "state")

    async def run(command: str) -> str:
        result = await terminal.run(ONE, command, cwd=str(tmp_path), timeout=20, limit=1_000)
        return result.output_head.decode()

    try:
        await run("export KEPT=1")
        (disk / "fill").write_bytes(b"x" * 150_000)
        long = f"echo {'x' * 200_000} | wc -c; touch {tmp_path}/ran"
        with pytest.raises(ToolError, match="No space left"):
            await run(long)
        with pytest.raises(ToolError, match="No space left"):
            await terminal.start(ONE, long, cwd=str(tmp_path))
        assert not (tmp_path / "ran").exists()
        assert await run("export BIG=$(head -c 200000 /dev/zero | tr '\\0' x); echo ran") == "ran\n"
        with pytest.raises(ToolError, match="No space left"):
            await run("echo ${#BIG}")
        (disk / "fill").unlink()
        assert await run("echo $KEPT ${#BIG}") == "1 200000\n"
    finally:
        await terminal.aclose()
        left = sorted((disk / "state").rglob("*"))
        subprocess.run(["umount", "-l", disk], check=True)
    assert left == []


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/state"])
async def test_a_state_folder_that_cannot_be_made_is_told(place: str, tmp_path: Path) -> None:
    terminal = local_terminal("local", tmp_path, state=Path(place))
    with pytest.raises(ToolError, match="could not be started"):
        await terminal.run(ONE, "true", cwd="/", timeout=5, limit=100)
    await terminal.aclose()


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\nexit 1\n", "not a program", "#!/no/such/interpreter\n", "#!/bin/cat\n"]
)
async def test_an_unusable_shell_is_told(tmp_path: Path, text: str) -> None:
    bash = tmp_path / "bin" / "bash"
    bash.parent.mkdir()
    bash.write_text(text, encoding="utf-8")
    bash.chmod(0o755)
    terminal = local_terminal("local", tmp_path, env={"PATH": str(bash.parent)})
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(ToolError, match=r"could not be started|ended while it started"):
            await terminal.run(ONE, "true", cwd="/", timeout=5, limit=100)
    await terminal.aclose()
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert not list((tmp_path / "state").iterdir())


async def test_cancelling_at_any_moment_leaves_a_session_that_works(
    kind: str, tmp_path: Path
) -> None:
    """Cancelled after one, two, three ... turns of the event loop, until it is too late."""
    terminal = local_terminal(kind, tmp_path)

    async def first(scope: anyio.CancelScope) -> None:
        with scope:
            await terminal.run(ONE, "export A=1; echo x", cwd="/", timeout=10, limit=100)

    descriptors = 0
    turns, late = 0, False
    while not late:
        turns += max(1, turns // 4)
        scope = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(first, scope)
            begun = time.monotonic()
            for _ in range(turns):
                await anyio.sleep(0)
                if time.monotonic() - begun > 0.3:
                    break
            late = time.monotonic() - begun > 0.3
            scope.cancel()
        assert time.monotonic() - begun < 1.5
        works = await terminal.run(ONE, "echo on", cwd="/", timeout=10, limit=100)
        assert works.output_head == b"on\n"
        if turns % 2:
            await terminal.forget(ONE)
            descriptors = descriptors or len(os.listdir("/proc/self/fd"))
            assert len(os.listdir("/proc/self/fd")) <= descriptors
    await terminal.aclose()
    assert not list((tmp_path / "state").iterdir())


async def test_forgetting_a_session_ends_the_command_that_it_runs(
    run: Run, backend: TerminalBackend, leash: Leash
) -> None:
    async def runs() -> None:
        try:
            result = await run(f"exec 9>{leash.path}; echo >&9; sleep 300")
        except ToolError:
            return
        assert result.exit_code != 0

    async with anyio.create_task_group() as group:
        group.start_soon(runs)
        await leash.line()
        with anyio.fail_after(3):
            await backend.forget(ONE)
        assert not leash.held()


async def test_what_commands_side_by_side_left_running_outlives_them(
    run: Run, backend: TerminalBackend, leash: Leash
) -> None:
    async with anyio.create_task_group() as group:
        for number in range(4):
            hold = f"exec 9>{leash.path}; sleep 300 & " if number < 3 else ""
            group.start_soon(run, f"{hold}sleep 0.{number}")
    count = "for p in /proc/[0-9]*/fd/9; do readlink $p; done"
    listed = await said(run, f"{count} | grep -c {leash.path}")
    assert listed.splitlines()[-1] == "3"
    await backend.forget(ONE)
    assert not leash.held()
