"""Workspace trust: which folders may bring things of their own."""

from typing import Final

MESSAGES: Final = {
    "no_folder": "{path} cannot be trusted: {reason}.",
    "not_a_folder": "it is not a folder",
    "too_wide": "{path} cannot be trusted: it holds more than a project.",
    "too_wide_hint": "Trust the project's own folder.",
    "not_ours": "it does not hold a list of folders",
    "broken": "{path} cannot be read: {reason}. No folder counts as trusted.",
    "broken_hint": "Repair it, or remove it and trust your folders again.",
    "none": "No folder is trusted.",
    "row": "{standing:<8} {path}{gone}",
    "gone": "  (another folder is there now, or none: this does not count)",
    "is_trusted": "trusted",
    "is_refused": "refused",
    "trusted": "{path} is trusted: its settings, hooks and skills are used.",
    "brings": "It brings: {things}",
    "brings_nothing": "It brings nothing of its own today; what comes later is used.",
    "revoked": "{path} is not trusted any more.",
    "unknown": "There is no decision about {path}.",
    "ask": "{path} brings things of its own: {things}.\nThey can run programs and instruct the "
    "model.\nTrust this folder? [y/N, or never] ",
    "not_now": "Not used in this run.",
    "never": "Not used, and not asked again; `hermes trust` changes that.",
    "inert": "{path} is not trusted: its {things} are not used. To trust it: hermes trust {path}",
}
