"""Rules about how programs are started: by options, by variables, in containers, unknown ones."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.model import Finding
from hermes.safety.commands.names import names
from hermes.safety.commands.rules.arguments import Rule, Site, long, operands, value
from hermes.safety.commands.walk import Draft

_COMPRESSORS: Final = frozenset(
    names("gzip pigz bzip2 pbzip2 lbzip2 xz pxz zstd zstdmt lz4 lzop brotli lzma")
)
_VARIABLES: Final = frozenset(
    names(
        "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND PERL5OPT PERL5DB"
        " RUBYOPT PYTHONSTARTUP PYTHONINSPECT GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_PAGER"
        " PAGER EDITOR VISUAL GIT_EDITOR MANPAGER LESSOPEN LESSCLOSE BROWSER GIT_ASKPASS"
        " SSH_ASKPASS GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_CONFIG_COUNT NODE_OPTIONS"
        " JAVA_TOOL_OPTIONS RSYNC_RSH PS4 SUDO_ASKPASS KUBE_EDITOR IFS SHELLOPTS BASH_FUNC PATH"
    )
)
_HARMLESS: Final = (
    r"|cat|less(?: -\w+)*|more|most|true|false|:|vim?|nvim|nano|emacs|code(?: --wait)?|ed|echo|bat"
    r"|none|firefox|google-chrome|chromium|w3m|lynx|xdg-open"
)
_DOCKER: Final = r"/var/run/docker\.sock|^/:|^/(?:etc|root|home|usr|var|boot|dev|proc):"


def unknown(draft: Draft, site: Site) -> Iterator[Finding]:
    """A program that is known only when it runs."""
    if draft.words and not draft.program and draft.words[0] not in ("[", "[["):
        yield Finding("unknown_program")


def variables(draft: Draft, site: Site) -> Iterator[Finding]:
    """Variables that make other programs run something."""
    pairs = list(draft.assignments)
    if draft.program in ("export", "declare", "typeset", "readonly"):
        pairs += [(w.partition("=")[0], w.partition("=")[2]) for w in draft.words[1:] if "=" in w]
    for name, text in pairs:
        if name not in _VARIABLES:
            continue
        if name in ("IFS", "PATH"):
            continue
        if name == "NODE_OPTIONS" and not re.search(r"require|import|loader|-r\b|inspect", text):
            continue
        if name in ("GIT_SSH_COMMAND", "RSYNC_RSH") and re.fullmatch(r"ssh(?: -[^P;|&`$]*)*", text):
            continue
        if name == "JAVA_TOOL_OPTIONS" and "agent" not in text:
            continue
        if name == "ENV" and not re.search(r"/", text):
            continue
        if name == "PS4" and not re.search(r"[$`]\(|`", text):
            continue
        if not re.fullmatch(_HARMLESS, text):
            yield Finding("runs_program")


def search_tools(draft: Draft, site: Site) -> Iterator[Finding]:
    """`rg --pre`, `sort --compress-program`, `ag --pager` and their kin."""
    options = ("--pre", "--hostname-bin", "--compress-program", "--pager", "--preprocess")
    plain = any(v in ("cat", "less", "") for v in value(draft.words, "--pager"))
    if long(draft.words, *options) and not plain:
        yield Finding("runs_program")


def man(draft: Draft, site: Site) -> Iterator[Finding]:
    given = value(draft.words, "-P", "--pager", "-H", "--html")
    if any(text not in ("cat", "less", "more", "") for text in given):
        yield Finding("runs_program")


def archives(draft: Draft, site: Site) -> Iterator[Finding]:
    """`tar` with a program of one's own."""
    words = draft.words
    given = value(words, "-I", "--use-compress-program") if draft.program in ("tar", "gtar") else []
    if any(text.split()[:1] and text.split()[0] not in _COMPRESSORS for text in given):
        yield Finding("runs_program")
    if long(
        words,
        "--to-command",
        "--checkpoint-action",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
    ) and not any(v in ("dot", "echo") for v in value(words, "--checkpoint-action")):
        yield Finding("runs_program")
    if draft.program == "zip" and any(re.match(r"-TT|--unzip-command", w) for w in words):
        yield Finding("runs_program")


def remote_options(draft: Draft, site: Site) -> Iterator[Finding]:
    """Options of ssh and rsync that start a program here."""
    text = " ".join(value(draft.words, "-o"))
    if re.search(
        r"ProxyCommand|LocalCommand|KnownHostsCommand|ProxyUseFdpass", text, re.IGNORECASE
    ):
        yield Finding("runs_program")
    if draft.program == "rsync":
        shells = value(draft.words, "-e", "--rsh")
        if any(not re.match(r"ssh(?:\s|$)", each) or "ProxyCommand" in each for each in shells):
            yield Finding("runs_program")
    if draft.program in ("scp", "sftp") and value(draft.words, "-S"):
        yield Finding("runs_program")


