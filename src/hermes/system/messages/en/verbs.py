"""What the verbs of the command line say."""

from typing import Final

MESSAGES: Final = {
    # sessions
    "sessions_head": "ID|LAST USED|FROM|ENTRIES|TITLE",
    "no_sessions": "There are no conversations yet.",
    "session_head": (
        "{id}, from {source}, {started}\n{model} in {cwd}\n"
        "{input} tokens in, {output} out, cost {cost}"
    ),
    "bad_limit": "--limit is {value}, and must be at least 1.",
    "bad_limit_hint": "For example: --limit 20",
    "no_zone": "timezone is {name}, and there is no such time zone here.",
    "no_zone_hint": "Write it like this: timezone: Europe/Berlin",
    "you": "You",
    "meanwhile": "You, while tools were running",
    "note": "[note of Hermes to the model]",
    "model": "{model}",
    "cut_short": "{model} [stopped before the end]",
    "blank": "{model} [empty reply]",
    "calls": "Tools",
    "outcome_ok": "done",
    "outcome_failed": "failed",
    "outcome_denied": "not allowed",
    "outcome_cancelled": "stopped",
    "outcome_unknown": "outcome unknown",
    "outcome_none": "no result",
    "exported": "Wrote {count} sessions to {path}.",
    "not_written": "{path} was not written: {reason}.",
    "not_written_hint": "Name a file in a folder that exists and that you may write to.",
    "no_title": "The title is empty; nothing was changed.",
    "no_title_hint": "For example: hermes sessions rename ID trip to Rome",
    "renamed": "{id} is now called: {title}",
    "ask_delete": "Delete {id} ({name}) with its {count} entries for good? y/N:",
    "not_asked": "{id} ({name}, {count} entries) was not deleted: nobody is here to be asked.",
    "not_asked_hint": "To delete without a question, add -y",
    "kept": "Nothing was deleted.",
    "deleted": "Deleted {id} ({name}) with its {count} entries.",
    # config
    "nothing_set": "Nothing is set; the defaults count.",
    "without_effect": "In the file, without effect:",
    "secret_hidden": "Secrets are not printed: {keys}. They are in config.yaml and .env.",
    "not_set": "{key} is not set.",
    "not_served": "{key} is the reference's and not served yet: it has no effect.",
    "set": "{where}: {key} is now {value}",
    "set_only": "{where}: {key} is set.",
    "unset": "{where}: {key} is taken out.",
    "overridden": "{key} is also set by {source}, and that counts.",
    "no_file": "There is no {path}; the defaults count.",
    "no_problems": "{path} has no problems.",
    # model
    "one_model": "Name one model.",
    "one_model_hint": "For example: hermes model MODEL --base-url http://127.0.0.1:8080/v1",
    "no_such_demo": "There is no demo model {name}; nothing was fetched.",
    "demo_hint": "The one there is: hermes model install smollm2",
    "demo_ready": "The demo model is {path}. Use it with: hermes model --provider local",
    "no_model": (
        "No model is configured. Run `hermes chat` to choose one, or set one: "
        "hermes model MODEL --base-url URL"
    ),
    "no_endpoint": "A model needs a provider or an address; nothing was saved.",
    "no_endpoint_hint": "Add --provider NAME or --base-url URL",
    "other_model": "Provider {provider} serves {model} and no other; nothing was saved.",
    "other_model_hint": (
        "To use it: hermes model --provider {provider}. For another file, set model.local.path"
    ),
    "key_of_another": (
        "model.api_key belongs to the present provider and must not reach another; "
        "nothing was saved."
    ),
    "key_of_another_hint": "Take it out first: hermes config unset model.api_key",
    "row_model": "model",
    "row_address": "address",
    "row_window": "window",
    "row_price": "price",
    "row_key": "key",
    "a_demo": "a demo: do not rely on its answers",
    "this_machine": "this machine",
    "tokens": "{count} tokens",
    "not_known": "not known",
    "price": "${input:g} in, ${output:g} out for a million tokens",
    "key_set": "set",
    "no_key": "none",
    # tools
    "tools_head": "NAME|TOOLSET|EFFECTS|WHAT IT DOES",
    "name_or_jsonl": "Name one tool, or give --jsonl.",
    "name_or_jsonl_hint": """For example: hermes tools call read_file '{"path": "README.md"}'""",
    "bad_arguments": "The arguments are not usable ({why}); nothing was called.",
    "bad_arguments_hint": "Give one JSON object after the tool's name.",
    "not_an_object": "not a JSON object",
    "no_folder": "There is no folder {path}; nothing was called.",
    "no_folder_hint": "Give --cwd a folder that exists.",
    # prompt-size
    "size_head": "PART|CHARS|BYTES|TOKENS",
    "size_total": "all (tokens are an estimate: characters / 4)",
    # logs
    "no_log": "Nothing has been logged yet: there is no {path}.",
    "bad_lines": "-n is {value}, and must be at least 0.",
    "bad_lines_hint": "For example: -n 50",
    "bad_level": "There is no level {level}.",
    "bad_level_hint": "Use one of DEBUG, INFO, WARNING, ERROR.",
}
