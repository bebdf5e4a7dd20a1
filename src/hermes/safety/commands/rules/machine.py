"""Rules about the machine itself: power, processes, services, accounts, networks, schedules."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.model import UNKNOWN, Finding
from hermes.safety.commands.names import names
from hermes.safety.commands.rules.arguments import Rule, Site, long, operands, options, short, value
from hermes.safety.commands.walk import Draft

_SEARCHERS: Final = frozenset(["pgrep", "pidof", "ps", "lsof", "fuser"])
_HARD: Final = re.compile(r"-(?:9|KILL|SIGKILL|s(?:IG)?KILL)")


def power(draft: Draft, site: Site) -> Iterator[Finding]:
    """Shutdown, reboot and their kin."""
    words, name = draft.words, draft.program
    if name == "shutdown" and "-c" in words:
        return
    if name in ("init", "telinit"):
        if words[1:2] and words[1] in ("0", "6"):
            yield Finding("power", floor=True, asked=False)
        return
    if "--help" not in words and "--version" not in words:
        yield Finding("power", floor=True, asked=False)


def systemctl(draft: Draft, site: Site) -> Iterator[Finding]:
    verbs = set(operands(draft.words)[:2])
    if verbs & {"poweroff", "reboot", "halt", "kexec", "soft-reboot"}:
        yield Finding("power", floor=True, asked=False)
    if verbs & {"stop", "restart", "disable", "mask", "kill", "isolate", "emergency", "rescue"}:
        yield Finding("stop_service")
    if "try-restart" in verbs or "reload-or-restart" in verbs:
        yield Finding("stop_service")


def service(draft: Draft, site: Site) -> Iterator[Finding]:
    if {"stop", "restart", "unload", "bootout", "remove", "zap"} & set(operands(draft.words)):
        yield Finding("stop_service")


def kill(draft: Draft, site: Site) -> Iterator[Finding]:
    """`kill`: every process, Hermes itself, or those that a search finds."""
    words = draft.words
    if "-l" in words or "-L" in words:
        return
    pids = [w for w in words[1:] if not re.fullmatch(r"-[A-Za-z]\w*|--", w)]
    signalled = any(re.fullmatch(r"-(?:[A-Z]\w*|\d+|s|n)", w) for w in words[1:-1])
    if words[-1:] == ("-1",) and (len(words) == 2 or signalled or "--" in words):
        hard = any(_HARD.fullmatch(w) for w in words[1:-1])
        yield Finding("kill_everything", floor=True, asked=hard)
    if pids[-1:] == ["1"]:
        yield Finding("kill_by_search")
    if _meets_hermes(words, site):
        yield Finding("stop_hermes")
    found = [*draft.substituted, *draft.upstream]
    if any(each.program in _SEARCHERS for each in found) and any(UNKNOWN in w for w in words):
        yield Finding("kill_by_search")


def _meets_hermes(words: tuple[str, ...], site: Site) -> bool:
    """Whether one of the numbers is Hermes's process, its group, or the shell's parent."""
    rest = list(words[1:])
    signal = ""
    if rest[:1] and re.fullmatch(r"-\w+", rest[0]):
        signal = rest.pop(0)[1:]
        if signal in ("s", "n"):
            signal = rest.pop(0) if rest else ""
    own = {str(pid) for pid in site.places.pids} | {f"{UNKNOWN}$PPID", f"{UNKNOWN}${{PPID}}"}
    return signal != "0" and any(word.removeprefix("-") in own for word in rest)


def kill_by_name(draft: Draft, site: Site) -> Iterator[Finding]:
    words = draft.words
    if (
        any(_HARD.fullmatch(w) for w in words)
        or {"9", "KILL", "SIGKILL"} & set(value(words, "-s", "--signal"))
        or (draft.program == "killall" and (short(words[1:], "r") or long(words[1:], "--regexp")))
    ):
        yield Finding("kill_by_name")
    if any("hermes" in word.lower() for word in operands(words)):
        yield Finding("stop_hermes")


def crontab(draft: Draft, site: Site) -> Iterator[Finding]:
    plain = [w for w in operands(draft.words) if w not in value(draft.words, "-u")]
    if short(options(draft.words), "r"):
        yield Finding("remove_schedule")
    elif plain or (len(draft.words) == 1 and draft.fed):
        yield Finding("replace_schedule")


def firewall(draft: Draft, site: Site) -> Iterator[Finding]:
    words = draft.words
    if draft.program in ("iptables", "ip6tables", "ebtables", "arptables"):
        if short(words[1:], "FXZDP") or long(words[1:], "--flush", "--delete", "--policy"):
            yield Finding("firewall")
    elif draft.program == "nft":
        if {"flush", "delete", "destroy"} & set(words):
            yield Finding("firewall")
    elif {"disable", "reset", "delete", "--panic-on", "--complete-reload"} & set(words):
        yield Finding("firewall")


def accounts(draft: Draft, site: Site) -> Iterator[Finding]:
    if draft.program == "visudo" and short(draft.words[1:], "c"):
        return
    if draft.program == "usermod":
        groups = ",".join(operands(draft.words)).split(",")
        if not {"sudo", "wheel", "root", "docker", "admin"} & set(groups):
            return
    yield Finding("accounts")


def kernel(draft: Draft, site: Site) -> Iterator[Finding]:
    yield Finding("kernel_module")


def sudo(words: tuple[str, ...]) -> Iterator[Finding]:
    """Options of `sudo` that read a password from elsewhere, or open a shell."""
    for word in words[1:]:
        if not word.startswith("-") or word == "--":
            return
        if word.startswith("--"):
            if word in ("--stdin", "--askpass", "--shell"):
                yield Finding("sudo_option")
        elif any(c in word for c in "SAsa"):
            yield Finding("sudo_option")
        if word in ("-u", "-g", "-h", "-p", "-C", "-T", "-R", "-D", "-r", "-t", "-U"):
            return


def windows(draft: Draft, site: Site) -> Iterator[Finding]:
    """Commands of Windows, whatever the case they are written in."""
    name, words = draft.program.lower(), [word.lower() for word in draft.words[1:]]
    text = " ".join(words)
    if (
        (name in ("del", "erase") and re.search(r"/[sqf]\b", text))
        or (name in ("rd", "rmdir") and "/s" in words)
        or (name in ("remove-item", "ri") and re.search(r"-r(?:ecurse)?\b|-fo?r?c?e?\b", text))
    ):
        yield Finding("recursive_delete")
    elif name == "taskkill" and "/f" in words:
        yield Finding("kill_by_name")
    elif (
        name in ("icacls", "takeown", "diskpart", "cipher", "clear-disk", "format-volume")
        or (name, words[:1]) in (("vssadmin", ["delete"]), ("reg", ["delete"]))
        or (name in ("bcdedit", "wevtutil") and words)
    ):
        yield Finding("windows_system")
    elif name in ("stop-computer", "restart-computer"):
        yield Finding("power", floor=True, asked=False)
    elif name in ("stop-service", "stop-process", "set-executionpolicy"):
        yield Finding("windows_system")


RULES: Final[dict[str, Rule]] = {
    "sudo": lambda draft, site: sudo(draft.words),
    **dict.fromkeys(["shutdown", "reboot", "halt", "poweroff", "init", "telinit"], power),
    "systemctl": systemctl,
    "loginctl": systemctl,
    **dict.fromkeys(
        names("service rc-service initctl launchctl sv supervisorctl"),
        service,
    ),
    "kill": kill,
    "pkill": kill_by_name,
    "killall": kill_by_name,
    "killall5": lambda draft, site: iter((Finding("kill_everything", floor=True),)),
    "crontab": crontab,
    **dict.fromkeys(["iptables", "ip6tables", "ebtables", "nft", "ufw", "firewall-cmd"], firewall),
    **dict.fromkeys(
        names("userdel deluser groupdel delgroup chpasswd usermod visudo"),
        accounts,
    ),
    **dict.fromkeys(["insmod", "rmmod", "kexec"], kernel),
    **dict.fromkeys(
        names(
            "del erase rd rmdir remove-item ri taskkill icacls takeown diskpart cipher clear-disk"
            " format-volume vssadmin reg bcdedit wevtutil stop-computer restart-computer"
            " stop-service stop-process set-executionpolicy"
        ),
        windows,
    ),
}
