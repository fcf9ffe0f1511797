"""Finding whole messages among garbage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.protocol.message.message_codec import encode_stored_parts
from engine.protocol.message.record_layout import MESSAGE_MAGIC, MESSAGE_MAGIC_BYTES
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.mapped_file_queue import BLOCK_SIZE_BYTES, MappedFileQueue
from engine.store.files.mapping_pool import MappingPool
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.commit_log_scanner import CommitLogScanner
from tests.support.tiers import examples

DELAYS = MessageStoreConfig().delay_levels_ms


def record(offset, body=b"body", topic=b"T", properties=b"KEYS\x01k", queue_offset=0):
    return encode_stored_parts(
        topic=topic,
        body=body,
        properties=properties,
        queue_id=0,
        flag=0,
        queue_offset=queue_offset,
        physical_offset=offset,
        sys_flag=0,
        born_timestamp=1,
        born_host=bytes(8),
        store_timestamp=2,
        store_host=bytes(8),
        reconsume_times=0,
        prepared_transaction_offset=0,
    )


def scan(data, file_size=None, quiet_end=None, torn_from=None):
    with LabMachines() as world:
        disk = world.node("broker-a").disk
        disk.write_whole("commitlog/00000000000000000000", data)
        files = MappedFileQueue(disk, MappingPool(5), "commitlog", file_size or len(data))
        files.load()
        scanner = CommitLogScanner(files, DELAYS, quiet_end, torn_from)
        return [request.commit_log_offset for request in scanner.scan(0)], scanner


def test_the_magic_is_the_one_of_the_codec():
    assert int.from_bytes(MESSAGE_MAGIC_BYTES, "big", signed=True) == MESSAGE_MAGIC


@pytest.mark.parametrize("shift", range(-12, 13))
def test_a_message_is_found_behind_damage_wherever_a_block_of_the_search_ends(shift):
    offset = BLOCK_SIZE_BYTES + shift
    found, scanner = scan(bytes(offset) + record(offset) + bytes(1_000))
    assert found == [offset]
    assert scanner.damaged_ranges == [(0, offset)]
    assert scanner.end_offset == offset + len(record(offset))


def test_a_copy_of_a_message_at_another_place_is_no_message():
    data = record(0)
    found, _ = scan(data + b"\0" * 10 + record(7) + bytes(100))
    assert found == [0]


def test_a_message_inside_the_body_of_a_whole_message_is_not_taken_out():
    inner_at = 88
    inner = record(inner_at)
    found, _ = scan(record(0, body=inner) + bytes(100))
    assert found == [0]


def test_zeros_end_the_log_after_a_normal_exit_but_not_after_a_crash():
    first = record(0)
    second_at = len(first) + 500
    data = first + bytes(500) + record(second_at) + bytes(100)
    assert scan(data, quiet_end=len(first))[0] == [0]
    assert scan(data, quiet_end=None)[0] == [0, second_at]
    assert scan(data, quiet_end=second_at)[0] == [0, second_at]


@pytest.mark.parametrize(
    "properties",
    [b"NAME\x01value\0", b"NAME\x01" + b"v" * 600 + b"\0" * 20, b"NAME\x01\0\0\0\x02KEYS\x01k"],
)
def test_a_zero_in_a_property_is_no_damage(properties):
    assert scan(record(0, properties=properties) + bytes(100))[0] == [0]


@settings(deadline=None)
@given(st.integers(0, 600), st.integers(600, 3_000), st.data())
def test_a_lost_sector_of_the_properties_is_damage_only_where_a_machine_crash_may_have_lost_it(
    body_bytes, properties_bytes, chance
):
    first = record(0, body=b"x" * body_bytes)
    data = bytearray(first + record(len(first), properties=b"v" * properties_bytes))
    sectors = range(0, len(data), 512)
    start = chance.draw(st.sampled_from([at for at in sectors if at >= len(data) - properties_bytes]))
    end = min(start + 512, len(data))
    data[start:end] = bytes(end - start)
    data += bytes(1_000)
    assert scan(bytes(data))[0] == [0, len(first)]
    found, scanner = scan(bytes(data), torn_from=0)
    assert (found, scanner.torn) == ([0], [len(first)])
    assert scan(bytes(data), torn_from=len(first) + 1)[0] == [0, len(first)]


def test_a_message_that_ends_with_zeros_is_whole_when_its_sector_holds_more():
    first = record(0, properties=b"NAME\x01" + bytes(20))
    assert scan(first + record(len(first)) + bytes(100), torn_from=0)[0] == [0, len(first)]
    assert scan(first + bytes(100), torn_from=0)[0] == []


@pytest.mark.parametrize("topic", [b"", b"a b", b"a/b", b"\xff\xfe", b"x" * 127 + b"."])
def test_an_illegal_topic_is_damage(topic):
    assert scan(record(0, topic=topic[:127]) + bytes(100))[0] == (
        [0] if topic[:127].isalpha() and topic.isascii() else []
    )


@settings(max_examples=examples(quick=60, full=300), deadline=None)
@given(st.binary(max_size=2_000), st.integers(0, 3))
def test_garbage_never_breaks_the_scanner(garbage, messages):
    data = b""
    for _ in range(messages):
        data += record(len(data))
    whole_end = len(data)
    found, scanner = scan(data + garbage + bytes(200))
    assert found == [number * (whole_end // messages) for number in range(messages)] if messages else not found
    assert scanner.end_offset == whole_end


@settings(max_examples=examples(quick=40, full=200), deadline=None)
@given(st.data())
def test_changed_bytes_cost_only_the_messages_they_are_in(data):
    records = []
    offset = 0
    for number in range(6):
        records.append(record(offset, body=b"b" * 20, queue_offset=number if number * 91 <= offset else 0))
        offset += len(records[-1])
    log = bytearray(b"".join(records))
    position = data.draw(st.integers(0, len(log) - 1))
    log[position] ^= data.draw(st.integers(1, 255))
    found, _ = scan(bytes(log) + bytes(300))
    starts = [sum(map(len, records[:number])) for number in range(6)]
    hit = max(start for start in starts if start <= position)
    assert [start for start in starts if start != hit] == [start for start in found if start != hit]
