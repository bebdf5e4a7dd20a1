"""How background commands end, who is told, and what a later Hermes knows."""

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from job_rig import ONE, TWO, Hermes, read_fifo, there


@pytest.fixture
async def hermes(tmp_path: Path) -> AsyncIterator[Hermes]:
    async with Hermes(tmp_path) as hermes:
        yield hermes


async def test_the_end_is_told_once_and_not_if_it_is_known(hermes: Hermes) -> None:
    told = await hermes.run("echo hunter2; exit 3", background=True, notify=True)
    assert told["notify_on_complete"] is True
    assert "hint" not in told
    [text] = await hermes.next()
    assert told["session_id"] in text
    assert "exit code 3" in text
    assert text.endswith("***]")
    known = await hermes.start("sleep 0.2", notify=True)
    await hermes.act("wait", known)
    last = await hermes.start("true", notify=True)
    assert last in (await hermes.next(2))[1]
    assert known not in str(hermes.told)


async def test_watched_lines_are_told_as_they_come_and_a_flood_is_one_message(
    hermes: Hermes,
) -> None:
    id = await hermes.start(
        "read x; echo no; printf 'is REA'; printf 'DY now\\n'; read x;"
        " for i in {1..500}; do echo ERR $i; done",
        notify=["READY", "ERR"],
    )
    await hermes.act("submit", id, data="")
    [first] = await hermes.next()
    assert "is READY now" in first
    assert "\nno" not in first
    await hermes.act("submit", id, data="")
    second = (await hermes.next(2))[1]
    assert "ERR 500" in second
    assert len(second) < 3_000
    assert len(hermes.told) == 2


async def test_a_session_that_ends_with_its_answer_is_told_nothing_later(hermes: Hermes) -> None:
    answer = await hermes.run("true", surface="oneshot", background=True, notify=True)
    assert "notify_unsupported" in answer
    assert "notify_on_complete" not in answer


async def test_what_outlives_hermes_is_found_again_and_can_be_ended(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    async with Hermes(tmp_path) as first:
        answer = await first.run(
            f"echo begun; echo >{ready}; sleep 300", background=True, persist_on_release=True
        )
        await read_fifo(ready)
        assert answer["persist_on_release"] is True
        id, pid = answer["session_id"], answer["pid"]
    assert there(pid)
    async with Hermes(tmp_path) as second:
        polled = await second.act("poll", id)
        assert (polled["status"], polled["detached"], polled["pid"]) == ("running", True, pid)
        assert polled["output_preview"] == "begun\n"
        assert (await second.act("kill", id))["status"] == "killed"
        assert not there(pid)


async def test_the_end_of_what_outlived_hermes_is_told_once_by_the_next(tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    async with Hermes(tmp_path) as first:
        answer = await first.run(
            f"cat {go}; exit 5", background=True, persist_on_release=True, notify=True
        )
    gone = os.pidfd_open(answer["pid"])
    go.write_text("last words\n", encoding="utf-8")
    with anyio.fail_after(10):
        await anyio.wait_readable(gone)
    os.close(gone)
    async with Hermes(tmp_path) as second:
        await second.jobs.recover(ONE)
        [text] = await second.next()
        assert "exit code 5" in text
        assert "last words" in text
    async with Hermes(tmp_path) as third:
        assert (await third.act("poll", answer["session_id"]))["exit_code"] == 5
        assert third.told == []


async def test_a_number_that_has_gone_to_another_program_is_left_alone(tmp_path: Path) -> None:
    async with Hermes(tmp_path) as first:
        answer = await first.run("sleep 300", background=True, persist_on_release=True)
        id, pid = answer["session_id"], answer["pid"]
    receipt = tmp_path / "receipts" / f"{id}.json"
    content = json.loads(receipt.read_bytes())
    content["detached"]["started"] += 1
    receipt.write_text(json.dumps(content), encoding="utf-8")
    async with Hermes(tmp_path) as second:
        assert (await second.act("poll", id))["completion_reason"] == "lost"
        assert (await second.act("kill", id))["status"] == "already_exited"
    assert there(pid)
    os.kill(pid, signal.SIGKILL)


async def test_receipts_are_private_redacted_and_say_what_was_lost(tmp_path: Path) -> None:
    async with Hermes(tmp_path) as first:
        id = await first.start("echo hunter2")
        await first.act("wait", id)
    [receipt] = (tmp_path / "receipts").glob("*.json")
    assert receipt.stat().st_mode & 0o777 == 0o600
    assert "hunter2" not in receipt.read_text(encoding="utf-8")
    async with Hermes(tmp_path) as second:
        answer = await second.act("wait", id)
        assert (answer["status"], answer["output"]) == ("exited", "***\n")
        assert (await second.act("poll", id, session=TWO))["status"] == "not_found"


async def test_an_end_that_nobody_could_be_told_is_told_when_the_session_is_opened_again(
    tmp_path: Path,
) -> None:
    async with Hermes(tmp_path) as first:
        id = await first.start("sleep 300", notify=True)
        await first.close(ONE)
    assert first.told == []
    async with Hermes(tmp_path) as second:
        await second.jobs.recover(ONE)
        [text] = await second.next()
        assert f"{id} was ended because its session was closed" in text
        assert (await second.act("poll", id))["termination_source"] == "session.close"
    async with Hermes(tmp_path) as third:
        await third.jobs.recover(ONE)
        await third.start("true", notify=True)
        assert id not in str(await third.next())


async def test_the_end_is_told_if_the_call_that_killed_it_is_cut_off(hermes: Hermes) -> None:
    id = await hermes.start("trap '' TERM; echo READY; while :; do sleep 1; done", notify=True)
    job = await hermes.jobs.find(ONE, id)
    assert job is not None
    with anyio.fail_after(20):
        while not job.output.total:
            await anyio.lowlevel.checkpoint()
    async with anyio.create_task_group() as group:
        group.start_soon(hermes.act, "kill", id)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    [text] = await hermes.next()
    assert f"{id} has ended, exit code -15" in text


async def test_an_end_that_became_known_before_its_message_went_out_is_not_told(
    hermes: Hermes,
) -> None:
    first = await hermes.start("true", notify=True)
    await hermes.next()
    second = await hermes.start("true", notify=True)
    job = await hermes.jobs.find(ONE, second)
    assert job is not None
    await job.done.wait()
    await hermes.act("wait", second)
    third = await hermes.start("true", notify=True)
    text = (await hermes.next(2))[1]
    assert third in text
    assert second not in text
    assert first not in text


async def test_what_was_killed_is_not_lost_to_a_later_hermes(tmp_path: Path) -> None:
    async with Hermes(tmp_path) as first:
        id = await first.start("sleep 300", persist_on_release=True, notify=True)
        assert (await first.act("kill", id))["termination_source"] == "process.kill"
    async with Hermes(tmp_path) as second:
        await second.jobs.recover(ONE)
        polled = await second.act("poll", id)
        assert (polled["completion_reason"], polled["exit_code"]) == ("killed", -15)
        last = await second.start("true", notify=True)
        [text] = await second.next()
        assert last in text
        assert id not in text


async def test_lines_that_come_soon_after_one_another_are_all_told_in_time(
    hermes: Hermes,
) -> None:
    id = await hermes.start("echo READY 1; read x; echo READY 2; read x", notify=["READY"])
    assert "READY 1" in (await hermes.next())[0]
    await hermes.act("submit", id, data="")
    with anyio.fail_after(30):
        assert "READY 2" in (await hermes.next(2))[1]
    assert (await hermes.act("poll", id))["status"] == "running"
