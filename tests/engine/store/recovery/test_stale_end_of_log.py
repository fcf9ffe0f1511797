"""What an earlier use of the file has left after the end of the log: it takes no acknowledged message with it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.protocol.message.message_codec import encode_stored_parts
from engine.store.message_store import MessageStore
from engine.store.recovery.store_recovery import KnownBounds
from engine.store.store_check import StoreCheck
from tests.engine.store.recovered_world import assert_goes_on, assert_holds, world_with
from tests.engine.store.store_world import NODE, StoreWorld
from tests.support.tiers import examples

QUEUES = 3
COUNT = 420
#: (queue id, queue offset, age in ms) of a stale message; the topic is T, or one that nobody knows.
STALE = st.tuples(st.integers(0, QUEUES - 1), st.integers(0, 200), st.integers(-5, 100_000), st.sampled_from("TTTU"))


def stale_record(place: int, queue_id: int, queue_offset: int, stored_ms: int, topic: str = "T") -> bytes:
    return encode_stored_parts(
        topic=topic.encode(),
        body=b"stale",
        properties=b"KEYS\x01stale",
        queue_id=queue_id,
        flag=0,
        queue_offset=queue_offset,
        physical_offset=place,
        sys_flag=0,
        born_timestamp=stored_ms,
        born_host=bytes(8),
        store_timestamp=stored_ms,
        store_host=bytes(8),
        reconsume_times=0,
        prepared_transaction_offset=0,
    )


def leave(world: StoreWorld, stale: list[tuple[int, int, int, str]]) -> int:
    """Kill the process, and write ``stale`` after the end of the log; where that is."""
    log = world.store.commit_log
    place = end = log.max_offset
    now_ms, start = log.last_store_timestamp, log.files.find(end).start_offset
    world.kill()
    for queue_id, queue_offset, age_ms, topic in stale:
        record = stale_record(place, queue_id, queue_offset, now_ms - age_ms, topic)
        world.overwrite(world.path_of_log(), place - start, record)
        place += len(record)
    return end


def is_whole(world: StoreWorld) -> bool:
    check = StoreCheck(world.disk, world.runtime.clock)
    world.do(check.run)
    return check.is_whole


@pytest.mark.parametrize("first", [0, 5, 104])
@pytest.mark.parametrize("is_point_lost", [False, True])
def test_stale_messages_with_old_offsets_end_the_log_and_hide_nothing(first, is_point_lost):
    world = world_with(COUNT, queues=QUEUES)
    end = leave(world, [(number % QUEUES, first + number // QUEUES, 1_000, "T") for number in range(35)])
    if is_point_lost:
        for name in ("recoveryPoint.json", "recoveryPoint.json.bak"):
            world.disk.remove(f"config/{name}")
    report = world.start_again()
    assert_holds(world, list(range(COUNT)), queues=QUEUES)
    assert report.commit_log_max_offset == end
    assert "they are left from an earlier use of the file" in "\n".join(report.lines)
    assert_goes_on(world)
    world.shutdown()
    assert is_whole(world)


@pytest.mark.parametrize("bit", range(8))
def test_a_stale_message_that_is_one_bit_away_from_its_place_is_not_put_there(bit):
    world = world_with(COUNT, queues=QUEUES)
    end = leave(world, [(0, COUNT // QUEUES ^ 1 << bit, 1_000, "T")])
    report = world.start_again()
    assert_holds(world, list(range(COUNT)), queues=QUEUES)
    assert (report.messages_put_right, report.commit_log_max_offset) == (0, end)


@settings(max_examples=examples(quick=60, full=500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 60),
    st.lists(STALE, max_size=12),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
)
def test_whatever_stale_messages_follow_all_acknowledged_ones_are_served(count, stale, run, is_covered, is_lost):
    world = world_with(count, queues=QUEUES)
    try:
        # Stale messages of one queue follow each other, as they were written.
        stale = [(queue, offset + step, age, topic) for queue, offset, age, topic in stale for step in range(run + 1)]
        if is_covered:
            world.world.run_for(21_000)
        leave(world, stale)
        if is_lost:
            world.disk.remove("config")
            world.disk.remove("consumequeue")
        world.start_again()
        for restart in (world.kill, world.shutdown, None):
            for queue_id in range(QUEUES):
                mine = [number for number in range(count) if number % QUEUES == queue_id]
                found = {message.queue_offset: message.body for message in world.messages(queue_id=queue_id)}
                bodies = [found.get(number // QUEUES, b"").rstrip(b"x") for number in mine]
                assert bodies == [b"message %d " % number for number in mine]
            if restart is not None:
                restart()
                world.start_again()
        world.shutdown()
        assert is_whole(world)
    finally:
        world.world.close()


@pytest.mark.parametrize("is_clean", [True, False])
def test_what_a_group_never_committed_is_cleared_on_the_disk_too(is_clean):
    world = StoreWorld()
    world.start()
    world.put(b"committed")
    end = world.store.commit_log.max_offset
    world.put(b"never committed" * 20)
    world.flush()
    world.shutdown() if is_clean else world.kill()
    world.runtime = world.world.restart(NODE)
    world.store = MessageStore(world.runtime, world.config)
    report = world.do(lambda: world.store.load(KnownBounds(end_offset=end)))
    assert report.was_clean is is_clean
    world.cut_power()
    world.runtime = world.world.restart(NODE)
    content = world.disk.read_whole(world.path_of_log())
    assert content[:end].strip(b"\0")
    assert not content[end:].strip(b"\0")
