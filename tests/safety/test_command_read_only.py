"""Which commands are proven to change nothing; in doubt a command changes something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.safety.commands.read_only import proven_read_only


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la src | head -5",
        "cat a.txt b.txt",
        "echo hello",
        "grep -rn 'foo bar' src && echo yes || echo no",
        "cd src; pwd",
        "git status",
        "git log --oneline -5 | cat",
        "git diff HEAD -- src",
        "ls missing 2>/dev/null",
        "ls missing 2>&1 | wc -l",
        "for f in a b; do cat $f; done",
        "wc -l $(ls)",
        "/bin/ls",
        "cat $x",
    ],
)
def test_a_command_that_only_reads_is_proven_to(command: str) -> None:
    assert proven_read_only(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "rm a",
        "echo x > a",
        "echo x >> a",
        "cat <(rm a)",
        "echo $(rm a)",
        "echo `rm a`",
        "ls; rm a",
        "ls && touch a",
        "ls | tee a",
        "ls & rm a",
        "ls\nrm a",
        "FOO=1 rm a",
        "X=1 ls",
        "env rm a",
        "xargs rm",
        "sed -i s/a/b/ f",
        "sort -o a a",
        "find . -delete",
        "git checkout .",
        "git diff --output=a",
        "git -c core.pager='rm a' log",
        "git log --ext-diff",
        "rg --pre rm x",
        "date -s 2020-01-01",
        "hostname evil",
        "(rm a)",
        "{ rm a; }",
        "ls 'unclosed",
        "echo x >| a",
        "echo x 1> a",
        "cat a > /dev/null > b",
        "./ls",
        "python -c 'print(1)'",
        "FOO=1 ls",
        "env ls",
        "git $x",
        "$x",
        "ls <> a",
        "{ ls; } > a",
        "f() { rm a; }; f",
    ],
)
def test_everything_else_is_not(command: str) -> None:
    assert not proven_read_only(command)


@given(st.text(alphabet="ls rm>|&;$()'\"`\\\n{}a2<", max_size=20))
def test_no_text_is_too_odd_and_a_redirection_is_never_proven(text: str) -> None:
    proven = proven_read_only(text)
    assert not (
        proven and (">" in text.replace("2>&1", "") and "'" not in text and '"' not in text)
    )
