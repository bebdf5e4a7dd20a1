"""Rules about what comes from elsewhere and is run, and what goes elsewhere and is secret."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Final

from hermes.safety.commands.model import UNKNOWN, Finding
from hermes.safety.commands.names import names
from hermes.safety.commands.rules.arguments import Rule, Site, operands, value
from hermes.safety.commands.walk import Draft
from hermes.safety.commands.wrappers import SHELLS

# fmt: off
DOWNLOADERS: Final = frozenset((
    "curl", "wget", "fetch", "aria2c", "http", "https", "xh", "curlie", "lynx", "w3m", "links",
    "nc", "ncat", "netcat", "socat", "ftp", "tftp", "lftp", "scp", "sftp", "ssh", "gsutil", "aws",
    "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "telnet", "dig", "nslookup",
))
DECODERS: Final = frozenset(("base64", "base32", "xxd", "openssl", "uudecode", "gpg", "gunzip",
                             "zcat", "gzip", "rev", "tr", "hex", "basenc", "od", "awk", "sed"))
INTERPRETERS: Final = frozenset((
    *SHELLS, "python", "perl", "ruby", "node", "nodejs", "php", "lua", "deno", "bun", "tclsh",
    "osascript", "powershell", "pwsh", "iex", "invoke-expression", "Rscript", "julia",
))
SENDERS: Final = frozenset((
    "curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "rsync", "sftp", "ftp", "lftp", "ssh",
    "http", "https", "xh", "telnet", "mail", "mailx", "sendmail", "mutt", "rclone", "aws",
    "gsutil", "tftp", "croc", "wormhole",
))
ENVIRONMENT: Final = frozenset(("env", "printenv", "set", "export", "declare"))
METADATA: Final = frozenset((
    "169.254.169.254", "metadata.google.internal", "metadata", "100.100.100.200",
    "169.254.170.2", "fd00:ec2::254", "metadata.azure.internal", "instance-data",
))
# fmt: on
_SECRET_NAME: Final = r"(?i)\$\{?\w*(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD)?|CREDENTIALS?|PRIVATE)\w*"
_HOST: Final = r"(?:\w+:)?//(?:[^/@\s]*@)?(\[[0-9a-fA-F:.]+\]|[^/:?#\s]+)"
_DATA: Final = (
    "-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "-F",
    "--form", "--form-string", "--json", "-T", "--upload-file", "--post-data", "--post-file",
    "--body-data", "--body-file", "--url-query",
)  # fmt: skip
_SOCKET: Final = r"/dev/(?:tcp|udp)/([^/]+)/"
_LOCAL: Final = frozenset(("localhost", "127.0.0.1", "::1", "0.0.0.0"))


def interpreter(program: str) -> str:
    """The name of an interpreter without its version; empty for any other program."""
    name = re.sub(r"[\d.]+$", "", program) or program
    return name if name in INTERPRETERS else ""


def fed_code(draft: Draft, site: Site) -> Iterator[Finding]:
    """An interpreter that is given what was downloaded, decoded, or cannot be known."""
    name = interpreter(draft.program)
    if not name and draft.program not in ("source", ".", "eval", "trap"):
        return
    given = [w for w in draft.words[1:] if w.startswith(UNKNOWN)]
    sources: list[Draft] = []
    if draft.fed is not None and UNKNOWN in draft.fed and _from_input(draft, name):
        sources += draft.upstream or draft.substituted
        if not _only_files(sources):
            yield _by_source(sources)
    code = _code_words(draft, name)
    if any(word.startswith(UNKNOWN) for word in code) or any(
        "$(" in w and UNKNOWN in w for w in code
    ):
        if not _prints_settings(draft):
            yield _by_source(draft.substituted)
    elif any("<(" in word for word in given) and not _only_files(draft.substituted):
        if name and name not in SHELLS and "-c" not in draft.words and "-e" not in draft.words:
            if given[0] in operands(draft.words)[:1]:
                yield _by_source(draft.substituted)
        elif not _prints_settings(draft) and (name in SHELLS or draft.program in ("source", ".")):
            yield _by_source(draft.substituted)


def _by_source(sources: Iterable[Draft]) -> Finding:
    programs = {each.program for each in sources}
    if programs & DOWNLOADERS:
        return Finding("remote_code")
    return Finding("decoded_code" if programs & DECODERS else "unknown_code")


def _from_input(draft: Draft, name: str) -> bool:
    if draft.program in ("source", "."):
        return draft.words[1:2] in (("/dev/stdin",), ("/dev/fd/0",))
    plain = operands(draft.words)
    if name in ("iex", "invoke-expression"):
        return True
    if any(w in ("-m", "-e", "-r", "-p", "--eval", "--print") for w in draft.words[1:]):
        return False
    if any(re.fullmatch(r"-[a-zA-Z]*[cen]", w) for w in draft.words[1:2]) and name not in SHELLS:
        return False
    if name in SHELLS:
        return not plain or plain[0] in ("-", "/dev/stdin") or "-s" in draft.words
    return not plain or plain[0] in ("-", "/dev/stdin")


def _code_words(draft: Draft, name: str) -> list[str]:
    """The words that are program text."""
    if draft.program in ("eval", "trap"):
        return list(draft.words[1:2])
    if name in SHELLS:
        for i, word in enumerate(draft.words):
            if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word):
                return list(draft.words[i + 1 : i + 2])
        return []
    if name:
        return value(draft.words, "-c", "-e", "-r", "--eval", "-E")
    return []


def _only_files(sources: Iterable[Draft]) -> bool:
    """Whether what comes is just what stands in files of this machine."""
    rows = list(sources)
    return bool(rows) and all(
        each.program in ("cat", "head", "tail", "grep", "echo", "envsubst")
        and operands(each.words)
        and not each.substituted
        and not each.upstream
        and (each.program != "echo")
        and "/dev/tcp/" not in each.text
        for each in rows
    )


_SETTINGS: Final = frozenset(
    names(
        "ssh-agent keychain gpg-agent direnv pyenv rbenv nodenv goenv jenv plenv brew starship"
        " zoxide opam fnm volta mise asdf rtx conda mamba micromamba dircolors lesspipe luarocks"
        " minikube docker-machine kubectl helm gh npm rustup poetry uv uvx atuin thefuck fzf"
        " resize locale register-python-argcomplete pip activate-global-python-argcomplete hermes"
        " eksctl argocd flux kind k3d just glab tailscale op chezmoi deno"
    )
)
_SETTING_VERBS: Final = (
    r"-s|-c|--eval|init-?|hook|shellenv|env|completions?|docker-env|podman-env|activate|path"
    r"|generate-shell-completion|export|bash|zsh|--bash|--zsh|--init|--path|--rehash|generate"
    r"|gen-completions|shell\.bash|alias|-b"
)


def _prints_settings(draft: Draft) -> bool:
    """Whether what is evaluated comes from a tool that prints settings for shells."""
    made = draft.substituted
    return bool(made) and all(
        each.program in _SETTINGS
        and (
            any(re.fullmatch(_SETTING_VERBS, word) for word in each.words[1:])
            or each.program in ("dircolors", "lesspipe", "resize", "keychain", "thefuck")
            or (each.program.endswith("argcomplete"))
        )
        for each in made
    )


def ran_download(draft: Draft, site: Site) -> Iterator[Finding]:
    """A program or script that an earlier command of the same line downloaded or decoded."""
    if not draft.words or draft.program in DOWNLOADERS:
        return
    name = interpreter(draft.program)
    ran = ""
    if name or draft.program in ("source", "."):
        ran = next(iter(operands(draft.words)), "")
    elif "/" in draft.words[0]:
        ran = draft.words[0]
    if not ran or UNKNOWN in ran:
        return
    key = posixpath.basename(ran)
    for other in site.drafts[:200]:
        if other is draft:
            return
        if other.program in ("curl", "wget", "aria2c", "fetch") and key in _saved(other):
            yield Finding("remote_code")
            return
        if other.program in DECODERS | DOWNLOADERS and any(
            posixpath.basename(r.target) == key and r.operator in (">", ">>", ">|")
            for r in other.redirects
        ):
            yield Finding("decoded_code" if other.program in DECODERS else "remote_code")
            return
        makers = {each.program for each in other.upstream} & (DOWNLOADERS | DECODERS)
        kept = other.program == "tee" and key in map(posixpath.basename, other.words[1:])
        if makers and kept:
            yield _by_source(other.upstream)
            return


def _saved(draft: Draft) -> set[str]:
    """Names of the files that a download makes."""
    given = value(draft.words, "-o", "--output", "-O", "--output-document", "--out")
    names = {posixpath.basename(name) for name in given if name and not name.startswith("-")}
    names |= {posixpath.basename(r.target) for r in draft.redirects if r.operator.startswith(">")}
    if draft.program != "curl" or any(
        re.fullmatch(r"-[a-zA-Z]*O[a-zA-Z]*|--remote-name", w) for w in draft.words
    ):
        for word in operands(draft.words):
            if "/" in word:
                names.add(posixpath.basename(re.split(r"[?#]", word)[0]))
    return names - {""}


def uploads(draft: Draft, site: Site) -> Iterator[Finding]:
    """Secrets that are sent away: variables by their names, files by theirs."""
    words = draft.words
    if draft.program in ("curl", "wget", "http", "https", "xh", "nc", "ncat"):
        data = list(value(words, *_DATA))
        data += [
            word for word in operands(words) if re.match(_HOST, word) or draft.program[:1] in "hx"
        ]
        for word in data:
            if re.search(_SECRET_NAME, word):
                yield Finding("sends_secret")
            name = re.split(r"[@<]", word)[-1].split(";")[0]
            if (
                name
                and (
                    name != word
                    or word in value(words, "-T", "--upload-file", "--post-file", "--body-file")
                )
                and site.places.secret(name, draft.cwds)
            ):
                yield Finding("sends_secret")
    elif draft.program in ("scp", "rsync", "sftp", "rclone", "aws", "gsutil", "croc"):
        plain = operands(words)
        away = draft.program not in ("scp", "rsync") or any(
            re.match(r"(?:[\w.-]+@)?[\w.-]+:", word) for word in plain[-1:]
        )
        if away and any(site.places.secret(word, draft.cwds) for word in plain[:-1]):
            yield Finding("sends_secret")
    if draft.program in SENDERS:
        sources = (*draft.upstream, *draft.substituted)
        read = [r.target for r in draft.redirects if r.operator == "<"]
        if any(site.places.secret(word, draft.cwds) for word in read):
            yield Finding("sends_secret")
        if any(_reads_secret(each, site) for each in sources):
            yield Finding("sends_secret")


def _reads_secret(draft: Draft, site: Site) -> bool:
    if draft.program in SENDERS - {"rclone"}:
        return False
    if draft.program in ("env", "printenv", "set", "export") and len(draft.words) == 1:
        return True
    if draft.program in ("echo", "printf") and any(re.search(_SECRET_NAME, w) for w in draft.words):
        return True
    if draft.program in ("security", "pass", "gopass", "vault") and len(draft.words) > 1:
        return True
    words = [*draft.words[1:], *(r.target for r in draft.redirects if r.operator == "<")]
    return any(site.places.secret(word.partition("=")[2] or word, draft.cwds) for word in words)


def metadata(draft: Draft, site: Site) -> Iterator[Finding]:
    """The addresses where clouds hand out their machine's keys."""
    if draft.program not in DOWNLOADERS and not interpreter(draft.program):
        return
    for word in draft.words[1:]:
        hosts = [found.strip("[]") for found in re.findall(_HOST, word)] or [
            word.split("/")[0].split(":")[0]
        ]
        if any(_plain_host(host) in METADATA for host in hosts) or any(
            host in word for host in METADATA if "." in host
        ):
            yield Finding("cloud_metadata")
            return


