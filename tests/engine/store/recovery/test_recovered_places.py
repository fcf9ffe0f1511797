"""Starting on messages that say a wrong place: nothing but themselves may be lost by it."""

from __future__ import annotations

import pytest

from engine.protocol.message.record_layout import QUEUE_ID_POSITION, QUEUE_OFFSET_POSITION
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES
from tests.engine.store.recovered_world import assert_goes_on, assert_holds, body_of, world_with
from tests.engine.store.store_world import StoreWorld, small_config

POINTS = ("config/recoveryPoint.json", "config/recoveryPoint.json.bak")
SYS_FLAG_POSITION = 36
STORE_TIMESTAMP_POSITION = 56
TOPIC_POSITION = 88 + 40 + 1  # after the body and the length of the topic


def place_of(world: StoreWorld, number: int, queues: int) -> int:
    return world.store.consume_queue_entries("T", number % queues, number // queues, 1)[0][0]


def end(world: StoreWorld, how: str) -> None:
    """Set what is next to the log when it is read: nothing, the entries of a killed process, or all entries."""
    if how == "clean, no recovery point":
        world.shutdown()
    else:
        world.kill()
    for path in POINTS:
        world.disk.remove(path)
    if how == "no entries":
        world.disk.remove("consumequeue")


ENDS = ["killed", "clean, no recovery point", "no entries"]


def flip_bit(world: StoreWorld, position: int, bit: int) -> None:
    path = world.path_of_log()
    byte = world.disk.read_whole(path)[position + bit // 8]
    world.overwrite(path, position + bit // 8, bytes((byte ^ 0x80 >> bit % 8,)))


def served(world: StoreWorld, topic: str, queues: int) -> dict[tuple[int, int], bytes]:
    return {
        (queue_id, message.queue_offset): message.body
        for queue_id in range(queues)
        for message in world.messages(topic, queue_id)
    }


def put_all(count: int, queues: int) -> dict[tuple[int, int], bytes]:
    return {(number % queues, number // queues): body_of(number) for number in range(count)}


@pytest.mark.parametrize("how", ENDS)
def test_one_changed_bit_of_a_logical_offset_hides_no_message(how):
    world = world_with(200, queues=1)
    place = place_of(world, 150, 1)
    end(world, how)
    flip_bit(world, place + QUEUE_OFFSET_POSITION, 61)  # 150 becomes 146
    report = world.start_again()
    assert_holds(world, list(range(200)), queues=1)
    assert (report.messages_put_right, report.messages_left_out) == (1, 0)
    line = f"the message at {place} said T/0 offset 146, but it belongs to T/0 offset 150; corrected"
    assert line in "\n".join(report.lines)
    assert_goes_on(world)


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("number", [0, 1, 31, 32, 62, 63])
@pytest.mark.parametrize("field", ["logical offset", "queue id", "topic", "system flag"])
def test_any_changed_bit_of_a_place_costs_no_other_message_and_is_said(field, number, how):
    position, bits = {
        "logical offset": (QUEUE_OFFSET_POSITION, 64),
        "queue id": (QUEUE_ID_POSITION, 32),
        "topic": (TOPIC_POSITION, 8),
        "system flag": (SYS_FLAG_POSITION, 32),
    }[field]
    world = world_with(64, queues=2)
    place = place_of(world, number, 2)
    end(world, how)
    original = {path: world.disk.read_whole(path) for path in list(world.storage.files)}
    expected = put_all(64, 2)
    mine = number % 2, number // 2
    for bit in range(bits):
        for path in list(world.storage.files):
            world.disk.remove(path)
        for path, content in original.items():
            world.disk.write_whole(path, content)
        flip_bit(world, place + position, bit)
        report = world.start_again()
        found = served(world, "T", 2)
        missing = [place for place, body in expected.items() if found.get(place) != body]
        assert found.keys() <= expected.keys()
        is_ambiguous = field == "queue id" and how == "no entries" and bit == 31
        if is_ambiguous:  # two messages say the same place, and nothing is left to tell which of them is right
            assert {offset for _, offset in missing} <= {mine[1]}
        else:
            assert missing in ([], [mine]), f"bit {bit}"
        if missing:
            assert any(str(place) in line or "T/" in line for line in report.lines), f"bit {bit}"
        world.kill()


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("new", [0, 1, 2, 3, 40])
def test_a_topic_made_again_begins_anew_without_any_recovery_point(how, new):
    world = world_with(30, queues=1)
    world.do(lambda: world.store.delete_topics(["T"]))
    for number in range(new):
        world.put(body_of(number), keys=f"n{number}")
    end(world, how)
    report = world.start_again()
    assert world.bodies() == [body_of(number) for number in range(new)]
    assert report.messages_left_out == 0
    assert_goes_on(world)


def test_what_is_deleted_in_a_log_that_a_power_cut_shortens_ends_with_the_log():
    world = world_with(5, queues=1)
    world.flush()
    world.put(b"not flushed", topic="U")
    world.do(lambda: world.store.delete_topics(["T"]))
    world.cut_power()
    world.start_again()
    assert world.bodies() == []
    world.put(b"new")
    end(world, "no entries")
    world.start_again()
    assert world.bodies() == [b"new"]


@pytest.mark.parametrize("how", ["killed", "clean, no recovery point"])
@pytest.mark.parametrize("new", [1, 2, 5])
def test_the_entries_of_a_topic_made_again_tell_where_the_deletion_is_not_known(how, new):
    """As in a folder of RocketMQ, or of an older version."""
    world = world_with(30, queues=1)
    world.do(lambda: world.store.delete_topics(["T"]))
    for number in range(new):
        world.put(b"new %d" % number)
    end(world, how)
    world.disk.remove("config/deletedTopics.json")
    report = world.start_again()
    assert [(message.queue_offset, message.body) for message in world.messages()] == [
        (number, b"new %d" % number) for number in range(new)
    ]
    assert "topic T was deleted and made again" in "\n".join(report.lines)


@pytest.mark.parametrize("new", [1, 2, 5])
def test_a_topic_made_again_hides_no_old_message_where_nothing_tells_of_the_deletion(new):
    world = world_with(30, queues=1)
    world.do(lambda: world.store.delete_topics(["T"]))
    for number in range(new):
        world.put(b"new %d" % number)
    end(world, "no entries")
    world.disk.remove("config/deletedTopics.json")
    report = world.start_again()
    assert world.bodies()[:30] == [body_of(number) for number in range(30)]
    assert (report.messages_put_right, report.messages_left_out) == ((1, 0) if new == 1 else (0, new))


@pytest.mark.parametrize("later", [1, 3])
def test_the_only_message_of_a_topic_made_again_is_served_behind_the_old_ones_whatever_comes_later(later):
    world = world_with(30, queues=1)
    world.do(lambda: world.store.delete_topics(["T"]))
    world.put(b"new")
    for _ in range(later):
        world.world.run_for(10)
        world.put(b"of another topic", topic="U")
    end(world, "no entries")
    world.disk.remove("config/deletedTopics.json")
    assert world.start_again().messages_left_out == 0
    assert world.bodies() == [*map(body_of, range(30)), b"new"]


def test_damage_before_a_changed_offset_takes_no_more_with_it():
    world = world_with(40, queues=1)
    lost, changed = place_of(world, 20, 1), place_of(world, 22, 1)
    end(world, "no entries")
    world.flip(world.path_of_log(), lost + 95)
    flip_bit(world, changed + QUEUE_OFFSET_POSITION, 60)
    report = world.start_again()
    assert_holds(world, [number for number in range(40) if number != 20], queues=1)
    assert (report.messages_put_right, len(report.damaged_ranges)) == (1, 1)


def test_an_old_entry_that_is_damaged_itself_changes_nothing():
    world = world_with(40, queues=1)
    end(world, "killed")
    world.overwrite(world.path_of_queue(), 20 * ENTRY_SIZE_BYTES, b"\x07" * 3 * ENTRY_SIZE_BYTES)
    report = world.start_again()
    assert_holds(world, list(range(40)), queues=1)
    assert (report.messages_put_right, report.messages_left_out) == (0, 0)


def test_what_is_put_right_survives_a_power_cut():
    world = world_with(40, queues=1)
    world.flush()
    place = place_of(world, 20, 1)
    end(world, "no entries")
    flip_bit(world, place + QUEUE_OFFSET_POSITION, 63)
    world.start_again()
    world.cut_power()
    assert world.start_again().messages_put_right == 0
    assert_holds(world, list(range(40)), queues=1)


def test_a_store_time_that_its_neighbours_contradict_is_said():
    world = StoreWorld(small_config())
    world.start()
    for number in range(9):
        world.put(body_of(number), queue_id=0)
        world.world.run_for(10)
    place = place_of(world, 4, 1)
    world.kill()
    flip_bit(world, place + STORE_TIMESTAMP_POSITION, 40)
    text = "\n".join(world.start_again().lines)
    assert text.count("not found by its time") == 1
    assert f"the message at {place} says that it was stored at" in text
    assert len(world.bodies()) == 9
