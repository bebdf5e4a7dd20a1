"""What an exit code means, and what to try when a command failed or only seems not to have."""

import re
from typing import Final

QUOTED: Final = r"""(?s)'[^']*'|"(?:\\.|[^"\\])*"|\\."""

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

TROUBLE: Final = (
    (
        r"(?i)sudo: a (?:terminal|password) is required|terminal prompts disabled|"
        r"could not read (?:Username|Password)|no askpass program",
        "It wanted a password, and no command can ask for one here: have the person run it, or use "
        "a login that needs none (a key, a token in a credential helper).",
    ),
    (r"(?m)^CONFLICT \(", "There are merge conflicts: edit the files named, then git add them."),
    (
        r"ModuleNotFoundError: No module named",
        "A Python module is missing: install it, or use the interpreter that has it.",
    ),
    (r"(?i)\bFile exists\b", "It is there already: look at it before it is replaced."),
    (r"(?i)\brate limit|\b429 Too Many", "The other side limits requests: wait, then ask less."),
    (r"(?i)permission denied", "It is not permitted: check owner and mode, or use another place."),
)
"""What is seen in the output of a failed command and what helps."""

LAST: Final = frozenset(("tail", "head", "cat", "tee", "less", "more", "wc", "sort", "uniq"))
"""Programs that succeed whatever is piped into them."""

LOOKS_FAILED: Final = (
    r"(?im)^(?:\S+: )?(?:fatal|error|traceback|panic|failed|\S+: command not found)\b"
    r"|\bcommand not found$|^FAILED |\b[1-9]\d* (?:failed|errors?)\b"
)


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


def hints(command: str, exit_code: int, output: str) -> list[str]:
    """Sentences for the model that `output` and `exit_code` give reason for."""
    if exit_code == 0:
        plain = re.sub(QUOTED, "_", command)
        masked = "|" in plain and last_command(command) in LAST
        masked = masked or re.search(r"\|\|\s*(?:true|:|echo\b)", plain) is not None
        if masked and re.search(LOOKS_FAILED, output):
            return [
                "The exit code is that of the last program of the pipe; the output looks as if "
                "something before it failed. `set -o pipefail` shows that."
            ]
        return []
    if exit_code == 127:
        return ["A program was not found: check its name, or install it."]
    return [advice for pattern, advice in TROUBLE if re.search(pattern, output)][:1]
