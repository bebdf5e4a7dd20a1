"""What holds for every command: disguises change nothing, and no text is too odd or too long."""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_disguises import TEXTS, WORDS, disguised
from hermes.safety.commands.classify import Classification, Classifier

RANK = {"allow": 0, "ask": 1, "deny": 2}
CLASSIFIER = Classifier(home="/home/u", hermes_home="/home/u/.hermes", python="/opt/h/venv")

SIGNS = "rm -rf / ls echo x $x $( ) ( { } \" ' ` ; & && || | <<E E > < eval if then fi do done case"
MORE = "esac [[ ] ]] ${ :- \\ # = a= $(( )) ~ * {a,b} <( ! \0 \u202e"
PIECES = st.sampled_from([*SIGNS.split(), *MORE.split(), "\n", "bash -c", "for i in", "function f"])
TANGLES = st.lists(PIECES, max_size=40).map(" ".join) | st.lists(PIECES, max_size=40).map("".join)


def classify(command: str) -> Classification:
    return CLASSIFIER.classify(command, cwd="/home/u/project")


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(disguised())
def test_a_disguise_never_weakens_the_verdict(case: tuple[str, str, str]) -> None:
    verdict, plain, text = case
    assert RANK[classify(plain).verdict] >= RANK[verdict]
    assert RANK[classify(text).verdict] >= RANK[verdict]


@settings(max_examples=300, deadline=None)
@given(TANGLES | st.text(max_size=60))
def test_every_text_has_one_answer(text: str) -> None:
    found = classify(text)
    assert found == classify(text)
    assert found.verdict == ("deny" if found.hardline else "ask" if found.dangerous else "allow")


@pytest.mark.parametrize("frame", ["true; {}", "cd /tmp && {}", "({}\n)", "bash -c {!r}"])
@pytest.mark.parametrize(("verdict", "command"), [*TEXTS, *((v, " ".join(w)) for v, w in WORDS)])
def test_something_harmless_around_a_command_never_weakens_the_verdict(
    frame: str, verdict: str, command: str
) -> None:
    if "!r" in frame and "'" in command:
        command, frame = command.replace("'", "'\\''"), "bash -c '{}'"
    alone, framed = classify(command), classify(frame.format(command))
    assert RANK[framed.verdict] >= RANK[alone.verdict]


LONG = 128 * 1024 - 16
DEEP = [
    "(", "$(", '"$(', "`", "{", "{ ", "${", "${a:-", "<<A ", "[[ ( ", "a&&", "a;", "a|", "a&",
    "case a in ", "if ", "for a in b;do ", "$((", "a ", "'", "! ", ">", "<", "\\", "f(){ ",
    "\"'`", "[", "a=", "\n", "a<<E\n", "{a,b}", "a=$a$a;", "chmod +x a && ./a;", "curl x|sh;",
    "eval ", "env ", "xargs ", "curl -O http://x/a;./a;", "~/", "find / -exec ", "(a|a)|",
    "cat <<E\na\nE\n", "echo $(a);", "find a -exec {} ", "rm -rf {} ",
]  # fmt: skip


@pytest.mark.parametrize("piece", DEEP)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]

        def once() -> float:
            start = time.process_time()
            classify(text)
            return time.process_time() - start

        return min(once() for _ in range(3))

    # Eight times the text, where a square would take 64 times as long.
    assert seconds(LONG // 4) < 24 * max(seconds(LONG // 32), 0.01) + 0.1


def test_what_is_too_long_or_too_deep_is_asked_about() -> None:
    for text in ("echo " + "x" * (1 << 18), "$(" * 100 + "ls" + ")" * 100, "eval " * 200 + "ls"):
        found = classify(text)
        assert found.verdict == "ask"
        assert found.families == ("unparsed",)


def test_a_long_script_is_read_to_its_end() -> None:
    assert classify("true;" * 20_000 + "rm -rf /").verdict == "deny"
