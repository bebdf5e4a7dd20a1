"""Tells whether what a shell command prints is likely to be full of secrets."""

import re
from functools import cache
from typing import Final

from hermes.safety.secret_patterns import words

_SILENT: Final = words(
    "source . export ls rm mv cp chmod chown touch stat test [ mkdir vim vi nano code ln du"
)
_SILENT_GIT: Final = words("add rm mv commit status check-ignore push pull fetch")
_WRAPPERS: Final = words(
    "sudo doas command builtin nice nohup time timeout stdbuf ionice busybox exec then do else if "
    "! { ("
)

_SECRET_FILE: Final = (
    r"(?:^|/|=|:|@|<)(?:"
    r"\.env\*?(?:rc|\.(?!example|sample|template|dist|defaults)[\w.\-]+)?|[\w\-]+\.env"
    r"|\.(?:bashrc|bash_profile|bash_history|bash_aliases|zshrc|zshenv|zprofile|zsh_history"
    r"|profile|netrc|_netrc|pgpass|my\.cnf|npmrc|yarnrc(?:\.yml)?|pypirc|git-credentials|s3cfg"
    r"|htpasswd|boto|vault-token|dockercfg|tfrc|terraformrc)"
    r"|\.(?:aws|azure|kube|docker|config/gh|config/gcloud|ssh)/[\w./\-]+"
    r"|\.(?:hermes|codex|claude)/(?:[\w\-]+/){0,3}[\w.\-]*(?:config|settings)[\w.\-]*"
    r"|(?:auth|credentials?|secrets?|service[_-]?account)(?:\.[\w\-]+)?\.(?:json|ya?ml|toml|ini)"
    r"|(?:credentials|secrets)|config\.fish|wp-config\.php|[\w.\-]+\.(?:tfvars|tfstate|pem|key)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|environ|shadow)$"
)
_LOOKED_AT: Final = 65_536

# Matched from the start of a simple command, its wrappers and redirections taken off.
_DUMPS: Final = (
    r"(?:env(?:[ \t]+-(?:0|-null))?|set|export|declare|typeset|compgen[ \t]+-v)[ \t]*$",
    r"printenv\b",
    r"(?:declare|typeset|export|readonly)[ \t]+-\w*[xp]",
    r"(?:docker|podman|nerdctl)\b.*\b(?:inspect|config|history)\b",
    r"docker-compose\b.*\bconfig\b",
    r"(?:kubectl|oc|k3s|k9s|microk8s)\b.*\b(?:secrets?(?:/\S+)?|describe|configmaps?|cm|config)\b",
    r"(?:kubectl|oc)\b.*\bget\b.*(?:-o|--output)",
    r"(?:docker|podman|kubectl|oc|ssh|nsenter|lxc|bash|sh|zsh)\b.*(?<![\w./\-])(?:env|printenv)(?![\w./=\-])",
    r"helm\b.*\b(?:values|manifest|get)\b",
    r"(?:systemctl)\b.*\bshow\b",
    r"(?:heroku|fly|flyctl|vercel|netlify|railway|doppler|infisical)\b.*\b(?:config|secrets|env)\b",
    r"(?:vault|op|pass|bw|gopass|chamber|sops|berglas)\b",
    r"(?:aws|gcloud|az)\b.*(?:secret|token|credential|keys?|configure|get-parameter)",
    r"(?:terraform|tofu|pulumi)\b.*\b(?:output|show|state|config|stack)\b",
    r"git[ \t]+(?:-\S+[ \t]+){0,4}config\b",
    r"(?:npm|yarn|pnpm|pip)\b.*\bconfig\b",
    r"gh\b.*\bauth\b",
    r"ps[ \t]+-?[a-df-z]{0,6}e[a-z]{0,6}w",
    r"ps[ \t]+auxe",
    r"history\b",
    r"strings\b.*/environ\b",
    r"security\b.*find-",
    r"(?:Get-ChildItem|gci|dir)\b.*\benv:",
)

_BARE_SECRETS: Final = (
    r"(?:kubectl|oc)\b.*\bget\b.*\bsecrets?\b.*(?:jsonpath|template|columns)[^|]*[dD]ata",
    r"vault\b.*[ \t]-field[= ]",
    r"op[ \t]+read\b",
    r"(?:pass|gopass)[ \t]+(?:show[ \t]+)?[\w./\-]+$",
    r"gh[ \t]+auth[ \t]+token\b",
    r"gcloud\b.*\bprint-(?:access|identity)-token\b",
    r"gcloud[ \t]+secrets\b.*\baccess\b",
    r"aws\b.*\bget-(?:secret-value|parameter)\b.*--query\b",
    r"az\b.*\b(?:get-access-token|secret[ \t]+show)\b.*--query\b",
    r"security[ \t]+find-\S+.*[ \t]-w\b",
)
_PASSING_ON: Final = (["base64"], ["cat"], ["tr"], ["head"], ["tee"], ["openssl"])


@cache
def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def prints_secrets(command: str) -> bool:
    """Whether `command` dumps an environment or reads a file that secrets are kept in."""
    command = _rx(r"\d?>+[ \t]*[\w./&\-]+").sub(" ", command[:_LOOKED_AT])
    return any(_prints(segment) for segment in _rx(r"[|;&\n]+|\$\(|`").split(command))


def _prints(segment: str) -> bool:
    argv = segment.strip(" \t(){}").split()
    while argv and (argv[0] in _WRAPPERS or _rx(r"\w+=\S*|\d+[smh]?|-\S+").fullmatch(argv[0])):
        del argv[: 2 if argv[0] in ("-u", "-g", "-n") else 1]
    if not argv:
        return False
    name = argv[0].rsplit("/", 1)[-1].strip("'\"")
    line = " ".join([name, *argv[1:]])
    if any(_rx(dump).match(line) for dump in _DUMPS):
        return True
    if name in _SILENT or (name == "git" and _SILENT_GIT.intersection(argv[1:3])):
        return False
    return any(_rx(_SECRET_FILE).search(word) for word in _rx(r"[\s'\"(),\[\]]+").split(line)[1:])


def prints_one_secret(command: str) -> bool:
    """Whether what `command` prints is a secret and nothing else, with no name beside it."""
    first, *rest = _rx(r"[ \t]*\|[ \t]*").split(command[:_LOOKED_AT].strip())
    if any(segment.split()[:1] not in _PASSING_ON for segment in rest):
        return False
    return any(_rx(f"(?:sudo[ \\t]+)?{bare}").match(first) for bare in _BARE_SECRETS)
