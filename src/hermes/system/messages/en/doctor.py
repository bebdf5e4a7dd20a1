"""What `hermes doctor` finds."""

from typing import Final

MESSAGES: Final = {
    "home": "{path} can be written.",
    "config": "{path} is in order.",
    "config_none": "There is no {path}; the defaults count.",
    "config_unserved": "{path} is in order; {count} of its keys are not served yet.",
    "config_wrong": "{path}: {count} keys are unknown, or refer to a variable that is not set.",
    "config_wrong_hint": "Run: hermes config check",
    "env": "{path} can be read by you alone.",
    "env_none": "There is no {path}.",
    "disk": "{free} MB are free at {path}.",
    "disk_little": "Only {free} MB are free at {path}.",
    "disk_little_hint": "Make room: when the disk is full, no turn can run.",
    "database": "{path} opens, and its layout is current.",
    "database_none": "There is no {path} yet; the first conversation makes it.",
    "model": "{name} answers at {url}.",
    "model_local": "{name} runs on this machine.",
    "model_none": "No model is configured.",
    "model_none_hint": "Run `hermes chat` to choose one, or: hermes model MODEL --base-url URL",
    "no_trust": "The certificates to trust cannot be read: {reason}.",
    "no_trust_hint": "Correct SSL_CERT_FILE, or unset it.",
    "engine": "The engine for models on this machine is installed.",
    "engine_none": "The engine for models on this machine is not installed, and not needed.",
    "engine_missing": "The engine for models on this machine is not installed.",
    "engine_missing_hint": "Run: pip install 'hermes-agent[local]'",
    "demo": "The demo model is {path}.",
    "demo_none": "The demo model is not fetched, and not needed.",
    "demo_missing": "The demo model is not fetched yet; the first turn does it.",
    "demo_missing_hint": "To do it now: hermes model install",
    "bash": "Commands run in {path}.",
    "no_bash": "There is no bash in PATH ({path}); the terminal tool cannot run.",
    "no_bash_hint": "Install bash.",
    "python": "Python {version}.",
    "python_untested": "Python {version} is not tested; {oldest} to {newest} are.",
    "python_untested_hint": "If something breaks, try one of those.",
    "sandbox": (
        "This version has no sandbox: a command that is allowed can do all that you can, "
        "and read your files and keys."
    ),
    "sandbox_hint": "Read each command before you allow it, or run Hermes in a container.",
    "not_checked": "Database and model were not checked: they need the configuration.",
}
