"""Long work in one process; prints resident kB at two moments. argv: KIND FOLDER BASE_URL."""

import gc
import sys
from pathlib import Path

import anyio
from family_parts import file_tools, sparse_file

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage
from hermes.stores.sqlite.store import SqliteStore
from rig import CLI, Rig, say
from soak_child import resident
from tools_for_tests import Probe

TURN = TurnId("t")


async def calls(rig: Rig, base_url: str) -> None:
    """Sixty calls with results of 200 kB in one turn."""
    rig.tools["big"] = Probe("big", body=lambda a: str(a["x"]) * 200_000)
    async with rig.host(base_url) as host, host.open(None, CLI, cwd="/") as session:
        seen = 0

        def watch(event: object) -> None:
            nonlocal seen
            if type(event).__name__ == "CallState" and event.phase == "settled":  # type: ignore[attr-defined]
                seen += 1
                if seen in (10, 60):
                    print(resident())

        ended = await say(session, "go", on=watch)
        assert ended.why == "finished", ended


async def sessions(rig: Rig, base_url: str) -> None:
    """Sixteen sessions with 5 MB of history each, opened one after the other."""
    async with rig.store() as store:
        for number in range(16):
            await _long_session(store, number)
    async with rig.host(base_url) as host:
        for number in range(16):
            async with host.open(_name(number), CLI, cwd="/") as session:
                assert (await say(session, "hi")).why == "finished"
            if number in (4, 15):
                print(resident())


def _name(number: int) -> SessionId:
    return SessionId(f"20260101_000000_{number:06x}")


EPOCH = Epoch(
    number=1,
    prompt=FrozenPrompt(text="Be brief."),
    tools=(),
    model="custom/scripted",
    opened_at=0.0,
    reason="new",
)


async def _long_session(store: SqliteStore, number: int) -> None:
    lease = await store.create(_name(number), CLI, cwd="/", epoch=EPOCH, now=0.0)
    for index in range(10):
        said = (Text(text=f"q{index}"),)
        await store.append_user(lease, UserEntry(turn=TURN, at=0.0, content=said, origin=CLI))
        call = ToolCall(id=CallId(f"c{index}"), tool="big", arguments="{}")
        await store.append_assistant(
            lease,
            AssistantEntry(
                turn=TURN,
                at=0.0,
                content=(),
                calls=(call,),
                model="m",
                usage=Usage(),
                stop="calls",
            ),
            usage=None,
        )
        result = ToolResult(call=call.id, content="y" * 500_000, outcome="ok")
        await store.append_batch(lease, ToolBatchEntry(turn=TURN, at=0.0, results=(result,)))
        await store.append_assistant(
            lease,
            AssistantEntry(turn=TURN, at=0.0, content=said, model="m", usage=Usage(), stop="end"),
            usage=None,
        )
    await store.release(lease)


async def reading(rig: Rig, base_url: str) -> None:
    """A file of one gigabyte, nearly all of it one line."""
    file_tools(rig)
    (rig.folder / "short.txt").write_text("line\n" * 4096, encoding="utf-8")
    sparse_file(rig.folder / "long.txt", gigabytes=1)
    async with (
        rig.host(base_url) as host,
        host.open(None, CLI, cwd=str(rig.folder)) as session,
    ):
        assert (await say(session, "read the short one")).why == "finished"
        print(resident())
        assert (await say(session, "read the long one")).why == "finished"
        print(resident())


async def main() -> None:
    kind, folder, base_url = sys.argv[1:]
    gc.collect()
    await {"calls": calls, "sessions": sessions, "reading": reading}[kind](
        Rig(Path(folder)), base_url
    )


if __name__ == "__main__":
    anyio.run(main)
