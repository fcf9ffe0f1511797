"""Starting on a commit log that was cut or damaged."""

from __future__ import annotations

import pytest

from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.log.put_message_result import PutMessageStatus
from tests.engine.store.recovered_world import assert_goes_on, assert_holds, body_of, world_with


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_log_cut_at_any_byte_of_its_last_three_messages_serves_every_whole_one(is_clean):
    world = world_with(12, queues=3)
    ends = [world.store.message_at(0).store_size]
    while ends[-1] < world.store.commit_log.max_offset:
        ends.append(ends[-1] + world.store.message_at(ends[-1]).store_size)
    if is_clean:
        world.shutdown()
        world.runtime = world.world.restart("broker-a")
    else:
        world.kill()
    original = {path: world.disk.read_whole(path) for path in list(world.storage.files)}
    for cut in range(ends[-4], ends[-1]):
        for path in list(world.storage.files):
            world.disk.remove(path)
        for path, content in original.items():
            world.disk.write_whole(path, content)
        world.truncate(world.path_of_log(), cut)
        report = world.start_again()
        whole = [number for number, end in enumerate(ends) if end <= cut]
        assert_holds(world, whole, queues=3)
        assert report.commit_log_max_offset == ends[len(whole) - 1]
        assert report.entries_beyond_log == len(ends) - len(whole)
        assert report.bytes_cut <= cut - report.commit_log_max_offset
        assert any("bytes; the rest is taken as empty" in line for line in report.lines)
        assert any("pointed beyond the log" in line for line in report.lines)
        assert world.put(b"new", queue_id=len(whole) % 3).queue_offset == len(whole) // 3
        world.kill()


def test_a_log_that_reads_as_zeros_from_any_byte_of_its_last_three_messages_serves_every_whole_one():
    """This is what a power failure leaves of a preallocated file; here the three are in two files."""
    world = world_with(8, queues=3, mapped_file_size_commit_log=1024)
    starts = sorted(entry[0] for queue in range(3) for entry in world.store.consume_queue_entries("T", queue, 0, 9))
    ends = [start + world.store.message_at(start).store_size for start in starts]
    assert starts[-3] < 1024 <= starts[-1]
    world.kill()
    original = {path: world.disk.read_whole(path) for path in list(world.storage.files)}
    for cut in range(starts[-3], ends[-1]):
        for path in list(world.storage.files):
            world.disk.remove(path)
        for path, content in original.items():
            world.disk.write_whole(path, content)
        for file, path in enumerate(path for path in sorted(original) if path.startswith("commitlog/")):
            position = max(0, cut - file * 1024)
            if position < 1024:
                world.overwrite(path, position, bytes(1024 - position))
        world.storage.power_cuts += 1
        report = world.start_again()
        whole = [number for number, end in enumerate(ends) if end <= cut]
        assert_holds(world, whole, queues=3)
        assert report.entries_beyond_log == len(ends) - len(whole)
        assert "had not reached the disk" in "\n".join(report.lines)
        assert world.put(b"new", queue_id=8).status is PutMessageStatus.PUT_OK
        world.kill()


def test_a_crash_is_not_blamed_for_what_was_on_the_disk_before():
    world = world_with(10)
    world.world.run_for(21_000)  # flushed, and recorded as flushed
    cut = world.store.consume_queue_entries("T", 0, 3, 1)[0][0]
    world.kill()
    world.truncate(world.path_of_log(), cut)
    text = "\n".join(world.start_again().lines)
    assert "4 entries of 2 consume queues pointed beyond the log" in text
    assert "damaged or cut from outside" in text
    assert "had not reached the disk" not in text


def test_a_torn_consume_queue_that_is_ahead_of_a_torn_log_is_cut_to_it():
    world = world_with(12)
    entries = world.store.consume_queue_entries("T", 0, 0, 10)
    world.kill()
    world.truncate(world.path_of_log(), entries[4][0] + 10)  # message 8 is torn, 9 to 11 are gone
    world.truncate(world.path_of_queue(queue_id=0), 5 * 20 + 7)  # the entry of message 10 is torn
    report = world.start_again()
    assert_holds(world, list(range(8)))
    assert report.shortened_queues == {("T", 0): 4, ("T", 1): 4}
    text = "\n".join(report.lines)
    assert "consume queue T/0 now ends at offset 4 (before: " in text
    assert "consume queue T/1 now ends at offset 4 (before: 6)" in text
    assert_goes_on(world)


def test_queue_pages_lost_behind_the_recovery_point_are_written_again():
    world = world_with(40, body_bytes=20)
    world.world.run_for(11_000)  # recorded
    for number in range(40, 240):
        world.put(body_of(number, 20), queue_id=number % 2, keys=f"k{number}")
    world.kill()
    # Of the pages that were not flushed one is lost, one is garbage; the one after them reached the disk.
    world.overwrite(world.path_of_queue(queue_id=0), 600, bytes(200))
    world.overwrite(world.path_of_queue(queue_id=1), 600, b"\x01" * 200)
    report = world.start_again()
    assert_holds(world, list(range(240)))
    assert report.rebuilt_queues == []
    assert "200 entries of consume queues, after the last recovery point, were written again" in "\n".join(report.lines)


