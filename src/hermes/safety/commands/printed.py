"""What simple programs print, computed where it follows from the text alone.

A text that is put together or decoded and then handed to a shell is judged by what it comes to.
"""

import base64
import binascii
import posixpath
import re
import zlib
from collections.abc import Sequence
from typing import Final

from hermes.safety.commands.model import UNKNOWN
from hermes.safety.commands.word_syntax import unescaped

LONGEST: Final = 128 * 1024
"""Characters of a computed text; a longer one is not known."""

_FORMAT: Final = r"%(%|[-+ #0]*\d*(?:\.\d+)?[sbcdiuxXoq])"
_CLASSES: Final = {
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\f\v",
}


def printed(words: Sequence[str], fed: str | None, cwd: str | None) -> str | None:
    """What the program `words[0]` prints given the arguments and the input `fed`, or None."""
    program, arguments = words[0], list(words[1:])
    if any(UNKNOWN in word for word in arguments):
        return None
    if program in _BY_ARGUMENTS:
        text = _BY_ARGUMENTS[program](arguments, cwd)
    elif program in _BY_INPUT and fed is not None and UNKNOWN not in fed:
        try:
            text = _BY_INPUT[program](arguments, fed)
        except (ValueError, IndexError, zlib.error):
            return None
    else:
        return None
    return text if text is not None and len(text) <= LONGEST else None


def _echo(arguments: list[str], _: str | None) -> str:
    escapes, newline = False, "\n"
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        flags = arguments.pop(0)
        newline = "" if "n" in flags else newline
        escapes = "e" in flags or escapes
    text = " ".join(arguments)
    return (unescaped(text) if escapes else text) + newline


def _printf(arguments: list[str], _: str | None) -> str | None:
    if arguments[:1] == ["--"]:
        arguments.pop(0)
    if not arguments or arguments[0].startswith("-"):
        return None
    form, values = unescaped(arguments[0]), arguments[1:]
    text = ""
    while len(text) <= LONGEST:
        before = len(values)
        text += re.sub(_FORMAT, lambda found: _formatted(found[1], values), form)
        if not values or len(values) == before:
            return text
    return None


def _formatted(spec: str, values: list[str]) -> str:
    if spec == "%":
        return "%"
    value = values.pop(0) if values else ""
    if spec[-1] == "b":
        return unescaped(value)
    if spec[-1] == "c":
        return value[:1]
    if spec[-1] in "xXodiu":
        try:
            number = (
                ord(value[1]) if value[:1] in ("'", '"') and value[1:] else int(value or "0", 0)
            )
        except ValueError:
            return "0"
        return f"{number:{spec[-1]}}" if spec[-1] in "xXo" else str(number)
    return value


def _which(arguments: list[str], _: str | None) -> str | None:
    plain = [word for word in arguments if not word.startswith("-")]
    return f"{plain[0]}\n" if len(plain) == 1 else None


def _command(arguments: list[str], cwd: str | None) -> str | None:
    return _which(arguments[1:], cwd) if arguments[:1] in (["-v"], ["-P"]) else None


def _basename(arguments: list[str], _: str | None) -> str | None:
    if not arguments or arguments[0].startswith("-"):
        return None
    name = posixpath.basename(arguments[0].rstrip("/")) or "/"
    return name.removesuffix(arguments[1]) + "\n" if len(arguments) > 1 else name + "\n"


def _dirname(arguments: list[str], _: str | None) -> str | None:
    if len(arguments) != 1:
        return None
    return (posixpath.dirname(arguments[0].rstrip("/")) or ".") + "\n"


def _pwd(_: list[str], cwd: str | None) -> str | None:
    return f"{cwd}\n" if cwd else None


def _nothing(_: list[str], __: str | None) -> str:
    return ""


def _cat(arguments: list[str], fed: str) -> str | None:
    return fed if arguments in ([], ["-"]) else None


