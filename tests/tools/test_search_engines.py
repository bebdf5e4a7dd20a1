"""`search_files` finds the same with ripgrep as with the engine in Python."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from search_rig import Search

pytestmark = pytest.mark.anyio

PATTERNS = (
    r"""
foo|fo+|^a|\d|-x|foo$|é|x-b|.|a\.b|(|[a&&b]|\<foo|(?<n>fo)o|\x{e9}|x{|{|{}|a\nb|foo\n|\n|\n+|o\n*
(?s)a.*b|a\r\nb|\r$|\r|o\s*|\s|\S+$|\W|[^a]|[^f]\n?|x*|^$|(?i)FOO|a{1,2}|a**|\Afoo|foo\z|\bfoo\b
\Bo|[[:alpha:]]+1|[]x]|[^]x]|[a-c]|foo(?=\s)|(o)\1|é$|\u00e9|"\"|\/|(?m)^f|[\w.]+|[^\n]o|(?s:o.b)
.\n.|\n^b|$\n|o$\n^b|()|a{,2}|(?i:F)oo|*|\Q|[z-a]|a(?i)B|\x00|[[]
""".strip()
    .replace("\n", "|")
    .split("|")
)
PATTERNS += ["x|b", "(?i)e|(?-i)F", "|", "(?i:F)oo|É"]
LINES = [
    *[
        "foo",
        "foo bar",
        "a1",
        "-x",
        "Foo",
        "foo\r",
        "é",
        "",
        "a.b",
        "x\ty",
        "b",
        "a",
        "a\rb",
        "{",
        "x{",
    ],
    *["\u2028", "e\u0301", "\udcff", "a\udcffb", '"', "/", "o\x0bb", "foo[1]", "a]b", "X\x85y"],
]
NAMES = [
    *["a.py", "b.txt", "d/a.py", "d/e/c.md", ".h/a.py", "d/.h", "ign/x", "d/ign/y", "[x].py"],
    *["a,b.txt", "d/.keep", "sub/.git/config", "sub/x.log", "sub/d/x.log", "new\nline.txt"],
    *["d/a:b.txt", "café.txt", "cafe\u0301.md", "empty/.q", ".git/config"],
]
GLOBS = [
    *["*.py", "d/*", "**/*.md", "{a,b}.*", ".h/*", "[[]*", "!*.md", "*.py,*.md", "a,b.txt", "d/"],
    *["d/**", ".git/*", "sub/**", "{d/a,b}*", "*.py *.txt", "!d/**", "caf?.*", "d/e", "?.py"],
    *["d/.h", "/a.py", "nothing.*", "*/x.log", "d/ign/*", "ign/*", "[!a]*", "*"],
]
RULES = [
    *[
        "",
        "ign/",
        "*.py\n!a.py",
        "/b.txt",
        "d/e",
        "**/y",
        "d/",
        "!.keep\n!.h",
        "x.log",
        "*\n!*.py\n!*/",
    ],
    *["d/*\n!d/a.py", "[a\nfoo**", "\\#x\n e", "c.md\r", "d/**/c.md", "é"],
]
IGNORE_FILES = [
    *[".gitignore", ".ignore", ".rgignore", "d/.gitignore", "d/.ignore", "sub/.gitignore"],
    *["../.ignore", "../.gitignore", ".git/info/exclude"],
]
LATE = b"\nfoo\n" + b"z\n" * 40_000 + b"\0\nfoo\n"


def content(lines: list[str], kind: str) -> bytes:
    """A file's bytes."""
    text = "\n".join(lines)
    if kind == "utf-16":
        return text.encode("utf-16", "replace")
    data = text.encode("utf-8", "surrogateescape")
    around = {"bom": (b"\xef\xbb\xbf", b""), "nul": (b"", b"\0a\n"), "late": (b"", LATE)}
    before, after = around.get(kind, (b"", b""))
    return before + data + after


KINDS = st.sampled_from(["text"] * 8 + ["bom", "nul", "late", "utf-16"])
FILES = st.builds(content, st.lists(st.sampled_from(LINES), max_size=6), KINDS)
TREES = st.dictionaries(st.sampled_from(NAMES), FILES, min_size=1, max_size=9)
IGNORES = st.dictionaries(st.sampled_from(IGNORE_FILES), st.sampled_from(RULES), max_size=4)
PATHS = st.sampled_from([None, None, None, "d", ".,d", "d,.h,.", "a.py", "link,."])
CONTENT = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from(PATTERNS),
        "context": st.integers(0, 2),
        "output_mode": st.sampled_from(["content", "content", "count", "files_only"]),
        "file_glob": st.none() | st.sampled_from(GLOBS),
        "path": PATHS,
    }
)
NAMED = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from([*GLOBS, "x", "D", "A.py"]),
        "target": st.just("files"),
        "path": PATHS,
    }
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, IGNORES, CONTENT | CONTENT | NAMED)
@example({"a.py": b"a\nb\na\nb"}, {}, {"pattern": r"a\nb", "context": 1})
@example({"a.py": LATE}, {}, {"pattern": r"o\n", "output_mode": "count"})
@example({"d/.h": b"foo"}, {"d/.ignore": "!.h"}, {"pattern": "foo", "output_mode": "count"})
async def test_both_engines_give_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    tree: dict[str, bytes],
    ignores: dict[str, str],
    arguments: dict[str, Any],
) -> None:
    folder = tmp_path_factory.mktemp("tree") / "up" / "work"
    folder.mkdir(parents=True)
    (folder / "link").symlink_to("d")
    for name, data in (tree | {k: v.encode() for k, v in ignores.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    arguments = {"limit": 1000} | arguments
    if arguments.get("path") == "link,." and not (folder / "d").exists():
        (folder / "d").mkdir()
    with_rg = await Search(folder)(**arguments)
    without = await Search(folder, ripgrep=False)(**arguments)
    for keys in (with_rg, without):
        if "no regular expression" in keys.get("error", ""):
            keys["error"] = "no regular expression"
    assert with_rg == without


async def test_what_python_lacks_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("é\n", encoding="utf-8")
    keys = await Search(tmp_path, ripgrep=False)(r"\p{L}")
    assert keys["error"] == r"\p{L} in a pattern needs ripgrep, which is not installed."
    assert (await Search(tmp_path)(r"\p{L}"))["total_count"] == 1
