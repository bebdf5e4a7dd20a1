"""`hermes trust`, and the one question about a folder that brings things of its own."""

import argparse
import json
import sys
from pathlib import Path

from hermes.core.errors import UserError
from hermes.ports.trust import FolderTrust
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t
from hermes.system.lazy import load


def run(options: argparse.Namespace, services: Services) -> int:
    """Trust a folder, list the decisions, or take one back."""
    trust = services.trust()
    if options.list:
        return _list(trust, as_json=options.json)
    if options.revoke:
        path = Path(options.revoke).absolute()
        if not trust.forget(path):
            raise UserError(t("trust.unknown", path=printable(str(path))))
        return _say(options, path, "revoked", trusted=False, things=())
    root = trust.decide(Path(options.folder or ".").absolute(), trusted=True)
    found = trust.project(root)
    things = tuple(found.things) if found is not None and found.root == root else ()
    return _say(options, root, "trusted", trusted=True, things=things)


def _say(
    options: argparse.Namespace, path: Path, key: str, *, trusted: bool, things: tuple[str, ...]
) -> int:
    if options.json:
        print(json.dumps({"path": str(path), "trusted": trusted, "things": things}))
        return 0
    print(t(f"trust.{key}", path=printable(str(path))))
    if trusted:
        brings = "brings" if things else "brings_nothing"
        print(t(f"trust.{brings}", things=", ".join(things)))
    return 0


def _list(trust: FolderTrust, *, as_json: bool) -> int:
    rows = trust.listed()
    if as_json:
        keys = [
            {"path": r.path, "trusted": r.trusted, "decided_at": r.at, "same": r.same} for r in rows
        ]
        print(json.dumps(keys, indent=2))
        return 0
    for row in rows:
        standing = t("trust.is_trusted" if row.trusted else "trust.is_refused")
        gone = "" if row.same else t("trust.gone")
        print(t("trust.row", standing=standing, path=printable(row.path), gone=gone))
    if not rows:
        print(t("trust.none"))
    return 0


async def offer(services: Services) -> None:
    """Ask once whether this folder is trusted, if it brings something and nobody has said yet."""
    trust = services.trust()
    project = trust.project(Path.cwd())
    if project is None or project.standing != "unknown":
        return
    root = printable(str(project.root))
    # lazy: the line editor costs 100 ms, and few starts have something to ask
    answer = await load("hermes.surfaces.cli.asking:ask")(
        t("trust.ask", path=root, things=", ".join(project.things))
    )
    if answer in ("y", "yes"):
        trust.decide(project.root, trusted=True)
    elif answer == "never":
        trust.decide(project.root, trusted=False)
        print(t("trust.never"))
    else:
        print(t("trust.not_now"))


def tell(services: Services) -> None:
    """Say in one line on stderr that what this folder brings is not used, if so."""
    project = services.trust().project(Path.cwd())
    if project is not None and project.standing == "unknown":
        root = printable(str(project.root))
        print(t("trust.inert", path=root, things=", ".join(project.things)), file=sys.stderr)
