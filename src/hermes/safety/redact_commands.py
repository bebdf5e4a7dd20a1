"""Tells whether what a shell command prints is likely to be full of secrets."""

import re
from functools import cache
from typing import Final

from hermes.safety.secret_patterns import words

_READ_ONLY_NAMES: Final = words(
    "source . export ls rm mv cp chmod chown touch stat test [ mkdir vim vi nano code ln du"
)
_QUIET_GIT: Final = words(
    "add rm mv commit status check-ignore push pull fetch"
)
_WRAPPERS: Final = words(
    "sudo doas command builtin nice nohup time timeout stdbuf ionice busybox exec then do else if "
    "! { ("
)

_SECRET_FILE: Final = (
    r"(?:^|/|=|:|@|<)(?:"
    r"\.env(?:rc|\.(?!example|sample|template|dist|defaults)[\w.\-]+)?|[\w\-]+\.env"
    r"|\.(?:bashrc|bash_profile|bash_history|bash_aliases|zshrc|zshenv|zprofile|zsh_history"
    r"|profile|netrc|_netrc|pgpass|my\.cnf|npmrc|yarnrc(?:\.yml)?|pypirc|git-credentials|s3cfg"
    r"|htpasswd|boto|vault-token|dockercfg|tfrc|terraformrc)"
    r"|\.(?:aws|azure|kube|docker|hermes|codex|claude|config/gh|config/gcloud|ssh)/[\w./\-]+"
    r"|(?:auth|credentials?|secrets?|service[_-]?account)(?:\.[\w\-]+)?\.(?:json|ya?ml|toml|ini)"
    r"|(?:credentials|secrets)|config\.fish|wp-config\.php|[\w.\-]+\.(?:tfvars|tfstate|pem|key)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|environ|shadow)$"
)
_DUMPS: Final = (
    r"(?:env|printenv|set|export|declare|typeset|compgen)(?:[ \t]+-[\w]+)*$",
    r"printenv\b",
    r"(?:declare|typeset|export)[ \t]+-\w*[xp]",
    r"(?:docker|podman|nerdctl)\b.*\b(?:inspect|config|history)\b",
    r"docker-compose\b.*\bconfig\b",
    r"(?:kubectl|oc|k3s|k9s|microk8s)\b.*\b(?:secrets?(?:/\S+)?|describe|configmaps?|cm|config)\b",
    r"(?:kubectl|oc)\b.*\bget\b.*(?:-o|--output)",
    r"(?:docker|podman|kubectl|oc|ssh|nsenter|lxc|systemctl|bash|sh|zsh)\b.*\b(?:env|printenv)\b",
    r"helm\b.*\b(?:values|manifest|get)\b",
    r"(?:systemctl)\b.*\bshow\b",
    r"(?:heroku|fly|flyctl|vercel|netlify|railway|doppler|infisical)\b.*\b(?:config|secrets|env)\b",
    r"(?:vault|op|pass|bw|gopass|chamber|sops|berglas)\b",
    r"(?:aws|gcloud|az)\b.*(?:secret|token|credential|keys?|configure|get-parameter)",
    r"(?:terraform|tofu|pulumi)\b.*\b(?:output|show|state|config|stack)\b",
    r"(?:git|npm|yarn|pnpm|pip)\b.*\bconfig\b",
    r"gh\b.*\bauth\b",
    r"ps\b.*(?:[ \t]-?\w*e\w*w\w*|\beww\b|auxe)",
    r"history\b",
    r"security\b.*find-",
    r"(?:Get-ChildItem|gci|dir)\b.*\benv:",
)


@cache
def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _dumps() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in _DUMPS))


def prints_secrets(command: str) -> bool:
    """Whether `command` dumps an environment or reads a file that secrets are kept in."""
    for segment in _rx(r"[|;&\n]+|\$\(|`").split(command[:65536]):
        argv = segment.strip(" \t(){}").split()
        while argv and (
            argv[0] in _WRAPPERS or _rx(r"\w+=\S*|\d+[smh]?|-\S+").fullmatch(argv[0])
        ):
            words.pop(0)
        if not words:
            continue
        name = words[0].rsplit("/", 1)[-1].strip("'\"")
        if _dumps().match(" ".join([name, *words[1:]])[:4096]):
            return True
        if name in _READ_ONLY_NAMES or (name == "git" and _QUIET_GIT.intersection(words[1:3])):
            continue
        if any(_rx(_SECRET_FILE).search(word.strip("'\"(),;[]")) for word in words[1:]):
            return True
    return False