def _tee(arguments: list[str], fed: str) -> str:
    return fed


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _base64(arguments: list[str], fed: str) -> str | None:
    decodes = [w for w in arguments if re.fullmatch(r"-[a-zA-Z]*[dD][a-zA-Z]*|--decode", w)]
    others = [w for w in arguments if w not in decodes and w not in ("-i", "-w0", "-w", "0", "-")]
    if others:
        return None
    if not decodes:
        return _text(base64.b64encode(_bytes(fed))) + "\n"
    return _text(base64.b64decode(re.sub(r"[^A-Za-z0-9+/=]", "", fed) + "=="))


def _base32(arguments: list[str], fed: str) -> str | None:
    if arguments not in (["-d"], ["--decode"]):
        return None
    return _text(base64.b32decode(re.sub(r"[^A-Z2-7=]", "", fed)))


def _xxd(arguments: list[str], fed: str) -> str | None:
    flags = "".join(sorted(set("".join(arguments)) - set("-")))
    if flags not in ("pr", "prs"):
        return None
    return _text(binascii.unhexlify(re.sub(r"[^0-9A-Fa-f]", "", fed)))


def _openssl(arguments: list[str], fed: str) -> str | None:
    plain = {word for word in arguments if word not in ("-A", "-in", "-")}
    if plain in ({"base64", "-d"}, {"enc", "-base64", "-d"}, {"enc", "-a", "-d"}):
        return _base64(["-d"], fed)
    return None


def _gunzip(arguments: list[str], fed: str) -> str | None:
    if any(not word.startswith("-") or "t" in word or "l" in word for word in arguments):
        return None
    unpacked = zlib.decompressobj(31).decompress(_bytes(fed), LONGEST)
    return _text(unpacked)


def _gzip(arguments: list[str], fed: str) -> str | None:
    decodes = any(word.startswith("-") and "d" in word for word in arguments)
    return _gunzip(arguments, fed) if decodes else None


def _tr(arguments: list[str], fed: str) -> str | None:
    flags = [word for word in arguments if re.fullmatch(r"-[a-zA-Z]+", word)]
    sets = [_set(word) for word in arguments if word not in flags]
    if flags in (["-d"], ["--delete"]) and len(sets) == 1:
        return fed.translate(dict.fromkeys(map(ord, sets[0])))
    if flags or len(sets) != 2 or not sets[1]:
        return None
    last = sets[1][-1] * max(0, len(sets[0]) - len(sets[1]))
    return fed.translate(str.maketrans(sets[0], (sets[1] + last)[: len(sets[0])]))


def _set(text: str) -> str:
    for name, characters in _CLASSES.items():
        text = text.replace(name, characters)
    text = unescaped(text)
    return re.sub(
        r"(.)-(.)",
        lambda f: "".join(map(chr, range(ord(f[1]), min(ord(f[2]), ord(f[1]) + 300) + 1))),
        text,
        flags=re.DOTALL,
    )


def _rev(_: list[str], fed: str) -> str:
    return "\n".join(line[::-1] for line in fed.split("\n"))


def _sed(arguments: list[str], fed: str) -> str | None:
    if len(arguments) != 1:
        return None
    found = re.fullmatch(r"s(.)([^.*\[\]\\^$]*?)\1([^\\&]*?)\1(g?)", arguments[0])
    if found is None or not found[2]:
        return None
    lines = fed.split("\n")
    return "\n".join(line.replace(found[2], found[3], -1 if found[4] else 1) for line in lines)


_BY_ARGUMENTS: Final = {
    "echo": _echo,
    "printf": _printf,
    "which": _which,
    "command": _command,
    "type": _command,
    "basename": _basename,
    "dirname": _dirname,
    "pwd": _pwd,
    "true": _nothing,
    ":": _nothing,
    "cd": _nothing,
}
_BY_INPUT: Final = {
    "cat": _cat,
    "tee": _tee,
    "base64": _base64,
    "base32": _base32,
    "xxd": _xxd,
    "openssl": _openssl,
    "gunzip": _gunzip,
    "zcat": _gunzip,
    "gzip": _gzip,
    "tr": _tr,
    "rev": _rev,
    "sed": _sed,
}
