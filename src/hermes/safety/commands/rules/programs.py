"""Rules about single tools: version control, containers, clouds, databases, packages, Hermes."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.model import UNKNOWN, Finding
from hermes.safety.commands.rules.arguments import Rule, Site, long, operands, value
from hermes.safety.commands.rules.git import git
from hermes.safety.commands.walk import Draft

_SQL: Final = (
    r"(?i)\bdrop\s+(?:table|database|schema|index|view|user|role|column|keyspace|collection|owned)\b"
    r"|\btruncate\s+(?:table\s+)?[\w\"`\[.]+|\bdelete\s+from\s+[^;]*|\bupdate\s+[\w\"`.]+\s+set\s[^;]*"
)
_COMMENTS: Final = r"(?s)'[^']*'|--[ \t][^\n]*|/\*.*?\*/"
"""What is no statement: texts in quotes, and remarks."""
_MONGO: Final = r"\.drop\w*\(|\.remove\(|\.deleteMany\(|\.deleteOne\("
# fmt: off
_SQL_PROGRAMS: Final = frozenset((
    "psql", "mysql", "mariadb", "sqlite3", "sqlite", "sqlcmd", "sqlplus", "cockroach", "duckdb",
    "clickhouse-client", "clickhouse", "bq", "cqlsh", "usql", "pgcli", "mycli", "litecli",
    "snowsql", "isql", "osql", "trino", "presto", "hive", "beeline", "spark-sql", "impala-shell",
))
VERBS: Final[dict[str, tuple[str, str]]] = {
    # program: the family, and what among its first operands is asked about
    "kubectl": ("cluster_delete", "delete drain evict"), "oc": ("cluster_delete", "delete drain"),
    "k3s": ("cluster_delete", "delete"), "k9s": ("cluster_delete", "delete"),
    "helm": ("cluster_delete", "uninstall delete del un"), "kind": ("cluster_delete", "delete"),
    "minikube": ("cluster_delete", "delete"), "k3d": ("cluster_delete", "delete"),
    "eksctl": ("cloud_delete", "delete"), "kops": ("cloud_delete", "delete"),
    "terraform": ("cloud_delete", "destroy"), "tofu": ("cloud_delete", "destroy"),
    "terragrunt": ("cloud_delete", "destroy destroy-all run-all-destroy"),
    "pulumi": ("cloud_delete", "destroy"), "cdk": ("cloud_delete", "destroy"),
    "serverless": ("cloud_delete", "remove"), "sls": ("cloud_delete", "remove"),
    "gcloud": ("cloud_delete", "delete"), "az": ("cloud_delete", "delete purge"),
    "doctl": ("cloud_delete", "delete destroy"), "hcloud": ("cloud_delete", "delete"),
    "linode-cli": ("cloud_delete", "delete"), "ibmcloud": ("cloud_delete", "delete"),
    "oci": ("cloud_delete", "delete terminate"), "vercel": ("cloud_delete", "remove rm"),
    "fly": ("cloud_delete", "destroy"), "flyctl": ("cloud_delete", "destroy"),
    "heroku": ("cloud_delete", "apps:destroy destroy pg:reset addons:destroy"),
    "netlify": ("cloud_delete", "sites:delete"), "firebase": ("cloud_delete", "firestore:delete"),
    "wrangler": ("cloud_delete", "delete"), "supabase": ("database_delete", "reset delete"),
    "gsutil": ("cloud_delete", "rm rb"), "s3cmd": ("cloud_delete", "del rb rm"),
    "mc": ("cloud_delete", "rm rb"), "rclone": ("cloud_delete", "delete purge cleanup"),
    "s5cmd": ("cloud_delete", "rm rb"), "bq": ("database_delete", "rm"),
    "gh": ("hosting_delete", "delete"), "glab": ("hosting_delete", "delete"),
    "vault": ("cloud_delete", "delete destroy"), "consul": ("cloud_delete", "delete"),
    "etcdctl": ("database_delete", "del"), "nomad": ("cluster_delete", "stop purge"),
    "pip": ("uninstall", "uninstall"), "pip3": ("uninstall", "uninstall"),
    "pipx": ("uninstall", "uninstall uninstall-all"), "brew": ("uninstall", "uninstall remove rm"),
    "npm": ("uninstall", "uninstall remove rm un r unlink unpublish"),
    "pnpm": ("uninstall", "uninstall remove rm un"), "yarn": ("uninstall", "remove"),
    "bun": ("uninstall", "remove rm"), "gem": ("uninstall", "uninstall"),
    "cargo": ("uninstall", "uninstall"), "apt": ("uninstall", "remove purge autoremove"),
    "apt-get": ("uninstall", "remove purge autoremove"), "aptitude": ("uninstall", "remove purge"),
    "dnf": ("uninstall", "remove erase autoremove"), "yum": ("uninstall", "remove erase"),
    "zypper": ("uninstall", "remove rm"), "apk": ("uninstall", "del"),
    "snap": ("uninstall", "remove"), "flatpak": ("uninstall", "uninstall remove"),
    "conda": ("uninstall", "remove uninstall"), "mamba": ("uninstall", "remove uninstall"),
    "choco": ("uninstall", "uninstall"), "winget": ("uninstall", "uninstall"),
    "uv": ("uninstall", "uninstall"), "port": ("uninstall", "uninstall"),
    "mysqladmin": ("database_delete", "drop shutdown"), "rails": ("database_delete",
    "db:drop db:reset db:purge db:migrate:reset db:schema:load"),
    "rake": ("database_delete", "db:drop db:reset db:purge db:migrate:reset"),
    "prisma": ("database_delete", "reset"), "artisan": ("database_delete", "migrate:fresh db:wipe"),
    "mix": ("database_delete", "ecto.drop ecto.reset"), "sequelize": ("database_delete", "db:drop"),
    "flyway": ("database_delete", "clean"), "influx": ("database_delete", "delete"),
    "dropdb": ("database_delete", "*"), "dropuser": ("database_delete", "*"),
    "multipass": ("cloud_delete", "delete purge"), "virsh": ("cloud_delete", "destroy undefine"),
    "vagrant": ("cloud_delete", "destroy"), "qm": ("cloud_delete", "destroy stop"),
    "tailscale": ("stop_service", "down logout"), "wg-quick": ("stop_service", "down"),
    "hermes": ("stop_hermes", "update uninstall"),
    "pm2": ("stop_service", "stop delete kill restart"),
}
# fmt: on


_TRIES: Final = frozenset(("--help", "-h", "--dry-run", "--dry-run=client", "--dry-run=server"))


def verbs(draft: Draft, site: Site) -> Iterator[Finding]:
    """A tool whose verb removes or stops something."""
    family, words = VERBS[draft.program]
    plain = operands(draft.words)
    if not _TRIES & set(draft.words) and (words == "*" or set(words.split()) & set(plain[:4])):
        yield Finding(family)


def terraform(draft: Draft, site: Site) -> Iterator[Finding]:
    yield from verbs(draft, site)
    plain = operands(draft.words)
    if plain[:1] == ["apply"] and any(re.fullmatch(r"--?destroy", w) for w in draft.words):
        yield Finding("cloud_delete")
    if plain[:2] == ["state", "rm"]:
        yield Finding("cloud_delete")


def aws(draft: Draft, site: Site) -> Iterator[Finding]:
    plain = operands(draft.words)
    for word in plain[1:4]:
        if re.match(
            r"(?:batch-)?(?:delete|terminate|remove|deregister|purge|destroy|schedule-key-deletion)(?:-|$)|r[mb]$",
            word,
        ):
            yield Finding("cloud_delete")
            return
    if plain[:2] == ["s3", "sync"] and "--delete" in draft.words and "--dryrun" not in draft.words:
        yield Finding("sync_delete")


def kubectl(draft: Draft, site: Site) -> Iterator[Finding]:
    yield from verbs(draft, site)
    plain = operands(draft.words)
    if plain[:1] == ["replace"] and long(draft.words, "--force"):
        yield Finding("cluster_delete")
    if "scale" in plain[:2] and "0" in value(draft.words, "--replicas"):
        yield Finding("cluster_delete")


def github(draft: Draft, site: Site) -> Iterator[Finding]:
    yield from verbs(draft, site)
    methods = [word.upper() for word in value(draft.words, "-X", "--method")]
    if operands(draft.words)[:1] == ["api"] and "DELETE" in methods:
        yield Finding("hosting_delete")


def redis(draft: Draft, site: Site) -> Iterator[Finding]:
    said = {word.upper() for word in (*draft.words[1:], *(draft.fed or "").split())}
    if said & {"FLUSHALL", "FLUSHDB", "SHUTDOWN", "DEBUG"} or {"CONFIG", "SET"} <= said:
        yield Finding("database_delete")


def sql(draft: Draft, site: Site) -> Iterator[Finding]:
    """Statements that remove much, given to a database's program."""
    fed = draft.fed if draft.fed and UNKNOWN not in draft.fed else ""
    text = re.sub(_COMMENTS, " ", "\n".join((*draft.words[1:], fed)))
    if any(destroys(found[0]) for found in re.finditer(_SQL, text)):
        yield Finding("database_delete")
    if draft.program == "bq":
        yield from verbs(draft, site)


