"""A message that cannot be vouched for does not leave the store; the others do, and the damage is said once."""

from __future__ import annotations

import logging

import pytest

from engine.protocol.message.message_codec import decode_messages
from engine.store.files.consume_queue_entry import CONSUME_QUEUE_ENTRY, ENTRY_SIZE_BYTES
from engine.store.log.damaged_records import LINES_MAX, PLACES_MAX, DamagedRecord, DamagedRecords
from engine.store.log.record_check import RecordDamage
from engine.store.reading.get_message_result import GetMessageStatus
from tests.engine.store.recovered_world import body_of, world_with
from tests.engine.store.store_world import StoreWorld

#: Of a stored message with IPv4 hosts.
_BODY_LENGTH_AT, _BODY_AT = 84, 88


def _damaged_after_clean_exit(count: int, damage, *, number: int | None = None, **settings) -> StoreWorld:
    """A store of ``count`` messages in one queue whose log ``damage(world, path, position)`` changes at message
    ``number`` (by default one of an old file) between a clean exit and the next start.
    """
    world = world_with(count, queues=1, **settings)
    at = world.store.consume_queue_entries("T", 0, count // 4 if number is None else number, 1)[0][0]
    file = world.store.commit_log.files.find(at)
    path, position = file.path, at - file.start_offset
    world.shutdown()
    damage(world, path, position)
    assert world.start_again().was_clean
    return world


def _numbers(world: StoreWorld, **place) -> list[int]:
    messages = world.messages(**place)
    for message in messages:
        assert message.body == body_of(message.queue_offset)
    return [message.queue_offset for message in messages]


def test_one_flipped_bit_of_a_body_hides_that_message_and_no_other(caplog):
    with caplog.at_level(logging.ERROR, "glassmq.store"):
        world = _damaged_after_clean_exit(
            200, lambda w, path, at: w.overwrite(path, at + _BODY_AT + 3, b"\xff"), mapped_file_size_commit_log=8192
        )
        for _ in range(3):
            assert _numbers(world) == [number for number in range(200) if number != 50]
    assert [record.damage for record in world.store.commit_log.damaged_records.newest(9)] == [RecordDamage.BODY]
    lines = [line for record in caplog.records if "is not sent" in (line := record.getMessage())]
    assert len(lines) == 1, "said once"
    assert "topic T, queue 0, offset 50" in lines[0]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (0, RecordDamage.NO_MESSAGE),
        (4, RecordDamage.NO_MESSAGE),
        (12, RecordDamage.ANOTHER_MESSAGE),
        (28, RecordDamage.NO_MESSAGE),
        (_BODY_LENGTH_AT + 3, RecordDamage.LENGTHS),
        (_BODY_AT, RecordDamage.BODY),
        (_BODY_AT + 40, RecordDamage.LENGTHS),  # the length of the topic
        (_BODY_AT + 41, RecordDamage.ANOTHER_MESSAGE),  # the topic
        (_BODY_AT + 43, RecordDamage.LENGTHS),  # the length of the properties
    ],
)
def test_damage_to_each_field_that_can_be_checked_is_seen(at, expected):
    world = _damaged_after_clean_exit(
        80, lambda w, path, position: w.flip(path, position + at), mapped_file_size_commit_log=4096
    )
    assert _numbers(world) == [number for number in range(80) if number != 20]
    assert [record.damage for record in world.store.commit_log.damaged_records.newest(9)] == [expected]


def test_four_kibibytes_of_zeros_hide_what_they_touch_and_nothing_behind():
    zeros = 4096
    world = _damaged_after_clean_exit(
        400, lambda w, path, at: w.overwrite(path, at + 30, bytes(zeros)), mapped_file_size_commit_log=32_768
    )
    size = world.store.consume_queue_entries("T", 0, 100, 1)[0][1]
    found = _numbers(world)
    hidden = [number for number in range(400) if number not in found]
    assert hidden == list(range(100, 100 + len(hidden)))
    assert zeros // size <= len(hidden) <= zeros // size + 2
    assert len(world.store.commit_log.damaged_records) == len(hidden)


def test_a_truncated_old_file_hides_what_was_cut_off():
    world = _damaged_after_clean_exit(
        400, lambda w, path, at: w.truncate(path, at + 20), mapped_file_size_commit_log=16_384
    )
    found = _numbers(world)
    assert found[:100] == list(range(100))
    assert found[-200:] == list(range(200, 400))
    assert len(found) + len(world.store.commit_log.damaged_records) == 400


def test_a_pull_that_meets_only_damaged_messages_moves_on():
    world = world_with(60, queues=1)
    log = world.store.commit_log.files.files[0].file
    for offset, _, _ in world.store.consume_queue_entries("T", 0, 0, 40):
        log.write_at(offset + _BODY_AT, b"\0")
    first = world.store.get_message("G", "T", 0, 0, 32)
    assert (first.status, first.next_begin_offset, first.data) == (GetMessageStatus.NO_MATCHED_MESSAGE, 32, b"")
    second = world.store.get_message("G", "T", 0, 32, 32)
    assert (second.status, second.message_count, second.next_begin_offset) == (GetMessageStatus.FOUND, 20, 60)
    assert second.last_store_timestamp == decode_messages(second.data)[-1].store_timestamp


