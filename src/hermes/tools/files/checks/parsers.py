"""The first fault of a JSON, YAML or TOML text, as tolerant as the readers in the field."""

import json
import re
from typing import Final

from hermes.tools.files.checks.formats import Format, filled_in, templated
from hermes.tools.files.checks.problems import Problem, Unchecked

YAML_CHARS: Final = 256_000
"""What is parsed of YAML at most: its parser in Python takes 7 µs a character."""

TOML_CHARS: Final = 1_000_000

Fault = Problem | Unchecked | None

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING: Final = re.compile(rf"{_STRING}|,(?=\s*[\]}}])")
_TOML_TOKEN: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)|'
    r"'''.*?(?:'''|\Z)|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'|"
    r"\#[^\n]*|[{}\n]|,(?=\s*\})",
    re.DOTALL,
)
_TOML_PLACE: Final = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.S)


def find_fault(form: Format, text: str) -> Fault:
    """What is wrong with `text`, the first of it; Unchecked if that cannot be said, None if fine.

    Empty text is fine, so is a byte order mark. Never raises.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return None
    try:
        fault = _parse(form, text)
        if not isinstance(fault, Problem):
            return fault
        if templated(text):
            return Unchecked(reason="it is a template, not yet the file it stands for")
        if "${" in text and not isinstance(_parse(form, _filled(form, text)), Problem):
            return None
    except (RecursionError, MemoryError):
        return Unchecked(reason="it is nested too deeply")
    return fault


def _filled(form: Format, text: str) -> str:
    return filled_in(text, "x" if form == "yaml" else "1")


def _parse(form: Format, text: str) -> Fault:
    match form:
        case "json":
            return _json(text)
        case "jsonc":
            return _json(without_comments(text))
        case "jsonl":
            return _json_lines(text)
        case "yaml":
            return _yaml(text)
        case "toml":
            return _toml(text)
        case "json5":
            return Unchecked(reason="its reader takes JSON5, which is not checked here")


def without_comments(text: str) -> str:
    """JSON with comments and trailing commas as plain JSON, every character in its place."""
    text = _COMMENT.sub(lambda m: m.group() if m.group()[0] == '"' else _blank(m.group()), text)
    return _TRAILING.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _load_json(text: str) -> None:
    # Numbers stay text: Python refuses integers of more than 4,300 digits, JSON does not.
    json.loads(text, parse_int=len, parse_float=len)


def _json(text: str) -> Problem | None:
    try:
        _load_json(text)
    except json.JSONDecodeError as e:
        if e.msg == "Extra data" and _is_json_lines(text):
            return None
        return _json_problem(e)
    return None


def _json_problem(e: json.JSONDecodeError, line: int = 0) -> Problem:
    found = repr(e.doc[e.pos]) if e.pos < len(e.doc) else "the end of the file"
    message = e.msg.removesuffix(" at")
    return Problem(line=line or e.lineno, column=e.colno, message=f"{message}, found {found}")


def _is_json_lines(text: str) -> bool:
    """Whether every line is a value of its own, as in many data sets that are named `.json`."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or any(line.strip()[0] not in "{[" for line in lines):
        return False
    return _json_lines(text) is None


def _json_lines(text: str) -> Problem | None:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            _load_json(line)
        except json.JSONDecodeError as e:
            return _json_problem(e, number)
    return None


def _yaml(text: str) -> Fault:
    if len(text) > YAML_CHARS:
        return Unchecked(reason=f"it is too large ({len(text):,} characters of YAML)")
    # lazy: it costs 60 ms to import, and most runs write no YAML
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        # Events only: tags, anchors and duplicate keys are for the reader of the file to judge.
        for _ in YAML(typ="safe", pure=True).parse(_spaced(text)):
            pass
    except ReaderError as e:
        line = text.count("\n", 0, e.position) + 1
        column = e.position - text.rfind("\n", 0, e.position)
        code = e.character if isinstance(e.character, int) else ord(e.character)
        message = f"the character U+{code:04X} is not allowed"
        return Problem(line=line, column=column, message=message)
    except MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        message = ", ".join(part for part in (e.problem, e.context) if part) or "cannot be parsed"
        if mark is None:
            return Problem(line=1, column=1, message=message)
        return Problem(line=mark.line + 1, column=mark.column + 1, message=message)
    except YAMLError as e:
        return Problem(line=1, column=1, message=str(e).partition("\n")[0])
    except (RecursionError, MemoryError):
        raise
    except Exception as e:  # boundary: a fault of the parser must not keep a file from being saved
        return Unchecked(reason=f"the YAML parser failed ({type(e).__name__})")
    return None


def _spaced(text: str) -> str:
    """`text` with tabs as spaces where YAML lets them stand and ruamel.yaml does not.

    That is everywhere but in the indentation: between tokens, on blank lines, before a comment.
    """
    if "\t" not in text:
        return text
    lines = []
    for line in text.split("\n"):
        rest = line.lstrip(" \t")
        indent = line[: len(line) - len(rest)]
        if not rest.strip() or rest.startswith("#"):
            indent = indent.replace("\t", " ")
        lines.append(indent + rest.replace("\t", " "))
    return "\n".join(lines)


def _toml(text: str) -> Fault:
    if len(text) > TOML_CHARS:
        return Unchecked(reason=f"it is too large ({len(text):,} characters of TOML)")
    fault = _load_toml(text)
    if isinstance(fault, Problem) and _load_toml(_as_toml_1_0(text)) is None:
        return None
    return fault


def _load_toml(text: str) -> Fault:
    # lazy: only for a TOML file
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        match = _TOML_PLACE.match(str(e))
        if match is None:
            return Problem(line=1, column=1, message=str(e))
        if match[2] is None:
            lines = text.split("\n")
            return Problem(line=len(lines), column=len(lines[-1]) + 1, message=match[1])
        return Problem(line=int(match[2]), column=int(match[3]), message=match[1])
    except ValueError as e:  # an integer of more digits than Python takes
        return Unchecked(reason=str(e))
    return None


def _as_toml_1_0(text: str) -> str:
    """TOML 1.1 in the words of 1.0, which is what Python reads.

    Line ends, comments and a trailing comma in inline tables, `\\e` and `\\xHH` in strings.
    """
    depth = 0

    def token(match: re.Match[str]) -> str:
        nonlocal depth
        found = match.group()
        if found[0] == '"':
            return re.sub(r"\\(?:e|x[0-9A-Fa-f]{2}|(.))", _escape, found, flags=re.DOTALL)
        if found == "{":
            depth += 1
        elif found == "}":
            depth -= 1
        elif depth > 0 and (found == "\n" or found[0] in "#,"):
            return " "
        return found

    return _TOML_TOKEN.sub(token, text)


def _escape(match: re.Match[str]) -> str:
    return match.group() if match[1] else r"\t"
