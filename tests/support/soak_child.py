"""A thousand turns, each in a session of its own; prints resident kB after 300 and after 1,000.

argv: FOLDER BASE_URL.
"""

import gc
import sys
from pathlib import Path

import anyio

from rig import CLI, Rig, say


def resident() -> int:
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


async def main() -> None:
    folder, base_url = Path(sys.argv[1]), sys.argv[2]
    async with Rig(folder).host(base_url) as host:
        for number in range(1, 1001):
            async with host.open(None, CLI, cwd=str(folder)) as session:
                ended = await say(session, f"turn {number}")
                assert ended.why == "finished", ended
            if number in (300, 1000):
                print(resident())


if __name__ == "__main__":
    anyio.run(main)
