"""What "always" saves stands for exactly one command."""

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from hermes.safety.approvals.grants import entry, entry_allows
from hermes.safety.approvals.rules import path_matches

COMMANDS = st.text(alphabet=st.sampled_from("ab *?[]!#=$\\{}'\";|&\n-é"), min_size=1, max_size=12)


@given(command=COMMANDS, other=COMMANDS)
@example(command="grep 'a.*b' f", other="grep 'a.x; rm -r y b' f")
@example(command="a[b]c", other="abc")
@example(command="rm ${A}", other="rm A")
def test_an_entry_allows_its_command_and_no_other(command: str, other: str) -> None:
    if not command.strip():
        return
    written = entry(command, "")
    assert written is not None
    assert "${" not in written
    assert entry_allows(written, command, "")
    assert entry_allows(written, other, "") == (other.strip() == command.strip())


@given(command=COMMANDS, digest=st.text(alphabet="0123456789abcdef", min_size=64, max_size=64))
def test_an_entry_with_a_digest_is_for_those_scripts(command: str, digest: str) -> None:
    if not command.strip():
        return
    written = entry(command, digest)
    assert written is not None
    assert entry_allows(written, command, digest)
    changed = ("1" if digest[0] == "0" else "0") + digest[1:]
    assert not entry_allows(written, command, changed)
    assert not entry_allows(written, command, "")
    assert entry(written, "") is None


def test_a_path_rule_is_for_a_name_anywhere_a_folder_or_a_whole_path() -> None:
    rows = [
        (".env", "/w/a/.env", True),
        (".env", "/w/a/.env.example", False),
        ("*.lock", "/w/x.lock", True),
        ("src", "/w/src/deep/a.c", True),
        ("src/**", "/w/src/a.c", True),
        ("src/*.c", "/w/src/a.c", True),
        ("src/*.c", "/w/lib/a.c", False),
        ("./src", "/w/src/a.c", True),
        ("./src", "/w/lib/src/a.c", False),
        ("~/notes", "/home/me/notes/a", True),
        ("/w/src", "/w/src", True),
        ("/w/src", "/w/srcs", False),
        ("*", "/w/x", True),
    ]
    for match, path, matches in rows:
        assert path_matches(match, path, "/w", Path("/home/me")) is matches, (match, path)
