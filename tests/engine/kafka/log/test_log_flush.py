"""When a partition's log reaches the disk: closed segments in the background, and all of it when somebody asks."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kafka.log.log_recovery import PartitionRecoveryPoint
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.kafka.partitions import FOLDER, StillClock, batch_of, opened_log, orders, records_of

SMALL = {"segment_bytes": 1_500, "index_interval_bytes": 200}


@pytest.fixture
def world():
    with LabMachines(seed=1) as machines:
        yield machines


def with_tasks(runtime, tasks):
    log = PartitionLog(runtime.disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL), tasks)
    log.load()
    return log


@given(st.integers(0, 200), st.integers(0, 1_000))
def test_closed_segments_survive_a_power_cut_and_of_the_open_one_nothing_need(count, seed):
    with LabMachines(seed=seed) as world:
        runtime = world.node("broker")

        async def work():
            log = with_tasks(runtime, BackgroundTasks("kafka"))
            for first in range(count):
                log.append(batch_of(1, first))
            await asyncio.sleep(1)
            return log

        log = runtime.run(work())
        closed_end = log.segments[-1].base_offset
        world.crash("broker", keep_page_cache=False)
        again = opened_log(world.restart("broker").disk, **SMALL)
        assert closed_end <= again.log_end_offset <= count
        assert records_of(again) == orders(again.log_end_offset)


def test_segments_that_close_during_a_flush_are_flushed_by_the_same_task(world):
    runtime = world.node("broker")
    tasks = BackgroundTasks("kafka")

    async def work():
        log = with_tasks(runtime, tasks)
        while len(log.segments) < 5:
            log.append(batch_of(1, log.log_end_offset))
        running = tasks.running
        await asyncio.sleep(1)
        return running, log.segments[-1].base_offset

    running, closed_end = runtime.run(work())
    assert running == (f"flush {FOLDER}",)
    assert PartitionRecoveryPoint.read(runtime.disk, FOLDER) == PartitionRecoveryPoint(closed_end, is_clean=False)


def test_a_flush_during_which_the_log_is_cut_does_not_vouch_for_what_follows_the_cut(world):
    runtime = world.node("broker")

    async def work():
        log = with_tasks(runtime, None)
        for first in range(40):
            log.append(batch_of(1, first))
        flush = asyncio.create_task(log.flush())
        await asyncio.sleep(0)
        log.truncate_to(5)
        while log.log_end_offset < 40:
            log.append(batch_of(1, log.log_end_offset))
        await flush

    runtime.run(work())
    assert PartitionRecoveryPoint.read(runtime.disk, FOLDER).offset <= 5


def test_a_closed_segment_that_could_not_be_flushed_is_flushed_with_the_next(world, caplog):
    runtime = world.node("broker")

    async def work():
        log = with_tasks(runtime, BackgroundTasks("kafka"))
        for segments, error in ((2, "the disk is broken"), (3, None)):
            runtime.disk.storage.flush_error = error
            while len(log.segments) < segments:
                log.append(batch_of(1, log.log_end_offset))
            await asyncio.sleep(1)
        return log.segments[-1].base_offset

    closed_end = runtime.run(work())
    assert "closed segments are not flushed" in caplog.text
    assert PartitionRecoveryPoint.read(runtime.disk, FOLDER).offset == closed_end


def test_what_recovery_has_checked_is_not_flushed_and_is_checked_again(world):
    disk = world.node("broker").disk
    log = opened_log(disk, **SMALL)
    for first in range(0, 30, 5):
        log.append(batch_of(5, first))
    log.close(is_clean=False)
    before = PartitionLog(disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    assert before.load().batches_checked == 6
    assert PartitionRecoveryPoint.read(disk, FOLDER) == PartitionRecoveryPoint(0, is_clean=False)
    before.close(is_clean=False)
    world.crash("broker", keep_page_cache=False)
    again = PartitionLog(world.restart("broker").disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    again.load()
    assert records_of(again) == orders(again.log_end_offset)
    assert again.log_end_offset < 30


def test_a_flush_and_the_retention_may_meet(world):
    runtime = world.node("broker")
    clock = StillClock()
    log = opened_log(runtime.disk, clock, retention_ms=10_000, **SMALL)
    for first in range(0, 200, 5):
        log.append(batch_of(5, first))
    clock.time_ms += 1_000_000

    async def work():
        flush = asyncio.create_task(log.flush())
        await asyncio.sleep(0.007)  # the first segment has been flushed
        assert len(log.delete_old()) > 1
        await flush

    runtime.run(work())
    world.crash("broker", keep_page_cache=False)
    again = opened_log(world.restart("broker").disk, **SMALL)
    assert (again.log_start_offset, again.log_end_offset) == (log.log_start_offset, 200)
