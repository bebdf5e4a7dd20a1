"""For any changes of its state, a session goes on as one plain bash would."""

import subprocess
import tempfile
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from terminal_rig import ONE, local_terminal

NAMES = ("A", "B", "LONG_name", "_x", "HOME", "CDPATH")
FUNCTIONS = ("f", "g", "read", "printf", "cd", "eval", "declare", "export", "a-b", "set")
# None of FUNCTIONS: a plain bash reads the definition of a function whose name is an alias in
# another way, according to how the text reaches it.
ALIASES = ("al", "ll", "echo", "builtin")
FOLDERS = (".", "..", "one", "two words", "new\nline", "-dash", "end\n")

texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
) | st.sampled_from(["", "\n", "a'b", '"', "\\", "$HOME", "`id`", "x\ny\n", "-n", "\x01", "é"])


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


changes = st.one_of(
    st.builds("\\builtin export {}={}".format, st.sampled_from(NAMES), texts.map(quoted)),
    st.builds("\\builtin unset -v {}".format, st.sampled_from(NAMES)),
    st.builds("\\builtin export -n {0}; \\builtin unset -v {0}".format, st.sampled_from(NAMES)),
    st.builds("\\builtin cd -- {}".format, st.sampled_from(FOLDERS).map(quoted)),
    st.builds(
        '{}() {{\n local x={}; [[ -n $x ]] && command echo "$x" | cat\n}}'.format,
        st.sampled_from(FUNCTIONS),
        texts.map(quoted),
    ),
    st.builds("\\builtin unset -f {}".format, st.sampled_from(FUNCTIONS)),
    st.builds("\\builtin export -f {}".format, st.sampled_from(FUNCTIONS)),
    st.builds("\\builtin alias {}={}".format, st.sampled_from(ALIASES), texts.map(quoted)),
    st.builds("\\builtin unalias {}".format, st.sampled_from(ALIASES)),
)
commands = st.lists(
    st.lists(changes, min_size=1, max_size=3).map("\n".join), min_size=1, max_size=4
)

SHOW = (
    f"{{ for n in {' '.join(NAMES)}; do [[ -v $n ]] && \\builtin declare -p $n; done; "
    f"for f in {' '.join(FUNCTIONS)}; do \\builtin declare -f -- $f; done; "
    "\\builtin declare -Fx; \\builtin alias -p; \\builtin pwd; } 2>/dev/null"
)


def folders(place: Path) -> Path:
    for name in FOLDERS[2:]:
        (place / name).mkdir()
        (place / name / "one").mkdir()
    return place


async def session(place: Path, lines: list[str]) -> bytes:
    """What the last of `lines` shows, each a command of one session."""
    with tempfile.TemporaryDirectory() as name:
        terminal = local_terminal("local", Path(name), env={"HOME": "/root", "LC_ALL": "C.UTF-8"})
        cwd = str(place)
        try:
            for line in lines:
                result = await terminal.run(ONE, line, cwd=cwd, timeout=20, limit=1_000_000)
                cwd = result.cwd or cwd
        finally:
            await terminal.aclose()
    return result.output_head


def plain(place: Path, lines: list[str]) -> bytes:
    """The same of one bash that runs them all."""
    script = "".join(f"\\builtin eval {quoted(line)}\n" for line in lines[:-1])
    quiet = f"{{ {script}}} >/dev/null 2>&1\n" if script else ""
    ran = subprocess.run(
        ["bash", "--noprofile", "--norc", "-O", "expand_aliases", "-c", quiet + lines[-1]],
        cwd=place,
        env={"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return ran.stdout


@settings(max_examples=40)
@given(commands)
def test_a_session_is_one_shell_however_many_there_are(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = folders(Path(name).resolve())
        lines = [*lines, SHOW]
        assert anyio.run(session, place, lines) == plain(place, lines)
