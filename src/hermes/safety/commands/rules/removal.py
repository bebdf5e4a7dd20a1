"""Rules about what removes or empties files, folders and disks."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.model import UNKNOWN, Finding
from hermes.safety.commands.names import names
from hermes.safety.commands.places import device, throwaway
from hermes.safety.commands.rules.arguments import Rule, Site, long, operands, options, short, value
from hermes.safety.commands.walk import Draft

_DISK_TOOLS: Final = frozenset(
    names(
        "wipefs blkdiscard parted fdisk sfdisk gdisk sgdisk cfdisk badblocks mkswap lvremove"
        " vgremove pvremove zpool zfs cryptsetup mdadm nvme hdparm diskpart"
    )
)
_DISK_WORDS: Final = (
    r"destroy|luksFormat|luksErase|erase|format|--zero-superblock|--security-erase|-[a-zA-Z]*w"
    r"|rm|mklabel|mkpart|labelclear"
)
# fmt: off
_ONLY_ON_WORDS: Final = frozenset((
    "zpool", "zfs", "cryptsetup", "mdadm", "nvme", "hdparm", "badblocks", "parted",
))
# fmt: on


def remove(draft: Draft, site: Site) -> Iterator[Finding]:
    """`rm`: recursive, or what is not one's own."""
    words = draft.words
    given, targets = options(words), operands(words)
    recursive = short(given, "rR") or long(given, "--recursive")
    if long(given, "--no-preserve-root"):
        yield Finding("remove_root", floor=True)
    ruin = any(site.places.ruinous(target, draft.cwds) for target in targets)
    if ruin and (given or recursive):
        yield Finding("remove_root", floor=True)
    if recursive:
        yield Finding("recursive_delete")
    elif ruin or any(_precious(target, draft, site) for target in targets):
        yield Finding("delete_protected")
    if {"xargs", "parallel", "find", "fd", "fdfind"} & set(draft.wrappers):
        yield Finding("bulk_delete")


def _precious(target: str, draft: Draft, site: Site) -> bool:
    if site.places.kept(target, draft.cwds) or site.places.secret(target, draft.cwds):
        return not target.startswith("/tmp/")
    system = ("/etc/", "/usr/", "/bin/", "/sbin/", "/lib", "/boot/", "/dev/", "/var/lib/")
    return target.startswith(system) and not target.startswith("/dev/shm/")


def find(draft: Draft, site: Site) -> Iterator[Finding]:
    """`find` that deletes, or whose expression is not known."""
    words = draft.words
    deletes = [w for w in words if w == "-delete" or re.fullmatch(r"-d?e?l?e?\[?[\w\]]*[*?]\w*", w)]
    kills = any(
        w in ("-exec", "-execdir", "-ok", "-okdir")
        and words[i + 1 : i + 2]
        and words[i + 1].rpartition("/")[2] in ("rm", "unlink", "shred", "rmdir")
        for i, w in enumerate(words)
    )
    if deletes or kills:
        yield Finding("find_delete")
        starts = _starts(words)
        narrowed = any(
            re.match(r"-(?:i?name|i?path|[acm]time|[acm]min|size|i?regex|user|newer|empty)", w)
            for w in words
        )
        if not narrowed and any(site.places.ruinous(start, draft.cwds) for start in starts):
            yield Finding("remove_root", floor=True)
    starts_with = [w for w in words[1:] if w.startswith(UNKNOWN)]
    if any(w not in words[1:2] and _bare(words, w) for w in starts_with):
        yield Finding("find_delete")
    if any(w in ("-fprint", "-fprintf", "-fls", "-fprint0") for w in words):
        for target in value(words, "-fprint", "-fprintf", "-fls", "-fprint0"):
            if family := site.places.kept(target, draft.cwds):
                yield Finding(family)


def _bare(words: tuple[str, ...], word: str) -> bool:
    """Whether an unknown word stands where an action could."""
    before = words[words.index(word) - 1]
    return not before.startswith("-") and any(w.startswith("-") for w in words[: words.index(word)])


def _starts(words: tuple[str, ...]) -> list[str]:
    found = []
    for word in words[1:]:
        if word in ("-L", "-H", "-P"):
            continue
        if word.startswith(("-", "(", "!")):
            break
        found.append(word)
    return found or ["."]


def rsync(draft: Draft, site: Site) -> Iterator[Finding]:
    """`rsync --delete` and its kin."""
    given = options(draft.words)
    if any(word.startswith(("--del", "--remove-source-files")) for word in given):
        dry = short(given, "n") or long(given, "--dry-run")
        if not dry:
            yield Finding("sync_delete")


def empty(draft: Draft, site: Site) -> Iterator[Finding]:
    """`truncate` and `shred`."""
    if draft.program == "shred":
        yield Finding("overwrite_files")
        return
    targets = operands(draft.words)
    sizes = value(draft.words, "-s", "--size")
    grows = any(size.startswith(("+", ">")) for size in sizes)
    if not grows and not all(throwaway(t) for t in targets if t not in sizes):
        yield Finding("truncate_file")


def bare_redirect(draft: Draft, site: Site) -> Iterator[Finding]:
    """`> file`: a redirection of nothing empties what is there."""
    quiet = not draft.words or draft.program in (":", "true")
    quiet = quiet or (draft.program == "cat" and draft.words[1:] == ("/dev/null",))
    quiet = quiet or (
        draft.program in ("echo", "printf") and draft.words[1:] in (("-n",), ("",), ("-n", ""))
    )
    if not quiet or draft.text == "":
        return
    for each in draft.redirects:
        if each.operator in (">", ">|", "&>") and not throwaway(each.target):
            yield Finding("truncate_file")


def dd(draft: Draft, site: Site) -> Iterator[Finding]:
    """`dd` to a disk, or from something that is no file of one's own."""
    for word in draft.words[1:]:
        key, _, target = word.partition("=")
        if key == "of" and device(target):
            yield Finding("write_disk", floor=True)
        elif key == "of" and (family := site.places.kept(target, draft.cwds)):
            yield Finding(family)
        elif key == "if":
            yield Finding("raw_copy")


def disk(draft: Draft, site: Site) -> Iterator[Finding]:
    """Partition tables, file systems, volumes."""
    if draft.program.startswith("mkfs") or draft.program in ("mke2fs", "newfs", "mkdosfs"):
        yield Finding("make_filesystem", floor=True)
        return
    if draft.program == "format":
        if any(re.fullmatch(r"[A-Za-z]:", word) for word in draft.words[1:]):
            yield Finding("disk_tool")
        return
    if draft.program in _ONLY_ON_WORDS:
        if not any(re.fullmatch(_DISK_WORDS, word) for word in draft.words[1:]):
            return
    elif {"-l", "--list", "-n", "--no-act", "--help", "-d", "-J"} & set(draft.words[1:]):
        return
    if (
        draft.program == "wipefs"
        and not short(draft.words[1:], "aof")
        and not long(draft.words[1:], "--all", "--offset", "--force")
    ):
        return
    yield Finding("disk_tool")


RULES: Final[dict[str, Rule]] = {
    "rm": remove,
    "unlink": remove,
    "grm": remove,
    "srm": remove,
    "rimraf": lambda draft, site: iter((Finding("recursive_delete"),)),
    "find": find,
    "gfind": find,
    "rsync": rsync,
    "truncate": empty,
    "shred": empty,
    "dd": dd,
    "mke2fs": disk,
    "newfs": disk,
    "mkdosfs": disk,
    "format": disk,
    **dict.fromkeys(_DISK_TOOLS, disk),
}