def _plain_host(host: str) -> str:
    """A host with an address written as one number, or in octal or hex, as four numbers."""
    host = host.lower().removeprefix("::ffff:").rstrip(".")
    try:
        numbers = [int(re.sub(r"^0(?=\d)", "0o", part), 0) for part in host.split(".")]
    except ValueError:
        return host
    if len(numbers) > 4:
        return host
    total = numbers[-1]
    for i, number in enumerate(numbers[:-1]):
        total += number << (24 - 8 * i)
    if not 0 <= total < 1 << 32:
        return host
    return ".".join(str(total >> shift & 255) for shift in (24, 16, 8, 0))


def shells_out(draft: Draft, site: Site) -> Iterator[Finding]:
    """A shell on a socket."""
    words = draft.words
    if draft.program in ("nc", "ncat", "netcat"):
        if any(re.fullmatch(r"-[a-zA-Z]*[ec]|--exec|--sh-exec|--lua-exec", word) for word in words):
            yield Finding("remote_shell")
    elif draft.program == "socat" and re.search(r"(?:EXEC|SYSTEM|SHELL):", " ".join(words), re.I):
        yield Finding("remote_shell")


def sockets(draft: Draft, site: Site) -> Iterator[Finding]:
    """Redirections to the shell's own network files."""
    for each in draft.redirects:
        found = re.match(_SOCKET, each.target)
        if found and (found[1] not in _LOCAL or interpreter(draft.program)):
            yield Finding("remote_shell")


RULES: Final[dict[str, Rule]] = {
    "nc": shells_out,
    "ncat": shells_out,
    "netcat": shells_out,
    "socat": shells_out,
}
EVERYWHERE: Final[tuple[Rule, ...]] = (fed_code, ran_download, uploads, metadata)
