"""`hermes doctor`: looks at everything that a turn needs, and says what to do."""

import argparse
from collections.abc import Awaitable, Callable
from typing import Final

from hermes.core.errors import HermesError
from hermes.ops import checks
from hermes.ops.checks import Finding, Patient, Status
from hermes.system.i18n import t

NAME_WIDTH: Final = 8


async def run(_: argparse.Namespace, patient: Patient) -> int:
    """Print what each check finds, as it is found; exit status 1 if any failed."""
    statuses = {
        _tell(_checked("home", checks.home, patient)),
        _tell(_checked(".env", checks.env_file, patient)),
        _tell(config := _checked("config", checks.config, patient)),
        _tell(checks.disk(patient)),
    }
    if config.status == "fail":
        _tell(Finding(name="...", status="warn", text=t("doctor.not_checked")))
    else:
        statuses.add(_tell(await _awaited("database", checks.database(patient))))
        route = checks.route_of(patient)
        if isinstance(route, Finding):
            statuses.add(_tell(route))
        else:
            found = await _awaited("model", checks.reachable(patient, route))
            statuses.add(_tell(found))
        statuses.update(map(_tell, checks.embedded(patient, route)))
    statuses.update(map(_tell, (checks.shell(patient), checks.python())))
    if config.status != "fail":
        statuses.add(_tell(await _awaited("sandbox", checks.sandbox(patient))))
    return 1 if "fail" in statuses else 0


def _checked(name: str, check: Callable[[Patient], Finding], patient: Patient) -> Finding:
    try:
        return check(patient)
    except HermesError as e:
        return checks.failed(name, e)


async def _awaited(name: str, check: Awaitable[Finding]) -> Finding:
    try:
        return await check
    except HermesError as e:
        return checks.failed(name, e)


def _tell(finding: Finding) -> Status:
    print(f"{finding.status:4}  {finding.name:{NAME_WIDTH}}  {finding.text}", flush=True)
    if finding.hint:
        print(f"{'':{NAME_WIDTH + 6}}  {finding.hint}", flush=True)
    return finding.status
