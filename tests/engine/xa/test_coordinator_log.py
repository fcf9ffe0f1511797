"""The coordinator's log: what is read back after a crash, whatever of it reached the disk."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.runtime.lab.lab_runtime import LabMachines
from engine.xa.coordinator_log import LOG_PATH, CoordinatorLog
from engine.xa.errors import LogFull

BYTES = 4_096


@pytest.fixture
def world():
    with LabMachines(seed=1) as world:
        yield world


def opened(world: LabMachines, file_bytes: int = BYTES) -> CoordinatorLog:
    return CoordinatorLog(world.node("TC").disk, file_bytes)


def record(number: int) -> dict[str, object]:
    return {"kind": "begun", "xid": f"TC-1-{number}", "key": "转账"}


def test_records_are_read_back_in_their_order(world):
    log = opened(world)
    for number in range(3):
        log.append(record(number))
    log.close()
    assert opened(world).records_read == [record(number) for number in range(3)]


def test_a_power_cut_takes_what_was_not_flushed_and_nothing_else(world):
    async def story() -> None:
        log = opened(world)
        log.append(record(0))
        await log.flush()
        log.append(record(1))
        assert log.flushed < log.end

    world.node("TC").run(story())
    world.crash("TC", keep_page_cache=False)
    world.restart("TC")
    assert opened(world).records_read == [record(0)]


@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 8), cut=st.integers(0, 600), junk=st.binary(max_size=40))
def test_a_log_that_breaks_off_anywhere_yields_whole_records_from_its_beginning(count, cut, junk):
    with LabMachines(seed=1) as world:
        log = opened(world)
        for number in range(count):
            log.append(record(number))
        disk = world.node("TC").disk
        content = disk.read_whole(LOG_PATH)[: log.end]
        log.close()
        disk.write_whole(LOG_PATH, content[:cut] + junk)
        found = opened(world).records_read
        whole = content[:cut].count(b"\n")
        assert found[:whole] == [record(number) for number in range(count)][:whole]
        assert len(found) <= count


def test_a_rewritten_log_holds_only_what_it_was_given_and_goes_on_behind_it(world):
    log = opened(world)
    for number in range(5):
        log.append(record(number))
    log.rewrite([record(4)])
    assert log.flushed == log.end
    log.append(record(5))
    log.close()
    assert opened(world).records_read == [record(4), record(5)]


def test_a_full_log_refuses_and_keeps_what_it_has(world):
    log = opened(world, file_bytes=100)
    log.append(record(0))
    assert not log.has_room_for(record(1))
    with pytest.raises(LogFull, match="100 bytes"):
        log.append(record(1))
    log.close()
    assert opened(world, file_bytes=100).records_read == [record(0)]


def test_a_flush_that_runs_while_the_log_is_rewritten_does_no_harm(world):
    async def story() -> int:
        log = opened(world)
        log.append(record(0))
        flush = asyncio.create_task(log.flush())
        await asyncio.sleep(0)
        log.rewrite([record(1)])
        await flush
        return log.end - log.flushed

    assert world.node("TC").run(story()) == 0