def test_a_flipped_byte_in_the_last_message_never_costs_another_one():
    world = world_with(8)
    start = world.store.consume_queue_entries("T", 1, 3, 1)[0][0]
    end = world.store.commit_log.max_offset
    world.shutdown()
    world.runtime = world.world.restart("broker-a")
    original = {path: world.disk.read_whole(path) for path in list(world.storage.files)}
    lost = 0
    for position in range(start, end):
        for path in list(world.storage.files):
            world.disk.remove(path)
        for path, content in original.items():
            world.disk.write_whole(path, content)
        world.flip(world.path_of_log(), position)
        report = world.start_again()
        assert [m.body for m in world.messages(queue_id=0)] == [body_of(n) for n in (0, 2, 4, 6)]
        served = world.messages(queue_id=1)
        assert [m.body for m in served[:3]] == [body_of(n) for n in (1, 3, 5)]
        # The CRC covers the body; a flipped byte of a time stamp, say, cannot be seen by anybody.
        assert all(message.body == body_of(7) for message in served[3:])
        if not served[3:]:
            lost += 1
            assert report.lines
        world.kill()
    assert lost > 40 + 20  # at least the body, and sizes, magic, CRC, physical offset


def test_the_last_message_is_reported_when_its_body_is_damaged():
    world = world_with(8)
    start = world.store.consume_queue_entries("T", 1, 3, 1)[0][0]
    world.shutdown()
    world.flip(world.path_of_log(), start + 95)
    report = world.start_again()
    assert report.commit_log_max_offset == start
    assert report.shortened_queues == {("T", 1): 3}
    assert "damaged or cut from outside" in "\n".join(report.lines)
    assert_holds(world, list(range(7)))
    assert_goes_on(world, queue_id=1)


def test_damage_in_the_middle_costs_only_the_damaged_messages():
    world = world_with(12)
    entries = world.store.consume_queue_entries("T", 0, 0, 10)
    world.shutdown()
    world.flip(world.path_of_log(), entries[2][0] + 95)  # message 4
    report = world.start_again()
    assert report.damaged_ranges == [(entries[2][0], entries[2][0] + entries[2][1])]
    assert report.entries_beyond_log == 0
    assert_holds(world, [number for number in range(12) if number != 4])
    assert world.store.consume_queue_entries("T", 0, 2, 1)[0][1] == FILLER_SIZE
    assert "left out" in "\n".join(report.lines)
    assert_goes_on(world)


def test_damage_in_the_middle_leaves_its_logical_offsets_free_when_queues_are_rebuilt():
    world = world_with(12)
    entries = world.store.consume_queue_entries("T", 0, 0, 10)
    world.shutdown()
    world.overwrite(world.path_of_log(), entries[1][0], bytes(entries[1][1]))  # message 2
    world.disk.remove("consumequeue")
    world.start_again()
    assert_holds(world, [number for number in range(12) if number != 2])
    assert_goes_on(world)


def test_a_lost_blank_at_the_end_of_a_file_does_not_hide_the_next_file():
    world = world_with(20, mapped_file_size_commit_log=1024)
    world.shutdown()
    first = world.path_of_log(0)
    end = max(e[0] + e[1] for q in (0, 1) for e in world.store.consume_queue_entries("T", q, 0, 20) if e[0] < 1024)
    world.overwrite(first, end, bytes(1024 - end))
    world.disk.write_whole("abort", b"")
    world.disk.remove("config/recoveryPoint.json")
    world.disk.remove("config/recoveryPoint.json.bak")
    world.start_again()
    assert_holds(world, list(range(20)))


def test_a_missing_log_file_costs_its_messages_only():
    world = world_with(20, mapped_file_size_commit_log=1024)
    in_second = [
        2 * n + q
        for q in (0, 1)
        for n, entry in enumerate(world.store.consume_queue_entries("T", q, 0, 20))
        if 1024 <= entry[0] < 2048
    ]
    world.shutdown()
    world.disk.remove("commitlog/00000000000000001024")
    world.disk.remove("config/recoveryPoint.json")
    world.disk.remove("config/recoveryPoint.json.bak")
    report = world.start_again()
    assert report.damaged_ranges[0][1] == 2048
    assert_holds(world, [number for number in range(20) if number not in in_second])
    assert_goes_on(world)


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("content", ["copy of another file", "copy of the file", "noise", "zeros", "nothing"])
@pytest.mark.parametrize("inside_by", [1, 20, 500, 1023])
def test_a_file_under_a_name_inside_another_file_hides_nothing(inside_by, content, is_clean):
    world = world_with(30, mapped_file_size_commit_log=1024)
    first, second = (world.disk.read_whole(world.path_of_log(file)) for file in (0, 1))
    if is_clean:
        world.shutdown()
        world.runtime = world.world.restart("broker-a")
    else:
        world.kill()
    stray = f"commitlog/{inside_by:020d}"
    noise = bytes(number * 37 % 251 for number in range(1024))
    contents = {"copy of another file": second, "copy of the file": first, "noise": noise, "zeros": bytes(1024)}
    world.disk.write_whole(stray, contents.get(content, b""))
    report = world.start_again()
    assert_holds(world, list(range(30)))
    assert [line for line in report.lines if line.startswith(f"{stray} begins inside {0:020d}")]
    assert_goes_on(world)


def test_a_deleted_log_takes_its_messages_and_nothing_else_with_it():
    world = world_with(10)
    world.shutdown()
    world.disk.remove("commitlog")
    report = world.start_again()
    assert report.entries_beyond_log == 10
    assert_holds(world, [])
    for number in range(4):
        world.put(body_of(number), queue_id=number % 2, keys=f"k{number}")
    assert_holds(world, list(range(4)))


def test_garbage_behind_the_log_does_not_come_back_later():
    world = world_with(6)
    world.shutdown()
    end = world.store.commit_log.max_offset
    world.overwrite(world.path_of_log(), end, b"garbage" * 100)
    report = world.start_again()
    assert report.bytes_cut == 700
    world.put(b"short", queue_id=0)
    world.kill()
    assert world.start_again().bytes_cut == 0
    assert world.bodies()[-1] == b"short"
