"""Rules about program text on a command line: unasked where it can be shown to do no harm."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.model import UNKNOWN, Finding
from hermes.safety.commands.names import names
from hermes.safety.commands.rules.arguments import Rule, Site, operands, value
from hermes.safety.commands.rules.network import interpreter
from hermes.safety.commands.rules.python_code import harmless_python
from hermes.safety.commands.walk import Draft

# fmt: off
_JS_WORDS: Final = frozenset((
    "console", "log", "error", "JSON", "parse", "stringify", "Math", "process", "version",
    "versions", "argv", "platform", "arch", "cwd", "memoryUsage", "uptime", "stdout", "write",
    "require", "const", "let", "var", "new", "Date", "now", "toISOString", "Object", "keys",
    "values", "entries", "Array", "from", "isArray", "Number", "String", "Boolean", "parseInt",
    "parseFloat", "map", "filter", "reduce", "forEach", "join", "split", "length", "sort", "slice",
    "for", "of", "in", "if", "else", "return", "typeof", "null", "undefined", "true", "false",
    "function", "max", "min", "floor", "ceil", "round", "random", "sqrt", "pow", "abs", "PI",
    "Buffer", "toString", "encodeURIComponent", "decodeURIComponent", "name", "dependencies",
    "devDependencies", "scripts", "readFileSync", "existsSync", "path", "resolve", "basename",
    "dirname", "extname", "main", "engines", "node", "v8", "trim", "replace", "toUpperCase",
    "toLowerCase", "includes", "indexOf", "startsWith", "endsWith", "repeat", "padStart", "padEnd",
    "fill", "test", "match", "concat", "push", "reverse", "find", "some", "every", "flat", "Set",
    "Map", "size", "has", "get", "Promise", "then", "toFixed", "toLocaleString", "getTime",
    "os", "cpus", "totalmem", "freemem", "hostname", "homedir", "tmpdir", "crypto", "randomBytes",
    "randomUUID", "createHash", "update", "digest", "url", "URL", "util", "inspect", "fs",
    "utf8", "utf", "hex", "base64", "table", "NaN", "Infinity", "isNaN", "Symbol", "BigInt",
    "charCodeAt", "fromCharCode", "substring", "substr", "localeCompare", "x", "a", "b", "i", "n",
    "k", "v", "s", "d", "e", "p", "r", "t", "c", "f", "j", "m", "o", "w", "y", "z", "pkg", "data",
    "acc", "item", "key", "value", "arr", "str", "obj", "res", "result", "sum", "count",
))
_JS_REQUIRES: Final = (
    r"""\(\s*['"](?:\./?[\w@./-]*(?:package|tsconfig|composer|manifest)?[\w.-]*\.json|(?:node:)?(?:os|path|util|url|crypto|fs))['"]\s*\)"""
)
# fmt: on


def javascript(code: str) -> bool:
    """Whether JavaScript uses none but words that compute, read and print."""
    if UNKNOWN in code or len(code) > 4000 or "`" in code or "\\" in code:
        return False
    for found in re.finditer(r"require\b", code):
        if not re.match(_JS_REQUIRES, code[found.end() :]):
            return False
    plain = re.sub(_JS_REQUIRES, "()", code)
    plain = re.sub(
        r"'[^']*'|\"[^\"]*\"|(?<=[(,=:])/(?![/*\s])[^/\n]+/[gimsuy]*(?=[.,)])", "''", plain
    )
    if re.search(r"\[\s*(?:''|[^\d\s\]])", plain) and not re.search(r"^\W*\[|[=(,:]\s*\[", plain):
        return False
    if re.search(r"[\w)\]'\"]\s*\[\s*(?!\d)", plain):
        return False
    return set(re.findall(r"[A-Za-z_$][\w$]*", plain)) <= _JS_WORDS


_PERL_RISKS: Final = (
    r"\b(?:system|exec|qx|open|unlink|eval|require|do|syscall|kill|fork|rmdir|rename|truncate|chmod"
    r"|chown|link|symlink|mkdir|dbmopen|socket|use|no|sub|bless|glob|sysopen|pipe|utime|readpipe"
    r"|rmtree|remove_tree|copy|move|make_path|goto|local|format|write|syswrite|ENV|CORE|package|BEGIN|INIT|import)\b"
    r"|`|->|&\s*[\w{$]|\*\{|@\{\s*\[|\$\{\s*\\|<[\s$\w]*>|[\w)}/#,|!]\s*/[a-z]*e[a-z]*(?:\W|$)|[|#!,}]\w*e\w*\s*(?:;|$)"
)
_PERL_MODULES: Final = frozenset(
    ("POSIX", "List::Util", "List::Util=sum", "Data::Dumper", "JSON::PP", "Time::HiRes",
     "MIME::Base64", "Encode", "utf8", "strict", "warnings", "integer", "bigint")
)  # fmt: skip
_SED_CHANGES: Final = r"(?s)[sy]([^\w\s])(?:\\.|(?!\1).)*\1(?:\\.|(?!\1).)*\1([0-9gpiImMew]*)"
_SED_RISKS: Final = r"(?:^|[;{}\n\d$/!]|-e)\s*(?:e(?:\s|$|;)|[wW]\s*[^\s;}])"


def _prints(code: str) -> bool:
    """Whether a line of Ruby or PHP prints numbers, names and constants, and does no more."""
    calls = r"\b(?:system|exec|spawn|eval|fork|send|exit|File|Dir|IO|Kernel|passthru)\b|\w\("
    printing = re.fullmatch(r"\s*(?:puts|print|p|echo)\s+[\w\s.+*/()-]*;?\s*", code)
    return printing is not None and not re.search(calls, code)


def run_text(draft: Draft, site: Site) -> Iterator[Finding]:
    """`python -c`, `node -e`, `perl -e` and the rest, and their text on the input."""
    name = interpreter(draft.program) or draft.program
    for code in _codes(draft, name):
        if name == "python":
            safe = harmless_python(code)
        elif name in ("node", "nodejs", "bun", "deno"):
            safe = javascript(code)
        elif name == "perl":
            modules = set(value(draft.words, "-M", "-m"))
            safe = len(code) < 4000 and UNKNOWN not in code and modules <= _PERL_MODULES
            safe = safe and not re.search(_PERL_RISKS, code)
        else:
            safe = name in ("ruby", "php") and _prints(code)
        if not safe:
            yield Finding("inline_code")
            return


def _codes(draft: Draft, name: str) -> Iterator[str]:
    words = draft.words
    options = {
        "python": ("c",),
        "perl": ("e", "E"),
        "ruby": ("e",),
        "node": ("e", "p", "--eval", "--print"),
        "nodejs": ("e", "p"),
        "php": ("r", "B", "R", "E"),
        "lua": ("e",),
        "bun": ("e", "--eval"),
        "julia": ("e", "E"),
        "Rscript": ("e",),
        "osascript": ("e",),
    }.get(name, ())
    found = False
    for i, word in enumerate(words[1:], 1):
        if word in ("-", "--") or not word.startswith("-"):
            break
        letters = [o for o in options if len(o) == 1]
        if word in options or (
            word[:2] != "--"
            and any(letter in word[1:] for letter in letters)
            and word[1] not in "mIWX"
        ):
            at = min((word.find(o) for o in letters if o in word), default=-1)
            glued = word[at + 1 :] if at >= 1 and name in ("python", "php") else ""
            found = True
            yield glued or (words[i + 1] if i + 1 < len(words) else "")
            if name == "python":
                break
        elif word.partition("=")[0] in options and "=" in word:
            found = True
            yield word.partition("=")[2]
        if name == "python" and word == "-m":
            return
    if name == "deno" and "eval" in words[1:3]:
        yield words[-1]
    plain = operands(words)
    fed = draft.fed
    if not found and fed and UNKNOWN not in fed and (not plain or plain[0] == "-"):
        yield fed


def awk(draft: Draft, site: Site) -> Iterator[Finding]:
    """awk programs that run others or write files."""
    if value(draft.words, "-f", "--file") and not draft.fed:
        return
    plain = [w for w in operands(draft.words) if w not in value(draft.words, "-F", "-v")]
    program = plain[0] if plain else ""
    text = re.sub(r"\"(?:\\.|[^\"\\])*\"", lambda f: '""' if "sh" not in f[0] else f[0], program)
    if re.search(r"\bsystem\b|\bgetline\b|(?<!\|)\|(?!\|)|@\s*\w", _without_patterns(text)):
        yield Finding("inline_code")


def _without_patterns(text: str) -> str:
    """awk text without its regular expressions, in which a `|` means something else."""
    return re.sub(r"(^|[~(,;{}&|!\s])/(?:\\.|\[[^\]]*\]|[^/\\\n])*/", r"\1//", text)


def sed(draft: Draft, site: Site) -> Iterator[Finding]:
    """sed scripts that run a command or write another file."""
    scripts = value(draft.words, "-e", "--expression") or operands(draft.words)[:1]
    for script in scripts:
        changes = [found[2] for found in re.finditer(_SED_CHANGES, script[:20_000])]
        if any("e" in flags or "w" in flags for flags in changes) or re.search(
            _SED_RISKS, re.sub(_SED_CHANGES, "", script[:20_000])
        ):
            yield Finding("inline_code")


def powershell(draft: Draft, site: Site) -> Iterator[Finding]:
    """Text for PowerShell; a script file is none."""
    for word in draft.words[1:]:
        lowered = word.lower()
        if "-file".startswith(lowered) and len(lowered) > 1:
            return
        if re.fullmatch(r"[-/]e(?:c|nc\w*)?", lowered):
            yield Finding("decoded_code")
        if re.fullmatch(r"[-/]c(?:o\w*)?", lowered):
            yield Finding("inline_code")
    plain = operands(draft.words)
    if plain and not plain[0].lower().endswith(".ps1") and len(draft.words) == len(plain) + 1:
        yield Finding("inline_code")


def editor(draft: Draft, site: Site) -> Iterator[Finding]:
    """Editors and readers that are told to run something."""
    words = draft.words
    given = value(words, "-c", "--cmd") + [w[1:] for w in words[1:] if w.startswith("+")]
    if any(re.search(r"!|\bsystem\(|:?py\w*\s|:?lua\s|\bterm", text) for text in given):
        yield Finding("runs_program")
    if draft.program == "emacs" and any(word in ("--eval", "-eval", "-f") for word in words):
        yield Finding("inline_code")


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        names(
            "python python2 python3 pypy pypy3 perl ruby node nodejs php lua bun deno julia"
            " Rscript osascript tclsh luajit"
        ),
        run_text,
    ),
    **dict.fromkeys(["awk", "gawk", "mawk", "nawk"], awk),
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("powershell", "pwsh"), powershell),
    **dict.fromkeys(["vim", "vi", "nvim", "view", "ex", "less", "more", "emacs"], editor),
}
