"""Laws of the redactor that hold for any text."""

import re
import timeit
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.safety.redact import Mode, Redactor

MODES: tuple[Mode, ...] = ("text", "file", "terminal", "code", "log")
REDACTOR = Redactor(secrets=["literal-secret-1"])

# Pieces that, joined at random, come close to every detector.
PIECES = [
    *"=:\"'\\&?@/.-_+;,| \n\0\x1b(){}[]<>$%`*",
    *("password", "API_KEY", "token", "secret", "apiKey", "x-api-key", "PASS", "auth", "value"),
    *("Authorization: ", "Bearer ", "Basic ", "Cookie: ", "session", "-u ", "curl ", "--"),
    *("hunter2", "abc123def456ghi789", "dXNlcjpwYXNz", "***", "...", "true", "x", "123456789"),
    *("ghp_", "sk-", "SG.", "eyJ", "AKIA", "xoxb-", "ABCDEFGHIJKLMNOP", "0123456789abcdef"),
    *("://", "https", "postgres", "u:p@h", "+14155552671", "\u200b", "İ", "\ud800", "\x1b[0m"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "MIIEpAIBAAKCAQEA1234\n"),
    *("kind: Secret\n", "data:\n  ", '"kind": "Secret"', '"data": {', "literal-secret-1"),
    *("sk-abc...wxyz", "«redacted:ghp_…»", "«redacted:", "[REDACTED PRIVATE KEY]", "export "),
]
texts = st.lists(st.sampled_from(PIECES), max_size=24).map("".join) | st.text(max_size=80)


@given(texts, st.sampled_from(MODES))
def test_redacting_twice_is_redacting_once(text: str, mode: Mode) -> None:
    once = REDACTOR.redact(text, mode)
    assert REDACTOR.redact(once, mode) == once


@given(texts, st.sampled_from(MODES))
def test_a_known_value_never_survives(text: str, mode: Mode) -> None:
    assert "literal-secret-1" not in REDACTOR.redact(f"{text}literal-secret-1{text}", mode)


@given(
    st.sampled_from(["ghp_", "sk-", "xoxb-", "glpat-", "hf_", "AKIA", "npm_", "sk_live_", "SG."]),
    st.from_regex(r"[A-Z]{4}[0-9]{4}[A-Z0-9]{12,30}", fullmatch=True),
    st.sampled_from(["", " ", "\n", '"', "'", "=", "x = ", "\\n", "(", "\x1b[31m", "https://h/"]),
    st.sampled_from(MODES),
)
def test_a_prefixed_key_never_survives(prefix: str, body: str, before: str, mode: Mode) -> None:
    assert body not in REDACTOR.redact(f"{before}{prefix}{body}", mode)


@given(st.text(alphabet=" abcdefgh,.()\n", max_size=300), st.sampled_from(MODES))
def test_text_without_anything_suspicious_is_returned_as_it_is(text: str, mode: Mode) -> None:
    assert REDACTOR.redact(text, mode) is text


HOSTILE = [
    *("key", "token=", "token=token=x1(", "token='", 'key=\\"', "password: ", "'key':'"),
    *("a&token=x", "?token=x", "secret=a.", "secret=/a", "password=aa(", "name: password\n"),
    *("sk-", "-", "a-", "a_", "ghp_", "ya29.", "eyJ", "eyJ.", "A", "gAAAA", "1:"),
    *("0123456789abcdef0123456789abcdef.", "://", "a://b:", "a://b:c@", "@", "+1234567"),
    *("cookie: a=", "authorization: ", "basic ", "-session: a1", "curl -u a:", "curl "),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA\n"),
    *("kind: Secret\ndata:\n  a: b\n", '"kind":"Secret""data":{"a":"b",', "PRIVATE KEY"),
    *("-----BEGIN PRIVATE KEY-----\nComment: a", "authorization:", "-session:", "curl --user a:b "),
    *("\x1b[", "\x1b]", "\0", "\u200b", "«redacted:", "token=«redacted:", "\ud800key=", "İtoken="),
]


def _seconds(text: str, mode: Mode) -> float:
    return min(
        timeit.repeat(lambda: REDACTOR.redact(text, mode), number=1, repeat=2, timer=process_time)
    )


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", "\n'"], ids=["open", "closed"])
def test_time_grows_with_the_length_of_a_hostile_text_and_no_faster(piece: str, end: str) -> None:
    small, large = (piece * (size // len(piece)) + end for size in (8_000, 64_000))
    # Eight times the text: eight times the time if linear, sixty-four times if quadratic.
    assert _seconds(large, "file") < 24 * _seconds(small, "file") + 0.01


def test_plain_code_costs_no_more_than_splitting_it_into_words() -> None:
    code = "def area(self, width: int) -> int:\n    return self.scale(width) * width  # mm\n" * 130
    words = re.compile(r"\w+|[^\w\s]")

    def cost(run: object) -> float:
        return min(timeit.repeat(run, number=20, repeat=7, timer=process_time))  # type: ignore[arg-type]

    assert cost(lambda: REDACTOR.redact(code, "code")) < cost(lambda: words.findall(code))