def single_options(draft: Draft, site: Site) -> Iterator[Finding]:
    """Other programs with an option that runs one."""
    options = {
        "split": ("--filter",), "tcpdump": ("-z",), "wget": ("--use-askpass",),
        "ctags": ("--options",),
        "gdb": ("-ex", "-x", "--eval-command"), "openssl": ("-engine",),
    }[draft.program]  # fmt: skip
    given = value(draft.words, *options)
    if draft.program == "gdb":
        given = [each for each in given if re.search(r"shell|python|!|call|system", each)]
    if given:
        yield Finding("runs_program")


def container(words: tuple[str, ...]) -> Iterator[Finding]:
    """Containers: another machine's daemon, stopping, and reaching through to this machine."""
    plain = operands(words)
    given = list(words[1:])
    if (given[:1] and re.match(r"-H|--host\b", given[0]) and "compose" not in words[0]) or re.match(
        r"--context", given[0] if given else ""
    ):
        yield Finding("other_daemon")
    verb = next(iter(plain), "")
    rest = plain[1:]
    if verb in ("compose", "container", "stack", "service", "swarm", "pod"):
        if verb == "compose":
            skip = value(given, "-f", "--file", "-p", "--project-name", "--profile", "--env-file")
            rest = [word for word in rest if word not in skip]
        verb = next(iter(rest), "")
        rest = rest[1:]
    forced = any(re.fullmatch(r"-[a-z]*f[a-z]*|--force", word) for word in given)
    if (
        verb in ("stop", "kill", "restart", "down", "pause", "leave")
        or (verb in ("rm", "remove") and forced)
        or (plain[:1] != ["compose"] and "prune" in plain[:2])
        or (verb == "volume" and rest[:1] in (["rm"], ["prune"], ["remove"]))
    ):
        yield Finding("stop_container")
    if verb in ("run", "exec", "create"):
        text = [*value(given, "-v", "--volume"), *value(given, "--mount")]
        mounts = any(
            re.search(_DOCKER, each) or re.search(r"(?:source|src)=/(?:,|$)", each) for each in text
        )
        if (
            "--privileged" in given
            or mounts
            or any(
                re.match(r"--(?:pid|ipc|uts|userns)=host|--cap-add=(?:ALL|SYS_)", w) for w in given
            )
        ):
            yield Finding("host_access")


def containers(draft: Draft, site: Site) -> Iterator[Finding]:
    yield from container(draft.words)
    if any(name in ("DOCKER_HOST", "DOCKER_CONTEXT") for name, _ in draft.assignments):
        yield Finding("other_daemon")


def aimed(draft: Draft, site: Site) -> Iterator[Finding]:
    """A text for cmd.exe, which is not parsed here."""
    if any(word.lower() in ("/c", "/k") for word in draft.words[1:]):
        yield Finding("inline_code")


def makes(draft: Draft, site: Site) -> Iterator[Finding]:
    """`make` with a program in place of its own, or a Makefile on its input."""
    if any(re.match(r"SHELL=|\.SHELLFLAGS=", word) for word in draft.words[1:]):
        yield Finding("runs_program")
    text = [draft.fed] if draft.fed and "-" in value(draft.words, "-f") else []
    text += value(draft.words, "--eval", "-E")
    if text:
        yield Finding("inline_code")


def loads(draft: Draft, site: Site) -> Iterator[Finding]:
    """`enable -f` loads a library into the shell; a text for `fc` or `bind -x` runs later."""
    if draft.program == "enable" and "-f" in draft.words:
        yield Finding("runs_program")
    if draft.program == "bind" and "-x" in draft.words:
        yield Finding("runs_program")
    if draft.program == "complete" and value(draft.words, "-C"):
        yield Finding("runs_program")


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(["rg", "sort", "ag", "ack", "git-grep", "pt"], search_tools),
    "man": man,
    **dict.fromkeys(["tar", "gtar", "bsdtar", "zip"], archives),
    **dict.fromkeys(["ssh", "rsync", "scp", "sftp"], remote_options),
    **dict.fromkeys(["split", "tcpdump", "wget", "ctags", "gdb", "openssl"], single_options),
    **dict.fromkeys(
        names("docker podman nerdctl docker-compose podman-compose"),
        containers,
    ),
    **dict.fromkeys(("cmd", "CMD"), aimed),
    **dict.fromkeys(("make", "gmake"), makes),
    **dict.fromkeys(("enable", "bind", "complete"), loads),
}
EVERYWHERE: Final[tuple[Rule, ...]] = (unknown, variables)