def test_damage_done_while_the_store_runs_is_seen_too():
    world = world_with(10, queues=1)
    assert _numbers(world) == list(range(10))
    offset = world.store.consume_queue_entries("T", 0, 4, 1)[0][0]
    world.store.commit_log.files.files[0].file.write_at(offset + _BODY_AT, b"\0")
    assert _numbers(world) == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_a_damaged_message_is_found_by_no_other_way():
    world = world_with(10, queues=1)
    offset = world.store.consume_queue_entries("T", 0, 4, 1)[0][0]
    world.store.commit_log.files.files[0].file.write_at(offset + _BODY_AT, b"\0")
    store = world.store
    assert store.commit_log.record_at(offset) is None
    assert store.message_at(offset) is None
    assert store.message_in_queue("T", 0, 4) is None
    assert store.query_message("T", "k4", 32, 0, 1 << 62).buffers == []
    assert len(store.commit_log.damaged_records) == 1


def test_a_place_where_no_message_begins_is_no_damage():
    world = world_with(3, queues=1)
    assert world.store.message_at(7) is None
    assert world.store.message_at(1 << 40) is None
    assert world.store.message_at(-1) is None
    assert len(world.store.commit_log.damaged_records) == 0


def test_messages_of_ipv6_hosts_are_vouched_for_as_well():
    world = StoreWorld()
    world.start()
    world.put(b"six", born_host="[2001:db8::1]:50000", store_host="[2001:db8::2]:10911")
    world.put(b"mixed", born_host="[2001:db8::1]:50000")
    world.put(b"mixed too", store_host="[2001:db8::2]:10911")
    assert world.bodies() == [b"six", b"mixed", b"mixed too"]


def test_a_property_may_hold_any_text():
    world = StoreWorld()
    world.start()
    world.put(properties_string="a\x01\0\0\x02b\x01中文\x02")
    assert world.messages()[0].properties == {"a": "\0\0", "b": "中文"}


def test_the_list_of_damage_is_bounded_and_so_is_what_it_writes(caplog):
    records = DamagedRecords()
    with caplog.at_level(logging.ERROR, "glassmq.store"):
        for place in range(PLACES_MAX + 10):
            records.note(DamagedRecord(place, RecordDamage.BODY))
    assert (len(records), records.is_full) == (PLACES_MAX, True)
    assert len(caplog.records) == LINES_MAX + 2
    records.forget_before(100)
    assert (len(records), records.found) == (PLACES_MAX - 100, PLACES_MAX)
    assert [record.commit_log_offset for record in records.newest(2)] == [PLACES_MAX - 1, PLACES_MAX - 2]


def test_without_the_crc_everything_else_is_still_checked():
    world = world_with(10, queues=1, body_bytes=5_000, check_crc_on_pull=False)
    log = world.store.commit_log.files.files[0].file
    places = [entry[0] for entry in world.store.consume_queue_entries("T", 0, 0, 10)]
    log.write_at(places[3] + _BODY_AT, b"\0")
    log.write_at(places[5] + _BODY_LENGTH_AT, b"\x10")
    result = world.store.get_message("G", "T", 0, 0, 32)
    assert (result.message_count, len(world.store.commit_log.damaged_records)) == (9, 1)


def test_a_size_below_nothing_makes_no_room_for_more_than_was_asked_for():
    world = world_with(60, queues=1, body_bytes=900)
    place, size, code = world.store.consume_queue_entries("T", 0, 1, 1)[0]
    _change_entry(world, 1, place, size - (1 << 31), code)
    found = world.store.get_message("G", "T", 0, 0, 4096, max_bytes=10_000)
    assert len(found.data) <= 10_000 + 2 * size  # what was mended comes on top
    assert _numbers_at_size(world, 900) == list(range(60))


def test_an_entry_rebuilt_at_the_end_of_a_pull_tells_the_time_of_its_message():
    world = world_with(12, queues=1)
    place, size, code = world.store.consume_queue_entries("T", 0, 11, 1)[0]
    _change_entry(world, 11, place, size + 1, code)
    found = world.store.get_message("G", "T", 0, 0, 32)
    assert found.message_count == 12
    assert found.last_store_timestamp == decode_messages(found.data)[-1].store_timestamp


def _change_entry(world: StoreWorld, queue_offset: int, *entry: int) -> None:
    queue = next(queue for _, _, queue in world.store.consume_queues())
    queue.files.write(queue_offset * ENTRY_SIZE_BYTES, CONSUME_QUEUE_ENTRY.pack(*entry))


def _numbers_at_size(world: StoreWorld, size: int) -> list[int]:
    messages = world.messages()
    assert all(message.body == body_of(message.queue_offset, size) for message in messages)
    return [message.queue_offset for message in messages]


def test_another_topic_in_the_middle_of_a_pull_is_seen_after_the_walk_as_well():
    world = _damaged_after_clean_exit(
        80, lambda w, path, at: w.overwrite(path, at + _BODY_AT + 41, b"U"), mapped_file_size_commit_log=4096
    )
    world.world.run_for(10_000)
    assert world.store.check_service.walked_ms > 0
    assert _numbers(world) == [number for number in range(80) if number != 20]
