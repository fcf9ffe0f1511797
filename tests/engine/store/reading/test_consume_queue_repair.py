"""Reading through entries that do not fit the log: their messages are found, and the entries are made again."""

from __future__ import annotations

import logging

import pytest

from engine.broker.filters.expression_message_filter import TagMessageFilter
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.message.message_codec import decode_messages
from engine.store.files.consume_queue_entry import CONSUME_QUEUE_ENTRY, ENTRY_SIZE_BYTES
from engine.store.log.commit_log_scanner import CommitLogScanner
from engine.store.reading import consume_queue_repair
from engine.store.reading.consume_queue_repair import ConsumeQueueRepair
from tests.engine.store.recovered_world import assert_holds, body_of, world_with
from tests.engine.store.store_world import StoreWorld

TAIL_BITS = 8 * 8  # the tags code, which no reader compares


def stopped_and_damaged(damage, count: int = 240, queues: int = 2) -> StoreWorld:
    """A store whose queue 0 is damaged in a file that no start looks at."""
    world = world_with(count, queues=queues, body_bytes=20, mapped_file_size_consume_queue_entries=50)
    world.shutdown()
    damage(world)
    assert all("taken as empty" in line for line in world.start_again().lines)
    return world


def flip_bit(world: StoreWorld, path: str, bit: int) -> None:
    byte = world.disk.read_whole(path)[bit // 8]
    world.overwrite(path, bit // 8, bytes((byte ^ 0x80 >> bit % 8,)))


@pytest.mark.parametrize("offset", [0, 10, 49])
@pytest.mark.parametrize("bit", range(8 * ENTRY_SIZE_BYTES - TAIL_BITS))
def test_one_changed_bit_of_an_entry_hides_no_message(bit, offset):
    world = stopped_and_damaged(lambda world: flip_bit(world, world.path_of_queue(), offset * 160 + bit), 120, 1)
    assert_holds(world, list(range(120)), queues=1)
    assert world.store.entries_rebuilt == 1
    world.shutdown()
    world.start_again()
    assert_holds(world, list(range(120)), queues=1)
    assert world.store.entries_rebuilt == 0


def warnings(caplog):
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    "damage",
    [
        lambda world: world.overwrite(world.path_of_queue(), 0, bytes(1_000)),
        lambda world: world.overwrite(world.path_of_queue(), 7, bytes(601)),
        lambda world: world.overwrite(world.path_of_queue(), 0, b"\xff" * 1_000),
        lambda world: world.disk.write_whole(
            world.path_of_queue(), world.disk.read_whole(world.path_of_queue(queue_id=1))
        ),
        lambda world: world.disk.write_whole(world.path_of_queue(), world.disk.read_whole(world.path_of_queue(file=1))),
        lambda world: world.truncate(world.path_of_queue(), 333),
        lambda world: world.overwrite(world.path_of_queue(file=1), 0, CONSUME_QUEUE_ENTRY.pack(12_345, 100, 0)),
    ],
    ids=["zeros", "some zeros", "ones", "another queue", "another file", "cut", "elsewhere"],
)
def test_a_damaged_file_hides_no_message_and_is_said_once(damage, caplog):
    world = stopped_and_damaged(damage)
    with caplog.at_level(logging.WARNING, "glassmq.store"):
        assert_holds(world, list(range(240)))
        lines = len(warnings(caplog))
        assert 0 < lines <= 2
        assert "did not fit the commit log; rebuilt from it" in caplog.text
        assert_holds(world, list(range(240)))
        assert len(warnings(caplog)) == lines


def test_reading_backward_and_from_the_middle_finds_them_too():
    world = stopped_and_damaged(lambda world: world.overwrite(world.path_of_queue(), 0, bytes(1_000)))
    for offset in (49, 25, 24, 0):
        assert world.messages(offset=offset)[0].body == body_of(2 * offset, 20)
        assert world.store.message_in_queue("T", 0, offset).body == body_of(2 * offset, 20)
    assert len(world.messages()) == 120


def test_the_messages_of_a_deleted_topic_of_that_name_are_not_taken():
    world = world_with(100, queues=1)
    world.do(lambda: world.store.delete_topics(["T"]))
    for number in range(1_000, 1_100):
        world.put(body_of(number))
    world.shutdown()
    world.overwrite(world.path_of_queue(), 0, bytes(400))
    world.start_again()
    assert world.bodies() == [body_of(number) for number in range(1_000, 1_100)]


def test_a_long_search_takes_several_pulls_and_hides_nothing(monkeypatch):
    monkeypatch.setattr(consume_queue_repair, "_SLICE_MESSAGES", 10)
    world = world_with(0)
    for number in range(200):
        world.put(body_of(number), queue_id=0 if number % 50 == 49 else 1)
    queue = next(queue for topic, queue_id, queue in world.store.consume_queues() if (topic, queue_id) == ("T", 0))
    queue.files.write(ENTRY_SIZE_BYTES, bytes(ENTRY_SIZE_BYTES))
    bodies, offset, pulls = [], 0, 0
    while offset < 4:
        result = world.store.get_message("G", "T", 0, offset, 32)
        bodies += [result.data] * bool(result.message_count)
        offset = result.next_begin_offset
        pulls += 1
        assert pulls < 20
    assert pulls > 4
    assert world.bodies() == [body_of(number) for number in (49, 99, 149, 199)]


def test_a_message_that_alone_says_another_offset_is_put_right_when_it_is_read(caplog):
    world = world_with(200, queues=1, mapped_file_size_commit_log=8_192)
    place = world.store.consume_queue_entries("T", 0, 20, 1)[0][0]
    world.shutdown()
    world.overwrite(world.path_of_log(0), place + 27, b"\x15")
    assert world.start_again().lines == []
    assert_holds(world, list(range(200)), queues=1)
    assert f"the message at {place} said T/0 offset 21, but it belongs to offset 20; corrected" in caplog.text


def test_a_message_that_is_gone_is_looked_for_once(monkeypatch):
    world = world_with(40, queues=1, mapped_file_size_commit_log=4_096)
    place, size, _ = world.store.consume_queue_entries("T", 0, 5, 1)[0]
    world.shutdown()
    world.overwrite(world.path_of_log(0), place, bytes(size))
    world.start_again()
    begun = []
    begin = ConsumeQueueRepair._begin

    def counted(repair, queue, queue_offset):
        begun.append(queue_offset)
        return begin(repair, queue, queue_offset)

    monkeypatch.setattr(ConsumeQueueRepair, "_begin", counted)
    for _ in range(3):
        assert [message.queue_offset for message in world.messages()] == [*range(5), *range(6, 40)]
    assert begun == [5]


def test_a_reader_who_filters_by_tags_misses_none_of_what_entries_of_zeros_hide():
    world = world_with(0)
    for number in range(200):
        world.put(body_of(number), tags="a" if number % 2 else "b")
    world.shutdown()
    world.overwrite(world.path_of_queue(), 0, bytes(600))
    world.start_again()
    wanted = TagMessageFilter(build_subscription_data("T", "a"))
    result = world.store.get_message("G", "T", 0, 0, 32, wanted)
    assert [message.body for message in decode_messages(result.data)] == [body_of(number) for number in range(1, 64, 2)]


def test_a_hole_in_the_log_is_searched_once_for_all_its_messages(monkeypatch):
    world = world_with(400, queues=1, mapped_file_size_commit_log=16 * 1024)
    hole = world.store.commit_log.files.files[1]
    world.shutdown()
    world.overwrite(hole.path, 0, bytes(16 * 1024))
    world.start_again()
    searched: list[tuple[int, int]] = []
    scan_between = CommitLogScanner.scan_between

    def counted(scanner: CommitLogScanner, start: int, end: int):
        searched.append((start, end))
        return scan_between(scanner, start, end)

    monkeypatch.setattr(CommitLogScanner, "scan_between", counted)
    bodies = world.bodies()
    lost = 400 - len(bodies)
    assert lost > 50
    assert bodies == [body for number in range(400) if (body := body_of(number)) in bodies]
    assert world.store.commit_log.damaged_records.found == lost
    assert len(searched) == 1
