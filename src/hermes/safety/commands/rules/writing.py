"""Rules about what is written where somebody should look first."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.model import Finding
from hermes.safety.commands.places import device, throwaway
from hermes.safety.commands.rules.arguments import Rule, Site, long, operands, options, short, value
from hermes.safety.commands.walk import Draft

_OUTPUT: Final = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
_COPIERS: Final = frozenset(["cp", "mv", "install", "ln", "scp", "rsync", "gcp", "gmv", "ditto"])


def redirects(draft: Draft, site: Site) -> Iterator[Finding]:
    """Redirections to disks, to sockets, and to files that matter."""
    for each in draft.redirects:
        if each.operator not in _OUTPUT:
            continue
        if each.operator == ">&" and (each.target.isdigit() or each.target == "-"):
            continue
        yield from written(each.target, draft, site)


def written(target: str, draft: Draft, site: Site) -> Iterator[Finding]:
    """What a write to `target` is."""
    if device(target):
        yield Finding("write_disk", floor=True)
    elif target == "/proc/sysrq-trigger":
        yield Finding("power", floor=True)
    elif family := site.places.kept(target, draft.cwds):
        yield Finding(family)


def all_operands(draft: Draft, site: Site) -> Iterator[Finding]:
    """Programs that write every file they are given, such as `tee`."""
    for target in operands(draft.words):
        yield from written(target, draft, site)


def copies(draft: Draft, site: Site) -> Iterator[Finding]:
    """Where `cp`, `mv` and their kin put things."""
    plain = operands(draft.words)
    targets = value(draft.words, "-t", "--target-directory") if draft.program != "rsync" else []
    if not targets and len(plain) > 1:
        targets = plain[-1:]
    emptied = draft.program == "cp" and plain[:1] == ["/dev/null"]
    for target in targets:
        yield from written(target, draft, site)
        if emptied and not throwaway(target):
            yield Finding("truncate_file")
        if target.endswith("/") or target in (".", "..") or target.startswith("~"):
            for source in plain[:-1]:
                name = source.rstrip("/").rpartition("/")[2]
                yield from written(f"{target.rstrip('/')}/{name}", draft, site)
    if draft.program == "mv":
        for source in plain[:-1]:
            if site.places.ruinous(source, draft.cwds):
                yield Finding("remove_root", floor=True)


def edits(draft: Draft, site: Site) -> Iterator[Finding]:
    """`sed -i` and the like."""
    words = draft.words
    if re.match(r"[yj]q|sed|gsed", draft.program):
        in_place = short(words[1:], "i") or long(words[1:], "--in-place", "--inplace")
    else:
        in_place = any(re.match(r"-[a-zA-Z0]*i", word) for word in words[1:])
    if in_place:
        yield from all_operands(draft, site)


def downloads(draft: Draft, site: Site) -> Iterator[Finding]:
    """`curl -o` and `wget -O`."""
    names = ("-o", "--output") if draft.program == "curl" else ("-O", "--output-document")
    for target in value(draft.words, *names):
        yield from written(target, draft, site)


def modes(draft: Draft, site: Site) -> Iterator[Finding]:
    """`chmod`: what everybody may write, and what runs as its owner."""
    for word in draft.words[1:]:
        if re.fullmatch(r"[0-7]{3,4}", word):
            if int(word[-1]) & 2:
                yield Finding("world_writable")
            if len(word) == 4 and word[0] in "4567" and word[0] != "1":
                yield Finding("runs_as_owner")
        elif re.search(r"(?:^|,)[ugo]*[oa][ugo]*[+=][rxXst]*w", word):
            yield Finding("world_writable")
        elif re.search(r"(?:^|,)[ugoa]*[+=][rwxX]*s", word):
            yield Finding("runs_as_owner")


def owners(draft: Draft, site: Site) -> Iterator[Finding]:
    """`chown -R root` takes a tree away from its owner."""
    recursive = short(options(draft.words), "R") or long(options(draft.words), "--recursive")
    plain = operands(draft.words)
    if (recursive and plain and re.match(r"(?:root|0)(?::|$)", plain[0])) or (
        recursive and any(site.places.ruinous(target, draft.cwds) for target in plain[1:])
    ):
        yield Finding("change_owner")


def made_executable(draft: Draft, site: Site) -> Iterator[Finding]:
    """`chmod +x a && ./a`: a file made a program and started at once."""
    plain = operands(draft.words)
    if not plain or not re.search(r"\+[rwXst]*x|^[0-7]?[1357]\d\d$", plain[0]):
        return
    names = {word.removeprefix("./").rpartition("/")[2] for word in plain[1:]}
    for other in site.drafts[:200]:
        if other.words and "/" in other.words[0] and other.words[0].rpartition("/")[2] in names:
            yield Finding("made_executable")


def unpacks(draft: Draft, site: Site) -> Iterator[Finding]:
    """Archives unpacked where files matter."""
    for folder in value(draft.words, "-C", "--directory", "-d"):
        yield from written(f"{folder.rstrip('/')}/", draft, site)


def chmod(draft: Draft, site: Site) -> Iterator[Finding]:
    yield from modes(draft, site)
    yield from made_executable(draft, site)


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(_COPIERS, copies),
    **dict.fromkeys(("tee", "sponge", "patch", "ex", "ed", "shred"), all_operands),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby", "yq", "awk", "gawk"), edits),
    "curl": downloads,
    "wget": downloads,
    "chmod": chmod,
    "chown": owners,
    "chgrp": owners,
    "tar": unpacks,
    "unzip": unpacks,
    "truncate": all_operands,
}