def destroys(statement: str) -> bool:
    """Whether a DELETE or UPDATE has no WHERE; DROP and TRUNCATE need none."""
    if re.match(r"delete|update", statement, re.IGNORECASE):
        return not re.search(r"\bwhere\b", statement, re.IGNORECASE)
    return True


def typed_sql(draft: Draft, site: Site) -> Iterator[Finding]:
    """A statement where a command belongs."""
    found = re.match(_SQL, " ".join(draft.words))
    if found and destroys(found[0]):
        yield Finding("database_delete")


def mongo(draft: Draft, site: Site) -> Iterator[Finding]:
    if re.search(_MONGO, " ".join((*draft.words, draft.fed or ""))):
        yield Finding("database_delete")


def pacman(draft: Draft, site: Site) -> Iterator[Finding]:
    if any(re.match(r"-R|--remove", word) for word in draft.words):
        yield Finding("uninstall")


def manage(draft: Draft, site: Site) -> Iterator[Finding]:
    """Django's and Laravel's scripts, behind their interpreters."""
    plain = operands(draft.words)
    if plain and plain[0].endswith("manage.py") and {"flush", "reset_db"} & set(plain[1:2]):
        yield Finding("database_delete")
    if plain[:1] == ["artisan"] and {"migrate:fresh", "migrate:reset", "db:wipe"} & set(plain[1:2]):
        yield Finding("database_delete")


def hermes(draft: Draft, site: Site) -> Iterator[Finding]:
    plain = operands(draft.words)
    if plain[:1] == ["gateway"] and {"stop", "restart", "uninstall"} & set(plain[1:2]):
        yield Finding("stop_hermes")
    if plain[:1] in (["update"], ["uninstall"]):
        yield Finding("stop_hermes")


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(VERBS, verbs),
    **dict.fromkeys(_SQL_PROGRAMS, sql),
    **dict.fromkeys(("terraform", "tofu"), terraform),
    "kubectl": kubectl,
    "oc": kubectl,
    "aws": aws,
    "gh": github,
    "git": git,
    "redis-cli": redis,
    "valkey-cli": redis,
    "keydb-cli": redis,
    **dict.fromkeys(("mongo", "mongosh"), mongo),
    **dict.fromkeys(("pacman", "yay", "paru"), pacman),
    **dict.fromkeys(("python", "python3", "php"), manage),
    **dict.fromkeys(("DROP", "DELETE", "TRUNCATE", "drop", "delete", "UPDATE"), typed_sql),
    "hermes": hermes,
}
