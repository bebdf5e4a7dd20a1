"""What the guard tells the model and the person about a call, and the verbs of `approvals`."""

from typing import Final

MESSAGES: Final = {
    # floors
    "hardline": "no mode and no yes of a person lets this run: {reason}.",
    "unchecked": (
        "Hermes failed to check this command, so it was not run; the log has the details. Try a "
        "simpler one."
    ),
    "own_settings": (
        "only the owner changes what Hermes allows itself, at their own terminal: {what}."
    ),
    "blind_sudo": (
        "sudo would read a password from its input, and there is none. Run it without sudo, or ask "
        "the user to run it."
    ),
    "denied_by": "the owner's rule forbids it ({source}: {rule}). Do it another way, or not.",
    # steps
    "protected": "{path}: {reason}; only a person may allow that, each time",
    "nobody_protected": (
        "a person has to allow this each time, and nobody is there:\n{concerns}\nRun it in a chat, "
        "or change other files."
    ),
    "asked_by": "your rule asks about it ({source}: {rule})",
    "world": "this tool may change anything, also outside this machine",
    "unknown_extent": "it does not say which files it changes",
    "flagged": "{reason} ({families})",
    "refused_before": "{path} was refused in this turn",
    "question": "Asked because:\n{concerns}",
    "judge_denied": "the judging model said no",
    "judge_failed": "the judging model could not decide: {why}",
    "rule_shown": "always saves this rule: {rule}",
    "nobody": (
        "a person has to allow this, and nobody is there:\n{concerns}\nRun it in a chat, allow "
        "just this with `hermes approvals allow`, or set {key}: approve."
    ),
    "script_unattended": (
        "nobody is there to watch over a whole script. Use the single tools, run it in a chat, or "
        "set {key}: approve."
    ),
    "judge_refused": (
        "the judging model refused it:\n{concerns}\nDo it another way, or let the user run it."
    ),
    "stop": (
        "{reason}\n{count} calls in a row were refused. Stop here: no further attempt at this, in "
        "any way. Tell the user what you wanted to do and why, and wait for their answer."
    ),
    "exhausted": "calls were refused {count} times in a row in this turn, so nothing more is asked",
    "said_no": "the user said no.",
    "bad_rule": "the rule {rule} was not saved, and the call was not run: {why}",
    "not_saved": "the rule could not be saved, and the call was not run: {why}",
    # scanner
    "scanner_blocks": "the scanner {name} forbids it: {words}",
    "scanner_warns": "the scanner {name} warns: {words}",
    "scanner_fails": "the scanner {name} is installed and did not work: {words}",
    "scanner_slow": "no answer within {seconds} s",
    # drift
    "drift": (
        "it was allowed, and then not run: {what}. Look at it again, and call it again if it is "
        "still right."
    ),
    "drift_cwd": "the working folder is {now} now, not {then}",
    "drift_env": "the variable {name} has changed since",
    "drift_file": "{path} has changed since",
    "drift_command": "the call is not the one that was asked about",
    # rules
    "rule_at": "{where}: this rule {why}.",
    "rule_hint": "Nothing was started. `hermes approvals list` shows every rule that works.",
    "rule_empty": "is empty and can never match",
    "rule_marker": (
        "can never match: a program's name has no `:*` and no `(`. Write `git *` for all of git, "
        "`git push *` for a part"
    ),
    "rule_bracket": "can never match as it is meant: write [[] for a bracket that is one",
    "rule_tool": "can never match: there is no tool {tool!r}. There are: {known}",
    "rule_argument": "can never match: {tool} has no argument {argument!r}",
    "rule_shadowed": "can never decide: {later} below it matches everything that it matches",
    "rule_other": "does not match this call",
    # verbs
    "head": "DECISION|TOOL|MATCH|FROM",
    "none": "There are no rules yet. Flagged calls are asked about, all others run.",
    "mode": "Mode {mode}; without a person: one-shot {single}, cron {cron}, other {other}.",
    "read_only": "Read-only: writing tools are not offered at all.",
    "everything": "(everything)",
    "saved": "Saved in {key}: {rule}",
    "meaning_exact": "It allows exactly this command. For all arguments: {glob}",
    "there_already": "That rule is there already; nothing was changed.",
    "revoked": "Taken out of {key}: {rule}",
    "no_rule": "There is no rule {rule}; nothing was changed.",
    "no_rule_hint": "`hermes approvals list` shows them as they are written.",
    "sure": (
        "{rule} would allow everything that is not forbidden outright. Nothing was changed; the "
        "setting for that is approvals.mode: off."
    ),
    "tool_needs_json": 'With --tool, what is checked is a JSON object, such as {"path": "a.txt"}.',
}
