"""Messages found by a key or a unique id."""

from __future__ import annotations

import pytest

from engine.protocol.message.message_codec import decode_stored_message
from tests.engine.store.store_world import StoreWorld


@pytest.fixture
def world():
    world = StoreWorld()
    world.start()
    return world


def test_query_finds_by_unique_id_and_by_each_key_newest_first(world):
    first = world.put(b"1", keys="order-1 shared", unique_key="U1")
    world.world.run_for(5_000)
    second = world.put(b"2", keys="order-2 shared", unique_key="U2")
    world.put(b"3", topic="Other", keys="shared")

    def bodies(key, begin_ms=0, end_ms=1 << 62, count=32):
        result = world.store.query_message("T", key, count, begin_ms, end_ms)
        return [decode_stored_message(buffer).body for buffer in result.buffers]

    assert bodies("U1") == [b"1"]
    assert bodies("order-2") == [b"2"]
    assert bodies("shared") == [b"2", b"1"]
    assert bodies("shared", count=1) == [b"2"]
    assert bodies("shared", end_ms=first.store_timestamp) == [b"1"]
    assert bodies("shared", begin_ms=second.store_timestamp) == [b"2"]
    assert bodies("unknown") == []
    result = world.store.query_message("T", "shared", 32, 0, 1 << 62)
    assert result.last_update_timestamp == second.store_timestamp


def test_query_finds_every_message_of_a_key_among_newer_ones_that_share_its_hash(world):
    for number in range(40):
        world.put(b"%d" % number, keys="AaAa", unique_key=f"U{number}")
    for number in range(100):
        world.put(b"other", keys=("AaBB", "BBAa", "BBBB")[number % 3])
    found = world.store.query_message("T", "AaAa", 40, 0, 1 << 62).buffers
    assert [decode_stored_message(buffer).body for buffer in found] == [b"%d" % number for number in range(39, -1, -1)]


def test_query_by_unique_id_finds_its_message_among_newer_ones_with_it_as_key(world):
    world.put(b"asked", unique_key="U1")
    for _ in range(100):
        world.put(b"answer", keys="U1")
    [found] = world.store.query_message("T", "U1", 32, 0, 1 << 62, is_unique_id=True).buffers
    assert decode_stored_message(found).body == b"asked"
