"""Bytes to text and back: nothing of a file is lost, and nothing is guessed in two ways."""

import gzip
import random
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.ports.files import SNIFF_BYTES
from hermes.tools.files.encoding import Encoding, sniff, visible

TEXTS = {
    "gb18030": [
        "中文,表\n",
        "编号,姓名,城市\n1,张伟,北京\n",
        "# 配置文件\nname = 测试\n",
        "你好,世界\n",
        "// 这是一个注释\nint main() { return 0; }\n",
        "错误: 文件不存在\n",
        "print('完成')\n",
    ],
    "cp932": ["日本語のテキスト\n", "名前,年齢\n山田,30\n", "// コメント\nint x;\n", "東京都\n"],
    "cp1252": [
        "caf\xe9\nkeep\n",
        "r\xe9sum\xe9 d\xe9j\xe0 vu\n",
        "“quoted” – text\n",
        "price: 10 €\n",
        "Jos\xe9 Garc\xeda, a\xf1o\n",
        "It’s a dog’s life\n",
        "\xa9 2020 ACME\n",
        "caf\xe9",
    ],
    "cp1251": [
        "Привет, мир\n",
        "# комментарий\nx = 1\n",
        "Тест\n",
        "дата;сумма\n01.02.2020;Рубль\n",
    ],
    "koi8-r": ["Это пример текста на русском языке.\n"],
    "cp1250": ["Příliš žluťoučký kůň\n"],
    "big5": ["中文檔案\n", "台北市信義區\n"],
    "euc_kr": ["안녕하세요 세계\n", "오류: 파일 없음\n"],
    "euc_jp": ["日本語のテキスト\n"],
}


def encoding_of(data: bytes) -> Encoding | None:
    return sniff(data[:SNIFF_BYTES], len(data) <= SNIFF_BYTES)


@pytest.mark.parametrize(
    ("codec", "text"), [(codec, text) for codec, texts in TEXTS.items() for text in texts]
)
def test_a_small_text_in_a_legacy_code_page_is_read_as_it_was_meant(codec: str, text: str) -> None:
    data = text.encode(codec)
    found = encoding_of(data)
    assert found is not None
    assert found.decode(data) == text
    assert found.encode(text) == data


@pytest.mark.parametrize("codec", ["gb18030", "cp932", "cp1252", "cp1251", "euc_kr"])
@pytest.mark.parametrize("shift", range(4))
def test_where_the_sample_ends_decides_nothing(codec: str, shift: int) -> None:
    text = "".join(TEXTS[codec]) * 2000
    data = b"x" * shift + b"\n" + text.encode(codec)
    found = encoding_of(data)
    assert found is not None
    assert found.decode(data).endswith(text)


@pytest.mark.parametrize("shift", range(5))
def test_a_character_cut_by_the_sample_is_no_sign_of_another_encoding(shift: int) -> None:
    data = b"x" * (SNIFF_BYTES - shift) + "é漢😀\n".encode() * 9
    found = encoding_of(data)
    assert found is not None
    assert found.name == "UTF-8"


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (b"", "UTF-8", ""),
        (b"\xef\xbb\xbfa", "UTF-8 with BOM", "a"),
        ("hi\n".encode("utf-16"), "UTF-16 LE", "hi\n"),
        (b"\xfe\xff" + "hé\n".encode("utf-16-be"), "UTF-16 BE", "hé\n"),
        ("plain text\n".encode("utf-16-le"), "UTF-16 LE", "plain text\n"),
        ("plain text\n".encode("utf-16-be"), "UTF-16 BE", "plain text\n"),
        ("中文 文本, 一行\n".encode("utf-16-le"), "UTF-16 LE", "中文 文本, 一行\n"),
        ("😀 x\n".encode("utf-32"), "UTF-32 LE", "😀 x\n"),
        ("é漢 mostly \n".encode() + b"\xff bad\n", "UTF-8", "é漢 mostly \n\udcff bad\n"),
        ("漢字".encode()[:-1], "UTF-8", "漢\udce5\udcad"),
    ],
)
def test_unicode_is_known_by_its_mark_or_its_form(data: bytes, name: str, text: str) -> None:
    found = encoding_of(data)
    assert found is not None
    assert (found.name, found.decode(data)) == (name, text)
    assert found.encode(text) == data


NOISE = random.Random(1).randbytes


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"ab\0cd\0",
        b"abc\0abc\0",
        gzip.compress(b"hello", mtime=0),
        zlib.compress(NOISE(100)),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x7fELF\x02\x01\x01\0\0\0",
        b"SQLite format 3\0",
        b"\x01\x00\x02\x00\x03\x00\x04\x00",
        b"\x01\x00\x00\x00\x02\x00\x00\x00",
        b"\xff\xfe" + b"\0\0" * 9,
        *(NOISE(size) for size in (60, 200, 1000, SNIFF_BYTES)),
        *(NOISE(size).replace(b"\0", b"") for size in (60, 200, 1000, SNIFF_BYTES)),
    ],
)
def test_what_no_person_wrote_is_binary(data: bytes) -> None:
    assert encoding_of(data) is None


@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=40).map(lambda s: s.encode("utf-8", "surrogatepass")),
        st.text(max_size=40).map(lambda s: s.encode("utf-16", "surrogatepass") + b"x"),
        st.text(max_size=40).map(lambda s: s.encode("utf-32", "surrogatepass")),
        st.lists(
            st.sampled_from([t.encode(c) for c, ts in TEXTS.items() for t in ts])
            | st.binary(max_size=3)
        ).map(b"".join),
    )
)
@settings(max_examples=400)
@example("日本\n".encode("cp932") * 9 + b"\x87\x90 \xee\xef\n")
@example("hi\n".encode("utf-16") + b"\x00\xd8\x62")
@example(b"\xff\xfea\0\xff\xdb\x62\xdc")
def test_every_byte_comes_back(data: bytes) -> None:
    found = encoding_of(data)
    if found is not None:
        text = found.decode(data)
        assert found.encode(text) == data
        visible(text).encode()
        assert len(visible(text)) == len(text)


def test_one_character_with_two_codes_keeps_its_own() -> None:
    data = "これはテストです。\n".encode("cp932") * 3 + b"\x87\x90\n\x81\xe0\n"
    found = encoding_of(data)
    assert found is not None
    assert found.codec == "cp932"
    assert found.encode(found.decode(data)) == data


def test_a_character_that_the_encoding_lacks_is_an_error_and_not_a_guess() -> None:
    found = encoding_of(b"caf\xe9\n")
    assert found is not None
    with pytest.raises(UnicodeEncodeError):
        found.encode("漢")
