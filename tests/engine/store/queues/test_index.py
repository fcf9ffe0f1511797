"""The index from keys to messages."""

from __future__ import annotations

import struct
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message_codec import decode_stored_message
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.mapping_pool import MappingPool
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.queues.index_key import IndexKeyHasher, index_key_hash
from engine.store.queues.index_service import IndexService
from tests.engine.store.store_world import StoreWorld, small_config


@settings(deadline=None)
@given(st.text(min_size=1, max_size=40), st.text(max_size=80))
def test_the_key_hash_is_the_absolute_of_javas_hash(topic, key):
    java = java_string_hash(f"{topic}#{key}")
    assert index_key_hash(topic, key) == (abs(java) if java != -(2**31) else 0)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("TU"), st.text("ab\uffff\U0001f600", min_size=1, max_size=3)), max_size=8))
def test_hashing_one_key_after_the_other_changes_nothing(keys):
    hasher = IndexKeyHasher()
    assert [hasher.hash_of(*key) for key in keys] == [index_key_hash(*key) for key in keys]


@pytest.mark.parametrize("start", ["k", "long-enough-for-the-fast-way-"])
def test_the_one_hash_without_an_absolute_becomes_zero(start):
    # Seven letters from "!" on, as digits to base 31, make any hash out of any beginning.
    rest = (2**31 - java_string_hash(f"T#{start}!!!!!!!")) % 2**32
    letters = []
    for _ in range(7):
        rest, digit = divmod(rest, 31)
        letters.append(chr(ord("!") + digit))
    key = start + "".join(reversed(letters))
    assert java_string_hash("T#" + key) == -(2**31)
    assert index_key_hash("T", key) == 0


@pytest.fixture
def service():
    with LabMachines() as world:
        runtime = world.node("broker-a")
        yield IndexService(runtime.disk, MappingPool(10), runtime.clock, 4, 30)


def request(offset, keys="", unique_key="", stored_ms=1_700_000_000_000, sys_flag=0, topic="T"):
    return DispatchRequest(topic, 0, 0, offset, 100, 0, stored_ms, sys_flag, keys, unique_key)


def find(service, key, begin_ms=0, end_ms=1 << 62, count=100, topic="T"):
    return list(islice(service.find(topic, key, begin_ms, end_ms), count))


def test_keys_that_share_a_slot_are_distinguished(service):
    service.put([request(number * 100, keys=f"k{number}") for number in range(29)])
    assert len(service.files) == 1
    for number in range(29):
        assert find(service, f"k{number}") == [number * 100]
    assert find(service, "k29") == []
    assert find(service, "k1", topic="Other") == []


def test_a_full_file_is_followed_by_another_and_both_are_searched_newest_first(service):
    service.put([request(number, keys="same", unique_key=f"U{number}") for number in range(50)])
    assert len(service.files) == 4
    assert [file.index_count for file in service.files] == [30, 30, 30, 14]
    assert find(service, "same") == list(range(49, -1, -1))
    assert find(service, "same", count=35) == list(range(49, 14, -1))
    assert [file.name for file in service.files] == sorted({file.name for file in service.files})


def test_times_limit_the_search_to_the_second(service):
    for number in range(10):
        service.put([request(number, keys="k", stored_ms=1_700_000_000_000 + number * 1_000)])
    assert find(service, "k", 1_700_000_002_000, 1_700_000_004_999) == [4, 3, 2]
    assert find(service, "k", 1_700_000_020_000, 1_700_000_030_000) == []


_START_MS = 1_700_000_000_000


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.integers(-40_000, 40_000), min_size=1, max_size=70),
    st.integers(-50_000, 50_000),
    st.integers(0, 30_000),
    st.booleans(),
)
def test_a_query_by_time_finds_every_message_however_the_clock_jumped(steps_ms, begin_ms, length_ms, is_reopened):
    with LabMachines() as world:
        runtime = world.node("broker-a")
        service = IndexService(runtime.disk, MappingPool(10), runtime.clock, 4, 30)
        for number, ms in enumerate(steps_ms):
            service.put([request(number, keys="k", stored_ms=_START_MS + ms)])
        if is_reopened:
            service.flush_now()
            durable = {file.name: file.index_count for file in service.files}
            service.close()
            service = IndexService(runtime.disk, MappingPool(10), runtime.clock, 4, 30)
            assert service.load(durable, True, 0) == []
        found = find(service, "k", _START_MS + begin_ms, _START_MS + begin_ms + length_ms)
        wanted = [number for number, ms in enumerate(steps_ms) if begin_ms <= ms <= begin_ms + length_ms]
        assert {*wanted} <= {*found}
        if steps_ms == sorted(steps_ms):  # then no other second is taken for a wanted one
            assert all(begin_ms - 1_000 < steps_ms[number] < begin_ms + length_ms + 1_000 for number in found)


def test_rolled_back_messages_are_not_indexed_and_repeated_ones_once(service):
    service.put([request(0, keys="k"), request(100, keys="k", sys_flag=0xC)])
    service.put([request(0, keys="k"), request(100, keys="k"), request(200, keys="k  k2")])
    assert find(service, "k") == [200, 0]
    assert find(service, "k2") == [200]


def test_the_file_has_rocketmqs_layout(service):
    stored_ms = 1_700_000_000_000
    service.put([request(500, unique_key="U", stored_ms=stored_ms), request(600, "k", stored_ms=stored_ms + 2_500)])
    service.flush_now()
    [file] = service.files
    data = service._disk.read_whole(file.path)
    assert len(data) == 40 + 4 * 4 + 30 * 20
    header = struct.unpack_from(">qqqqii", data)
    slots = {index_key_hash("T", "U") % 4, index_key_hash("T", "k") % 4}
    assert header == (stored_ms, stored_ms + 2_500, 500, 600, len(slots), 3)
    key_hash, offset, seconds, previous = struct.unpack_from(">iqii", data, 40 + 16 + 2 * 20)
    assert (key_hash, offset, seconds) == (index_key_hash("T", "k"), 600, 2)
    assert previous == (1 if len(slots) == 1 else 0)
    assert struct.unpack_from(">i", data, 40 + 4 * (index_key_hash("T", "k") % 4))[0] == 2
    assert len(file.name) == 17


def test_a_broken_chain_does_not_lead_in_circles(service):
    service.put([request(number, keys="k") for number in range(5)])
    service.flush_now()
    [file] = service.files
    path = file.path
    data = bytearray(service._disk.read_whole(path))
    struct.pack_into(">i", data, 40 + 16 + 3 * 20 + 16, 5)  # entry 3 points to the newer entry 5
    file.close()
    service._disk.write_whole(path, bytes(data))
    assert find(service, "k") == [4, 3, 2]


def test_a_store_without_index_stores_and_finds_nothing_by_key():
    world = StoreWorld(small_config(message_index_enable=False))
    world.start()
    world.put(b"x", keys="k")
    assert world.store.query_message("T", "k", 32, 0, 1 << 62).buffers == []
    world.shutdown()
    assert not world.disk.exists("index")
    world.config = small_config()
    world.start_again()
    [record] = world.store.query_message("T", "k", 32, 0, 1 << 62).buffers
    assert decode_stored_message(record).body == b"x"
