"""When messages are on the disk, and what is said about it."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from engine.store.files.store_config import FlushDiskType
from engine.store.log.put_message_result import PutMessageStatus
from tests.engine.store.store_world import StoreWorld, small_config, store_message


@pytest.fixture
def world():
    world = StoreWorld(small_config(flush_disk_type=FlushDiskType.SYNC_FLUSH))
    world.start()
    return world


async def put_and_wait(world, body):
    result = world.store.put_message(store_message(body))
    return await world.store.flushed(result.end_offset)


def test_what_was_reported_as_flushed_survives_a_power_cut(world):
    assert world.run(put_and_wait(world, b"durable")) is True
    world.do(lambda: world.store.put_message(store_message(b"not waited for")))
    world.cut_power()
    world.start_again()
    assert world.bodies() == [b"durable"]


def test_hundreds_who_wait_together_share_a_few_flushes(world):
    before = world.store.flush_service.flush_count

    async def many():
        return await asyncio.gather(*[put_and_wait(world, b"x") for _ in range(300)])

    assert all(world.run(many()))
    assert world.store.flush_service.flush_count - before <= 2


def test_who_comes_during_a_flush_is_served_by_the_next_one(world):
    async def scenario():
        first = asyncio.ensure_future(put_and_wait(world, b"first"))
        await asyncio.sleep(0.001)  # a lab flush takes 2 ms
        count = world.store.flush_service.flush_count
        late = [asyncio.ensure_future(put_and_wait(world, b"late")) for _ in range(10)]
        assert await first
        assert not any(task.done() for task in late)
        assert world.store.flush_service.flush_count == count + 1
        assert all(await asyncio.gather(*late))
        return world.store.flush_service.flush_count - count

    assert world.run(scenario()) == 2


def test_what_is_durable_already_needs_no_waiting(world):
    world.run(put_and_wait(world, b"x"))

    async def scenario():
        return world.store.flushed(world.store.commit_log.flushed_offset).done()

    assert world.run(scenario())


def test_one_who_gives_up_does_not_disturb_the_others(world):
    async def scenario():
        tasks = [asyncio.ensure_future(put_and_wait(world, b"x")) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, cancelled, last = world.run(scenario())
    assert (first, last) == (True, True)
    assert isinstance(cancelled, asyncio.CancelledError)


def test_a_disk_slower_than_the_timeout_answers_false_in_time_and_goes_on(world):
    world.storage.flush_us = 8_000_000
    loop = world.world.loop

    async def scenario():
        start = loop.now_us
        answer = await put_and_wait(world, b"x")
        return answer, (loop.now_us - start) // 1000

    assert world.run(scenario()) == (False, 5_000)
    world.storage.flush_us = 2_000
    assert world.run(put_and_wait(world, b"y")) is True
    assert world.store.commit_log.flushed_offset == world.store.commit_log.max_offset


def test_zeros_in_properties_are_acknowledged_only_when_it_is_noted_that_they_are_on_the_disk(world):
    async def acknowledged(is_full=False):
        message = store_message(b"x", properties_string="NAME\x01" + "\0" * 2_000)
        result = world.store.put_message(message)
        if is_full:
            world.storage.capacity_bytes = world.storage.used_bytes
        return await world.store.flushed(result.end_offset)

    assert world.run(acknowledged())
    noted = world.disk.read_whole("abort")
    assert str(world.store.commit_log.max_offset).encode() in noted
    assert not world.run(acknowledged(is_full=True))
    assert world.disk.read_whole("abort") == noted
    world.storage.capacity_bytes *= 2
    assert world.run(acknowledged())
    assert world.store.refusal is None


def test_a_message_that_nobody_waits_for_is_flushed_within_milliseconds(world):
    world.put(b"x")
    world.world.run_for(30)
    assert world.store.commit_log.flushed_offset == world.store.commit_log.max_offset


def test_a_failed_flush_is_final_until_the_next_start(world):
    assert world.run(put_and_wait(world, b"kept"))
    world.storage.flush_error = "input/output error"
    assert world.run(put_and_wait(world, b"in doubt")) is False
    world.storage.flush_error = None
    # The system would report success now, although the pages of the failed flush may be gone.
    assert world.put(b"refused").status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert "input/output error" in world.put(b"refused").remark

    async def ask():
        return await world.store.flushed(world.store.commit_log.max_offset)

    assert world.run(ask()) is False
    world.shutdown()
    assert not world.start_again().was_clean
    assert world.bodies()[0] == b"kept"
    assert world.put(b"accepted").is_ok


def test_async_flush_runs_when_enough_pages_are_dirty():
    world = StoreWorld(small_config())
    world.start()
    world.put(b"x" * 20_000)
    world.world.run_for(600)
    assert world.store.commit_log.flushed_offset == world.store.commit_log.max_offset


def test_async_flush_leaves_a_few_dirty_pages_for_ten_seconds():
    world = StoreWorld(small_config())
    world.start()
    world.put(b"x")
    world.world.run_for(9_000)
    assert world.store.commit_log.flushed_offset == 0
    world.world.run_for(2_000)
    assert world.store.commit_log.flushed_offset == world.store.commit_log.max_offset


def test_shutdown_flushes_everything():
    world = StoreWorld(small_config())
    world.start()
    world.put(b"x", keys="k")
    world.shutdown()
    world.storage.cut_power(None)
    report = world.start_again()
    assert (report.was_clean, report.lines) == (True, [])
    assert world.bodies() == [b"x"]
    assert len(world.store.query_message("T", "k", 1, 0, 1 << 62).buffers) == 1


def test_the_checkpoint_follows_every_ten_seconds():
    world = StoreWorld(small_config())
    world.start()
    stored_ms = world.put(b"x", unique_key="U").store_timestamp
    world.world.run_for(25_000)
    times = [int.from_bytes(world.disk.read_whole("checkpoint")[at : at + 8], "big") for at in (0, 8, 16)]
    assert times == [stored_ms] * 3
    world.cut_power()
    report = world.start_again()
    assert report.messages_dispatched == 0
    assert world.bodies() == [b"x"]


def test_the_checkpoint_follows_sooner_when_much_came():
    world = StoreWorld(small_config(flush_consume_queue_thorough_bytes=10_000))
    world.start()
    for _ in range(20):
        world.put(b"x" * 1_000)
    world.world.run_for(2_500)
    world.cut_power()
    assert world.start_again().messages_dispatched == 0
    assert len(world.bodies()) == 20


def test_a_slow_disk_rests_between_checkpoints():
    world = StoreWorld(small_config(flush_consume_queue_thorough_bytes=1))
    world.start()
    world.storage.flush_us = 500_000
    recorded_ms = []

    async def note():
        recorded_ms.append(world.world.loop.now_us // 1_000)

    world.store.before_recovery_point = note
    for _ in range(30):
        world.put(b"x")
        world.world.run_for(500)
    gaps_ms = [later - earlier for earlier, later in pairwise(recorded_ms)]
    assert gaps_ms == [4_000] * 3, "a second of flushing, three of rest; not one of each, and not ten"


def test_a_full_disk_that_has_room_again_takes_messages_again():
    world = StoreWorld(small_config())
    world.start()
    world.put(b"x")
    world.storage.occupied_bytes = world.storage.capacity_bytes
    world.world.run_for(25_000)
    assert not world.put(b"refused").is_ok
    world.storage.occupied_bytes = 0
    world.world.run_for(25_000)
    assert world.put(b"accepted").is_ok
    world.world.run_for(25_000)
    world.cut_power()
    assert world.start_again().messages_dispatched == 0, "the recovery point has followed"
    assert world.bodies() == [b"x", b"accepted"]
