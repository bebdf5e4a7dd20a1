"""Rules about git: what discards work, rewrites a remote, or runs a program."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.model import Finding
from hermes.safety.commands.rules.arguments import Site, long, short, value
from hermes.safety.commands.walk import Draft
from hermes.safety.commands.wrappers import options as leading

_RUNS: Final = (
    r"(?i)(?:alias\.\w+=?!|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass)"
    r"|diff\.\w*\.?(?:external|command|textconv)|diff\.external|filter\.\w+\.|credential\.helper=!"
    r"|(?:merge|difftool|mergetool)\.\w+\.(?:driver|cmd)|pager\.\w+|sequence\.editor"
    r"|gpg\.program|ssh\.variant|protocol\.ext)"
)
_HARMLESS: Final = (
    r"(?i)(?:core\.pager|core\.editor|pager\.\w+)"
    r"=?(?:cat|less|true|false|more|vim|vi|nano|code --wait)?"
)


def git(draft: Draft, site: Site) -> Iterator[Finding]:
    """Look at the verb and its own options."""
    words = list(draft.words[1:])
    given, at = leading(words, "C c --git-dir --work-tree --namespace --exec-path")
    for setting in (*value(given, "-c"), *value(given, "--config-env")):
        if _runs(setting):
            yield Finding("runs_program")
    if at >= len(words):
        return
    verb, arguments = words[at], words[at + 1 :]
    ends = arguments.index("--") if "--" in arguments else len(arguments)
    given = [word for word in arguments[:ends] if word.startswith("-")]
    plain = [word for word in arguments[:ends] if not word.startswith("-")]
    if found := _VERBS.get(verb):
        yield from found(given, plain, arguments)


def _runs(setting: str) -> bool:
    return bool(re.match(_RUNS, setting)) and not re.fullmatch(_HARMLESS, setting)


def _reset(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if long(given, "--hard", "--merge"):
        yield Finding("git_discard")


def _push(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    dry = short(given, "n") or long(given, "--dry-run")
    forced = short(given, "f") or any(
        w.startswith(("--force", "--mirror", "--prune")) for w in given
    )
    deletes = short(given, "d") or long(given, "--delete")
    if (
        forced or deletes or any(word[:1] in "+:" for word in plain[1:] if len(word) > 1)
    ) and not dry:
        yield Finding("git_force_push")


def _clean(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    forced = short(given, "f") or long(given, "--force")
    if forced and not (short(given, "n") or long(given, "--dry-run")):
        yield Finding("git_discard")


def _branch(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    deletes = short(given, "d") or long(given, "--delete")
    if (
        short(given, "DMC")
        or (short(given, "f") or long(given, "--force"))
        or (deletes and short(given, "f"))
    ):
        yield Finding("git_delete_branch")


def _checkout(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    makes = any(re.match(r"-[a-zA-Z]*[bB]|--orphan", word) for word in given)
    if makes:
        return
    everything = any(word in (".", "./", ":/", "*", "..") for word in plain)
    if everything or "--" in arguments[:-1] or short(given, "f") or long(given, "--force"):
        yield Finding("git_discard")


def _restore(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    staged = short(given, "S") or long(given, "--staged")
    tree = short(given, "W") or long(given, "--worktree")
    if not staged or tree:
        yield Finding("git_discard")


def _switch(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if short(given, "fC") or long(given, "--discard-changes", "--force"):
        yield Finding("git_discard")


def _stash(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if plain[:1] in (["drop"], ["clear"]):
        yield Finding("git_discard")


def _history(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    yield Finding("git_rewrite")


def _reflog(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if plain[:1] in (["expire"], ["delete"]):
        yield Finding("git_rewrite")


def _collect(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if any(word.startswith("--prune=") for word in given):
        yield Finding("git_rewrite")


def _forced(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if plain[:1] in (["remove"], ["deinit"]) and (short(given, "f") or long(given, "--force")):
        yield Finding("git_discard")


def _removes(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if (short(given, "f") or long(given, "--force")) and not long(given, "--cached"):
        yield Finding("git_discard")


def _update_ref(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if short(given, "d"):
        yield Finding("git_delete_branch")


def _config(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if len(plain) > 1 and _runs(f"{plain[-2]}={plain[-1]}"):
        yield Finding("runs_program")


def _programs(given: list[str], plain: list[str], arguments: list[str]) -> Iterator[Finding]:
    if any(
        re.match(r"--(?:upload-pack|receive-pack|exec|open-files-in-pager)\b|-O.", w) for w in given
    ):
        yield Finding("runs_program")
    if any(word.startswith("ext::") for word in plain):
        yield Finding("runs_program")


_VERBS: Final = {
    "reset": _reset,
    "push": _push,
    "clean": _clean,
    "branch": _branch,
    "checkout": _checkout,
    "restore": _restore,
    "switch": _switch,
    "stash": _stash,
    "filter-branch": _history,
    "filter-repo": _history,
    "reflog": _reflog,
    "gc": _collect,
    "prune": _history,
    "worktree": _forced,
    "submodule": _forced,
    "rm": _removes,
    "update-ref": _update_ref,
    "config": _config,
    "clone": _programs,
    "fetch": _programs,
    "pull": _programs,
    "ls-remote": _programs,
    "grep": _programs,
    "archive": _programs,
}
