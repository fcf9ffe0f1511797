"""No content is damage: whatever bytes body and properties have, and wherever in a sector they lie, the message is
served after every end of the process, and after a power cut if it had been flushed.
"""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.protocol.message.record_layout import PROPERTIES_LENGTH, fields_at
from engine.store.files.store_config import FlushDiskType
from engine.store.store_check import StoreCheck
from tests.engine.store.store_world import StoreWorld, small_config, store_batch, store_message
from tests.support.tiers import examples

SECTOR = 512
_BODY_LENGTH = fields_at("body_length")[0]

#: Runs of NULs of every length that a sector could have to do with, and anything else.
PIECES = st.one_of(
    st.integers(0, 3 * SECTOR).map(bytes),
    st.binary(max_size=40),
    st.integers(0, 2 * SECTOR).map(lambda size: b"p" * size),
)
CONTENT = st.lists(PIECES, max_size=4).map(b"".join)
MESSAGES = st.lists(st.tuples(CONTENT, CONTENT), min_size=1, max_size=5)
ENDS = ["clean exit", "kill", "kill, kill", "power cut", "power cut, torn", "copied", "point lost"]

Parts = tuple[bytes, bytes]


def parts_of(record: bytes) -> Parts:
    """Body and properties of a stored message (IPv4 hosts)."""
    body_at = _BODY_LENGTH.size
    topic_at = body_at + _BODY_LENGTH.unpack_from(record)[-1]
    properties_at = topic_at + 1 + record[topic_at] + PROPERTIES_LENGTH.size
    return record[body_at:topic_at], record[properties_at:]


def served(world: StoreWorld) -> list[Parts]:
    result = world.store.get_message("G", "T", 0, 0, 1_000, max_bytes=1 << 20)
    found, at = [], 0
    while at < len(result.data):
        size = int.from_bytes(result.data[at : at + 4], "big")
        found.append(parts_of(result.data[at : at + size]))
        at += size
    return found


def fill(world: StoreWorld, messages: list[Parts], is_batch: bool) -> None:
    made = [store_message(body, properties_string=properties) for body, properties in messages]
    if is_batch:
        assert world.do(lambda: world.store.put_batch(store_batch(made))).is_ok
        return
    for message in made:
        assert world.do(partial(world.store.put_message, message)).is_ok


def end_and_start(world: StoreWorld, how: str) -> None:
    if how == "clean exit":
        world.shutdown()
    elif how.startswith("power cut"):
        assert world.flush()
        world.cut_power(torn="torn" in how)
    else:
        world.kill()
    if how == "point lost":
        forget_recovery_point(world)
    elif how == "copied":
        # A slave gets the same bytes, cut anywhere, and its process is killed as well.
        data = world.disk.read_whole("commitlog/00000000000000000000")[: world.store.commit_log.max_offset]
        slave = StoreWorld(world.config)
        slave.start()
        replica = slave.store.follow()
        for start in range(0, len(data), 700):
            slave.do(partial(replica.append, start, data[start : start + 700]))
        before = served(slave)
        slave.kill()
        slave.start_again()
        assert served(slave) == before == served(world)
    world.start_again()
    if how == "kill, kill":
        world.kill()
        world.start_again()


@settings(max_examples=examples(quick=100, full=600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MESSAGES, st.booleans(), st.sampled_from(ENDS), st.sampled_from(list(FlushDiskType)))
@example([(b"", b"order-7" + bytes(1_017))], False, "kill", FlushDiskType.ASYNC_FLUSH)
@example([(b"", b"order-7" + bytes(1_017))], True, "power cut, torn", FlushDiskType.SYNC_FLUSH)
def test_any_content_is_served_before_and_after_every_end(messages, is_batch, how, flush_disk_type):
    world = StoreWorld(small_config(flush_disk_type=flush_disk_type))
    try:
        world.start()
        fill(world, messages, is_batch)
        assert served(world) == messages
        end_and_start(world, how)
        assert served(world) == messages
        assert world.put(b"next").queue_offset == len(messages)
        world.shutdown()
        check = StoreCheck(world.disk, world.runtime.clock)
        world.do(check.run)
        assert check.is_whole
    finally:
        world.world.close()


@pytest.mark.parametrize("shift", range(0, SECTOR, 37))
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_properties_of_zeros_are_served_after_kills_at_every_place_of_a_sector(shift, place):
    zeros = (b"body", b"order-7" + bytes(1_017))
    before = [] if place == "first" else [(b"x" * shift, b"")]
    messages = [*before, zeros, *([] if place == "last" else [(b"next", b"KEYS\x01k")])]
    world = StoreWorld()
    world.start()
    fill(world, messages, is_batch=False)
    world.kill()
    world.start_again()
    assert served(world) == messages


@settings(max_examples=examples(quick=60, full=400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MESSAGES, MESSAGES, st.booleans(), st.integers(0, 1_000), st.lists(st.sampled_from(ENDS[:5]), max_size=2))
def test_no_torn_message_is_served_after_a_power_cut_however_often_the_store_starts(
    flushed, unflushed, is_batch, seed, later_ends
):
    world = StoreWorld(seed=seed)
    try:
        world.start()
        fill(world, flushed, is_batch=False)
        assert world.flush()
        fill(world, unflushed, is_batch)
        world.cut_power(torn=True)
        world.start_again()
        found = served(world)
        assert found[: len(flushed)] == flushed
        rest = iter(unflushed)
        assert all(any(parts == put for put in rest) for parts in found[len(flushed) :]), "a torn message is served"
        for how in later_ends:
            end_and_start(world, how)
            assert served(world) == found
        world.shutdown()
        forget_recovery_point(world)
        world.start_again()
        assert served(world) == found
    finally:
        world.world.close()


def test_a_torn_message_before_whole_ones_stays_left_out_though_all_is_built_again():
    world = StoreWorld()
    world.start()
    torn = (b"torn", b"p" * 3 * SECTOR)
    fill(world, [(b"first", b""), torn, (b"last", b"")], is_batch=False)
    world.kill()
    world.overwrite(world.path_of_log(), 2 * SECTOR, bytes(SECTOR))
    world.storage.power_cuts += 1
    assert any("counts as torn" in line for line in world.start_again().lines)
    assert served(world) == [(b"first", b""), (b"last", b"")]
    for end in (world.kill, world.shutdown):
        end()
        forget_recovery_point(world)
        world.start_again()
        assert served(world) == [(b"first", b""), (b"last", b"")]


def forget_recovery_point(world: StoreWorld) -> None:
    for name in ("recoveryPoint.json", "recoveryPoint.json.bak"):
        world.disk.remove(f"config/{name}")
