"""What the command line says."""

from typing import Final

MESSAGES: Final = {
    "about": "Hermes, your own agent. Without a command it opens a chat.",
    "epilog": "More on a command: hermes COMMAND --help",
    "commands": "commands",
    "chat": "talk, or ask one thing with -q",
    "model": "show the model in use, or set another",
    "sessions": "earlier conversations",
    "sessions_list": "list them, last used first",
    "sessions_show": "print one",
    "sessions_export": "write one, or all, as JSON lines or Markdown",
    "sessions_rename": "give one a title",
    "sessions_delete": "remove one for good",
    "config": "the configuration",
    "config_show": "print what is set",
    "config_get": "print one value",
    "config_set": "set one value",
    "config_unset": "take one value out of the file",
    "config_path": "print where the file is",
    "config_check": "look for keys without effect",
    "config_explain": "say where a value comes from",
    "approvals": "what runs without a question, what is asked about, what is forbidden",
    "approvals_list": "list the rules",
    "approvals_check": "say what a command is by the built-in rules, without running it",
    "approvals_allow": "let a command, or calls of a tool, run without a question",
    "approvals_ask": "have a person asked about them, each time",
    "approvals_deny": "forbid them, whatever else allows them",
    "approvals_revoke": "take a rule back, by its text or its place",
    "tools": "the tools a model can call",
    "tools_list": "list them",
    "tools_call": "call one as a model would, without a model",
    "prompt_size": "measure what every request begins with",
    "doctor": "check that everything works here",
    "logs": "print the log",
    "hooks": "programs of yours that are told of events, and may judge calls",
    "hooks_list": "list them, and which may run",
    "hooks_test": "run those of one event on a sample",
    "hooks_doctor": "look for what keeps one from working",
    "hooks_allow": "let a configured one run from now on",
    "hooks_revoke": "take that back",
    "trust": "let a folder's own settings, hooks and skills be used",
    "checkpoints": "what files held before tools changed them",
    "checkpoints_list": "list the checkpoints of this folder",
    "checkpoints_status": "what the checkpoints of each folder take",
    "checkpoints_show": "what one checkpoint holds",
    "checkpoints_diff": "how files differ now from what was captured",
    "checkpoints_restore": "bring back what files held before a checkpoint",
    "checkpoints_prune": "remove what is beyond the limits",
    "checkpoints_clear": "remove all checkpoints",
    "redact": "mask secrets from stdin to stdout",
    "completion": "print a completion script for your shell",
    "slash_help": "list these commands",
    "slash_new": "end this session, open a new one",
    "slash_rollback": "bring files back: [list], diff N [FILE], restore N [FILE]",
    "slash_usage": "tokens and cost of this chat",
    "slash_quit": "leave",
    "keys": (
        "Enter sends. Ctrl-J, Alt-Enter or a trailing backslash makes a new line. Ctrl-C stops a "
        "running turn, Ctrl-D leaves."
    ),
    "nothing_to_say": "There is nothing to say: the message is empty.",
    "nothing_to_say_hint": 'Give it as text: hermes -z "your question"',
    "nothing_to_continue": "There is no earlier conversation to continue.",
    "no_model_oneshot": (
        "No model is configured: run `hermes chat` to choose one, or `hermes model MODEL "
        "--base-url URL` to set one."
    ),
    "folder": "Working in {path}, as this session does.",
    "folder_gone": "This session worked in {path}, which cannot be entered ({reason}).",
    "session_line": "session {id} (go on with: hermes --resume {id})",
    "demo_answer": "[demo model {model}: do not rely on its answers]",
    "welcome": "{model} · /help lists commands · session {id}",
    "resumed": "{model} · session {id}, as you left it",
    "goodbye": "Saved. Go on with: hermes --resume {id}",
    "stopping": "stopping ...",
    "leaving": "leaving ...",
    "withdrawn": "[the text above does not count: the request is made again]",
    "outcome_failed": "failed",
    "outcome_denied": "not allowed",
    "outcome_cancelled": "stopped",
    "outcome_unknown": "outcome unknown",
    "yes_or_no": "  {keys}y/N: ",
    "choice_session": "[s]ession, ",
    "choice_always": "[a]lways, ",
    "rule_to_save": "  rule to save: ",
    "yolo_on": "Nothing is asked any more in this session. /yolo asks again.",
    "yolo_off": "Questions are asked again.",
    "slash_yolo": "ask nothing in this session, or ask again",
    "silence": "  no answer within {seconds} s",
    "no_success": "This turn ended without success.",
    "thinking": "[reasoning]",
    "no_history": "What you type is not kept for the next time: {path}: {reason}.",
    "unknown_command": (
        "There is no command {name}; /help lists them. A message may begin with / if a space "
        "stands before it."
    ),
    "usage": "{input} tokens in ({cached} cached), {output} out, cost {cost}",
    "cost_unknown": "unknown",
    "model_here": "{model} at {where}",
    "this_machine": "this machine",
    "model_stays": (
        "A session keeps its model. Set another one with `hermes model`; it counts from the next "
        "chat on."
    ),
    "offer": (
        "No model is set up yet.\n"
        "  1  add a provider (any OpenAI-compatible endpoint)\n"
        "  2  try the built-in demo model: 135M parameters, 98 MB once, works offline.\n"
        "     It chats and reads files in this folder. Do not rely on its answers."
    ),
    "offer_choice": "1 or 2: ",
    "ask_url": "Address (such as https://api.example.com/v1): ",
    "bad_choice": "Please type 1 or 2; Ctrl-C leaves.",
    "bad_url": "An address is needed; Ctrl-C leaves.",
    "ask_model": "Model: ",
    "bad_model": "A model name is needed; Ctrl-C leaves.",
    "ask_key": "Key (empty if the endpoint needs none): ",
    "nothing_saved": "Nothing was saved.",
    "saved": "Saved in {path}.",
    "bug": (
        "Hermes broke ({kind}: {what}). What was saved before is safe. The log has the details: "
        "hermes logs errors"
    ),
    "unknown_toolset": "There is no toolset or tool {name!r}.",
    "unknown_toolset_hint": "There are: {known}.",
    "installing": "Fetching the demo model, once ...",
    "progress": "  {done} of {total} MB",
    "installed": "The demo model is in {path}.",
}
