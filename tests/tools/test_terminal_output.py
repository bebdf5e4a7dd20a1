"""From the bytes of a command to the text a model reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.terminal.hints import last_command
from hermes.tools.terminal.output import legacy_codec, readable


@given(st.binary())
def test_any_bytes_become_text_that_can_be_sent(data: bytes) -> None:
    readable(data).encode()


@given(st.text(st.characters(exclude_characters="\x1b", exclude_categories=["Cs"])))
def test_text_without_escapes_is_not_touched(text: str) -> None:
    assert readable(text.encode()) == text


@given(st.text())
def test_any_text_has_a_last_command(command: str) -> None:
    assert isinstance(last_command(command), str)


@pytest.mark.parametrize(
    ("text", "codec"),
    [("错误：文件不存在", "gbk"), ("ファイルが見つかりません", "cp932"), ("없습니다", "cp949")],
)
def test_output_in_an_older_encoding_is_read_and_named(text: str, codec: str) -> None:
    data = f"{text}\n".encode(codec)
    found, name = legacy_codec(data)
    assert name
    assert readable(data, found) == f"{text}\n"


@pytest.mark.parametrize("data", [b"", b"a\xffb", b"\x00\xd6\xd0\xce\xc4", "wörter\n".encode()])
def test_what_may_as_well_be_utf_8_is_taken_for_that(data: bytes) -> None:
    assert legacy_codec(data) == ("utf-8", "")


@given(st.binary())
def test_any_bytes_have_an_encoding_that_can_be_used(data: bytes) -> None:
    readable(data, legacy_codec(data)[0])
