"""From the bytes of a command to the text a model reads."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TextIO

from anyio import from_thread, to_thread

from hermes.ports.terminal import SPILL_BYTES, CommandResult

Redact = Callable[[str, str], str]
"""Takes secrets out of an output (first argument) of a command (second)."""

ESCAPES: Final = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"  # character sets, resets
)
"""Escape sequences of ECMA-48 in their 7-bit form. The 8-bit form is not looked for: in UTF-8 text
U+0080 to U+009F are characters like any other."""

QUOTED: Final = r"""(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\."""

CHUNK: Final = 200_000
"""Characters of a spilled output that are redacted at a time; a cancelled call ends in between."""

REDACTION: Final = 5.0
"""Seconds for redacting a spilled output (1 MB/s was measured on dense logs); what is not done by
then is not kept."""

LINE: Final = 2_000
"""A cut moves to the end of a line if one is this near."""

SIGNALS: Final = {
    3: "quit",
    4: "illegal instruction",
    6: "aborted",
    7: "bus error",
    8: "arithmetic error",
    9: "killed; perhaps the machine ran out of memory",
    11: "segmentation fault",
    13: "nobody read its output",
    15: "asked to terminate",
    24: "CPU time limit",
    25: "file size limit",
}

BENIGN: Final = {
    ("grep", 1): "no line matched",
    ("rg", 1): "no line matched",
    ("ag", 1): "no line matched",
    ("ack", 1): "no line matched",
    ("diff", 1): "the files differ",
    ("cmp", 1): "the files differ",
    ("test", 1): "the condition is false",
    ("[", 1): "the condition is false",
    ("find", 1): "some folders could not be read",
}
"""Exit codes that are answers rather than failures."""

MEANINGS: Final = BENIGN | {
    ("git", 1): "for most git commands: there are differences, or there is nothing to do",
    ("curl", 6): "the host name was not found",
    ("curl", 7): "no connection to the host",
    ("curl", 22): "the server answered with an error status",
    ("curl", 28): "the time ran out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A long output in a file: of its `characters`, the file at `path` has the first `held`."""

    path: str
    characters: int
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The text for a model; `left_out` characters are missing in its middle, of `characters`."""

    text: str
    characters: int
    left_out: int


def last_command(command: str) -> str:
    """The name of the program whose status a simple command line ends with."""
    plain = re.sub(QUOTED, "_", command).rstrip(";& \n")
    segment = re.split(r"[|;&\n]+", plain)[-1]
    words = (word for word in segment.split() if not re.match(r"\w+=", word))
    return next(words, "").rpartition("/")[2]


def meaning(command: str, exit_code: int) -> str:
    """What `exit_code` stands for where that is not plain, else empty."""
    number = -exit_code if exit_code < 0 else exit_code - 128
    if number in SIGNALS:
        return f"signal {number}: {SIGNALS[number]}"
    return MEANINGS.get((last_command(command), exit_code), "")


def benign(command: str, exit_code: int) -> bool:
    """Whether `exit_code` is an answer rather than a failure."""
    return exit_code == 0 or (last_command(command), exit_code) in BENIGN


def readable(data: bytes) -> str:
    """`data` as text without escape sequences; what is not UTF-8 becomes U+FFFD."""
    return re.sub(ESCAPES, "", data.decode("utf-8", "replace"))


def cut_head(data: bytes) -> bytes:
    """`data` up to its last whole line if that is near, else up to its last whole character."""
    newline = data.rfind(b"\n") + 1
    if newline and len(data) - newline <= LINE:
        return data[:newline]
    start = len(data)
    while start and len(data) - start < 3 and data[start - 1] & 0xC0 == 0x80:
        start -= 1
    return data[: start - 1] if start and data[start - 1] >= 0xC0 else data[:start]


def cut_tail(data: bytes) -> bytes:
    """`data` from its first whole line if that is near, else from its first whole character."""
    newline = data.find(b"\n", 0, LINE) + 1
    if newline and newline < len(data):
        return data[newline:]
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def shown(result: CommandResult, kept: Kept | None) -> Shown:
    """The text of `result`, with a notice between head and tail if its middle is missing."""
    if not result.output_tail:
        text = readable(result.output_head)
        return Shown(text=text.rstrip("\r\n"), characters=len(text), left_out=0)
    head, tail = cut_head(result.output_head), cut_tail(result.output_tail)
    characters = kept.characters if kept else result.total
    told = len(head.decode("utf-8", "replace")) + len(tail.decode("utf-8", "replace"))
    left_out = max(characters - told, 0)
    if kept is None:
        rest = "they were not kept"
    elif kept.held < characters:
        rest = f"the first {kept.held} of the output are in {kept.path}"
    else:
        rest = f"the whole output is in {kept.path}"
    notice = f"[... {left_out} characters left out; {rest} ...]\n"
    first, last = readable(head), readable(tail).rstrip("\r\n")
    join = "" if first.endswith("\n") else "\n"
    return Shown(text=first + join + notice + last, characters=characters, left_out=left_out)


def _block(source: TextIO) -> str:
    """The next lines of `source`, about CHUNK characters; a PEM block is not torn."""
    text = source.read(CHUNK)
    if text and not text.endswith("\n"):
        text += source.readline(CHUNK)
    if text.rfind("-----BEGIN ") > text.rfind("-----END "):
        for line in source:
            text += line
            if "-----END " in line or len(text) > 2 * CHUNK:
                break
    return text


def _rewrite(raw: Path, clean: Path, command: str, redact: Redact, seconds: float) -> Kept:
    characters = held = 0
    until = time.monotonic() + seconds
    with (
        raw.open(encoding="utf-8", errors="surrogateescape", newline="") as source,
        clean.open("x", encoding="utf-8", errors="surrogateescape", newline="") as target,
    ):
        clean.chmod(0o600)
        while text := _block(source):
            from_thread.check_cancelled()
            if held == characters and (held == 0 or time.monotonic() < until):
                target.write(redact(text, command))
                held += len(text)
            characters += len(text)
    return Kept(path=str(clean), characters=characters, held=held)


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


async def redact_spill(
    result: CommandResult, command: str, redact: Redact, seconds: float
) -> Kept | None:
    """Replace the spill of `result` by a redacted file; what is not redacted is never shown.

    None if there is no spill or it cannot be rewritten; the file is gone then, too.
    """
    if result.spill is None:
        return None
    raw = Path(result.spill)
    clean = raw.with_suffix(".txt")
    kept = None
    try:
        kept = await to_thread.run_sync(_rewrite, raw, clean, command, redact, seconds)
    except OSError:
        return None
    finally:
        _remove(raw, *(() if kept else (clean,)))
    if result.total > SPILL_BYTES:  # The file was cut; bytes are the best count there is.
        return replace(kept, characters=kept.characters + result.total - SPILL_BYTES)
    return kept
