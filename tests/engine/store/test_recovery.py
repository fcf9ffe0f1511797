"""Starting on data that was damaged, cut, or left behind by a crash."""

from __future__ import annotations

import pytest

from engine.protocol.message_properties import encode_properties
from engine.store.consume_queue_entry import CONSUME_QUEUE_ENTRY, FILLER_SIZE
from engine.store.put_message_result import PutMessageStatus
from tests.engine.store.store_world import StoreWorld, small_config


def world_with(count: int, *, queues: int = 2, body_bytes: int = 40, **settings) -> StoreWorld:
    world = StoreWorld(small_config(**settings))
    world.start()
    for number in range(count):
        world.put(body_of(number, body_bytes), queue_id=number % queues, keys=f"k{number}", unique_key=f"U{number}")
    return world


def body_of(number: int, size: int = 40) -> bytes:
    return (b"message %d " % number).ljust(size, b"x")


def assert_holds(world: StoreWorld, numbers: list[int], queues: int = 2) -> None:
    """The store serves exactly these messages, by queue, by key, and at their places."""
    for queue_id in range(queues):
        mine = [number for number in numbers if number % queues == queue_id]
        messages = world.messages(queue_id=queue_id)
        assert [message.body.rstrip(b"x") for message in messages] == [b"message %d " % n for n in mine]
        assert [message.queue_offset for message in messages] == [number // queues for number in mine]
    for number in numbers:
        found = world.store.query_message("T", f"k{number}", 32, 0, 1 << 62)
        assert len(found.buffers) == 1, f"message {number} is not in the index"


def assert_goes_on(world: StoreWorld, queue_id: int = 0) -> None:
    """New messages are stored behind the old ones, and survive a normal restart."""
    before = world.bodies(queue_id=queue_id)
    expected_offset = world.store.max_offset("T", queue_id)
    result = world.put(b"new", queue_id=queue_id)
    assert (result.status, result.queue_offset) == (PutMessageStatus.PUT_OK, expected_offset)
    assert world.bodies(queue_id=queue_id) == [*before, b"new"]
    world.shutdown()
    report = world.start_again()
    assert report.was_clean
    assert world.bodies(queue_id=queue_id) == [*before, b"new"]


# --- without damage


def test_a_normal_restart_has_nothing_to_say():
    world = world_with(20)
    world.shutdown()
    report = world.start_again()
    assert (report.was_clean, report.lines, report.messages_dispatched) == (True, [], 0)
    assert_holds(world, list(range(20)))
    assert_goes_on(world)


def test_a_killed_process_loses_nothing_of_what_it_had_written():
    world = world_with(20)
    world.kill()
    report = world.start_again()
    assert not report.was_clean
    assert "did not shut down" in report.lines[0]
    assert report.entries_beyond_log == 0
    assert_holds(world, list(range(20)))
    assert_goes_on(world)


def test_a_crash_during_recovery_is_a_crash():
    world = world_with(5)
    world.shutdown()
    world.runtime = world.world.restart("broker-a")
    world.disk.write_whole("abort", b"")
    assert not world.start_again().was_clean


def test_what_a_killed_process_had_written_is_made_durable_at_the_start():
    world = world_with(20)
    world.kill()
    world.start_again()
    world.cut_power()
    world.start_again()
    assert_holds(world, list(range(20)))


# --- power cuts


def test_a_power_cut_loses_what_was_not_flushed_counts_it_and_says_why():
    world = world_with(10)
    world.world.run_for(11_000)  # flushed and recorded
    for number in range(10, 30):
        world.put(body_of(number), queue_id=number % 2, keys=f"k{number}")

    async def flush_queue():
        # By chance the consume queue reaches the disk, and the log does not.
        for _, _, queue in world.store.consume_queues():
            await queue.flush()

    world.run(flush_queue())
    world.cut_power()
    report = world.start_again()
    assert_holds(world, list(range(10)))
    assert report.entries_beyond_log == 20
    assert report.shortened_queues == {("T", 0): 5, ("T", 1): 5}
    text = "\n".join(report.lines)
    assert "20 entries of 2 consume queues pointed beyond the log" in text
    assert "had not reached the disk" in text
    assert "consume queue T/1 now ends at offset 5 (before: 15)" in text
    assert_goes_on(world)


def test_a_power_cut_with_torn_pages_keeps_whole_messages_only():
    for seed in range(20):
        world = StoreWorld(small_config(), seed=seed)
        world.start()
        for number in range(40):
            world.put(body_of(number, 300), queue_id=number % 2, keys=f"k{number}")
        world.flush()
        for number in range(40, 80):
            world.put(body_of(number, 300), queue_id=number % 2, keys=f"k{number}")
        world.cut_power(torn=True)
        world.start_again()
        served = [
            int(message.body.split()[1]) for queue_id in range(2) for message in world.messages(queue_id=queue_id)
        ]
        assert sorted(served)[:40] == list(range(40))
        assert_holds(world, sorted(served))


# --- the end of the commit log


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_log_cut_at_any_byte_of_its_last_three_messages_serves_every_whole_one(is_clean):
    world = world_with(12, queues=3)
    ends = [world.store.message_at(0).store_size]
    while ends[-1] < world.store.commit_log_max_offset:
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
    """What a power failure leaves of a file that was made in advance; here the three lie in two files."""
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
        report = world.start_again()
        whole = [number for number, end in enumerate(ends) if end <= cut]
        if report.commit_log_max_offset > [0, *ends][len(whole)]:
            # Only bytes of its properties are zero, within a sector: no checksum covers them (a lost sector is seen).
            assert ends[len(whole)] - cut <= len(properties_of(len(whole)))
            assert world.messages(queue_id=len(whole) % 3)[-1].body == body_of(len(whole))
        else:
            assert_holds(world, whole, queues=3)
            assert report.entries_beyond_log == len(ends) - len(whole)
            assert "had not reached the disk" in "\n".join(report.lines)
        assert world.put(b"new", queue_id=8).status is PutMessageStatus.PUT_OK
        world.kill()


def properties_of(number: int) -> str:
    return encode_properties({"KEYS": f"k{number}", "UNIQ_KEY": f"U{number}"})


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
    # Of the pages that nobody had flushed one is lost, one is garbage; the one behind them made it to the disk.
    world.overwrite(world.path_of_queue(queue_id=0), 600, bytes(200))
    world.overwrite(world.path_of_queue(queue_id=1), 600, b"\x01" * 200)
    report = world.start_again()
    assert_holds(world, list(range(240)))
    assert report.rebuilt_queues == []
    assert "200 entries of consume queues, behind the last recovery point, were written again" in "\n".join(
        report.lines
    )


def test_a_flipped_byte_in_the_last_message_never_costs_another_one():
    world = world_with(8)
    start = world.store.consume_queue_entries("T", 1, 3, 1)[0][0]
    end = world.store.commit_log_max_offset
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
    end = world.store.commit_log_max_offset
    world.overwrite(world.path_of_log(), end, b"garbage" * 100)
    report = world.start_again()
    assert report.bytes_cut == 700
    world.put(b"short", queue_id=0)
    world.kill()
    assert world.start_again().bytes_cut == 0
    assert world.bodies()[-1] == b"short"


# --- consume queues


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize(
    "damage",
    [
        lambda world: world.disk.remove("consumequeue"),
        lambda world: world.disk.remove("consumequeue/T"),
        lambda world: world.disk.remove("consumequeue/T/1"),
        lambda world: world.disk.remove(world.path_of_queue(queue_id=1, file=0)),
        lambda world: world.disk.remove(world.path_of_queue(queue_id=1, file=1)),
        lambda world: world.disk.remove(world.path_of_queue(queue_id=1, file=2)),
        lambda world: world.truncate(world.path_of_queue(queue_id=0, file=2), 0),
        lambda world: world.truncate(world.path_of_queue(queue_id=0, file=2), 33),
        lambda world: world.truncate(world.path_of_queue(queue_id=0, file=1), 33),
        lambda world: world.overwrite(world.path_of_queue(queue_id=0, file=2), 0, bytes(100)),
        lambda world: world.overwrite(world.path_of_queue(queue_id=0, file=2), 20, bytes(20)),
        lambda world: world.overwrite(world.path_of_queue(queue_id=0, file=2), 43, b"\xff" * 90),
        lambda world: world.overwrite(world.path_of_queue(queue_id=0, file=2), 500, b"\x01" * 200),
        lambda world: world.disk.write_whole(
            world.path_of_queue(queue_id=0, file=2), world.disk.read_whole(world.path_of_queue(queue_id=1, file=2))
        ),
    ],
    ids=[
        "all missing",
        "topic missing",
        "queue missing",
        "first file missing",
        "middle file missing",
        "last file missing",
        "last file empty",
        "last file cut",
        "middle file cut",
        "zeros at the start of the last file",
        "one entry zero",
        "garbage in the last file",
        "garbage behind the end",
        "another queue's file",
    ],
)
def test_a_damaged_consume_queue_is_built_again_and_offsets_stay_right(damage, is_clean):
    world = world_with(240, queues=2, body_bytes=20, mapped_file_size_consume_queue_entries=50)
    world.world.run_for(21_000)
    if is_clean:
        world.shutdown()
    else:
        world.kill()
    damage(world)
    report = world.start_again()
    assert report.was_clean is is_clean
    assert_holds(world, list(range(240)))
    assert report.entries_beyond_log == 0
    assert report.shortened_queues == {}
    assert_goes_on(world, queue_id=1)


def test_a_hole_far_before_the_end_of_the_last_file_is_found():
    world = world_with(200, queues=1, body_bytes=20, mapped_file_size_consume_queue_entries=500)
    world.shutdown()
    world.overwrite(world.path_of_queue(), 512, bytes(512))
    report = world.start_again()
    assert "has a hole at offset 2" in report.lines[0]
    assert_holds(world, list(range(200)), queues=1)


def test_a_missing_queue_is_named_in_the_report():
    world = world_with(10)
    world.shutdown()
    world.disk.remove("consumequeue/T/1")
    report = world.start_again()
    assert report.rebuilt_queues == [("T", 1)]
    assert report.lines == ["consume queue T/1 is missing; it is built again from the commit log"]
    assert report.messages_dispatched == 5


def test_a_queue_restored_from_an_old_copy_gets_its_missing_entries():
    world = world_with(10)
    world.shutdown()
    old = world.disk.read_whole(world.path_of_queue(queue_id=0))
    world.start_again()
    for number in range(10, 30):
        world.put(body_of(number), queue_id=number % 2, keys=f"k{number}")
    world.shutdown()
    world.disk.write_whole(world.path_of_queue(queue_id=0), old)
    report = world.start_again()
    assert "ends at offset 5 instead of 15" in report.lines[0]
    assert_holds(world, list(range(30)))


def test_a_log_restored_from_an_old_copy_shortens_the_queues():
    world = world_with(10)
    world.shutdown()
    old = world.disk.read_whole(world.path_of_log())
    world.start_again()
    for number in range(10, 30):
        world.put(body_of(number), queue_id=number % 2)
    world.shutdown()
    world.disk.write_whole(world.path_of_log(), old)
    report = world.start_again()
    assert report.shortened_queues == {("T", 0): 5, ("T", 1): 5}
    assert "was on disk up to" in "\n".join(report.lines)
    assert_holds(world, list(range(10)))
    assert_goes_on(world)


def test_strange_files_are_ignored_and_mentioned():
    world = world_with(4)
    world.shutdown()
    for path in ("commitlog/readme.txt", "consumequeue/T/zero/x", "consumequeue/a b/0/x", "consumequeue/T/0/note"):
        world.disk.write_whole(path, b"?")
    report = world.start_again()
    text = "\n".join(report.lines)
    assert all(name in text for name in ("readme.txt", "T/zero", "a b", "0/note"))
    assert_holds(world, list(range(4)))


# --- index, checkpoint, recovery point


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize(
    "damage",
    [
        lambda world, names: world.disk.remove("index"),
        lambda world, names: world.disk.remove(f"index/{names[0]}"),
        lambda world, names: world.disk.remove(f"index/{names[-1]}"),
        lambda world, names: world.truncate(f"index/{names[-1]}", 100),
        lambda world, names: world.truncate(f"index/{names[0]}", 100),
        lambda world, names: world.overwrite(f"index/{names[-1]}", 0, bytes(40)),
        lambda world, names: world.overwrite(f"index/{names[0]}", 32, b"\xff" * 8),
        lambda world, names: world.disk.write_whole("index/20000101000000000", b"not one of ours"),
    ],
    ids=[
        "all missing",
        "first missing",
        "last missing",
        "last cut",
        "first cut",
        "header of zeros",
        "impossible header",
        "a foreign file",
    ],
)
def test_a_damaged_index_is_built_again(damage, is_clean):
    world = world_with(300, body_bytes=20)  # two keys each: three index files and a rest
    names = world.disk.list_folder("index")
    assert len(names) >= 3
    world.world.run_for(21_000)
    if is_clean:
        world.shutdown()
    else:
        world.kill()
    damage(world, names)
    report = world.start_again()
    assert any("index" in line and ("built again" in line or "put again" in line) for line in report.lines)
    assert_holds(world, list(range(300)))
    for number in range(300, 320):
        world.put(body_of(number), queue_id=number % 2, keys=f"k{number}")
    assert_holds(world, list(range(320)))


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 4096, b"\x7f" * 24 + bytes(4072)])
def test_no_checkpoint_costs_a_message(content):
    world = world_with(20)
    world.shutdown()
    if content is None:
        world.disk.remove("checkpoint")
    else:
        world.disk.write_whole("checkpoint", content)
    world.disk.write_whole("abort", b"")
    report = world.start_again()
    assert_holds(world, list(range(20)))
    assert any("lie in the future" in line for line in report.lines) is (content is not None and content[:1] == b"\x7f")
    assert any("checkpoint was missing" in line for line in report.lines) is (content is None)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"clean": true}', b'{"dispatchedOffset": -1}'])
def test_without_a_recovery_point_everything_is_built_from_the_log(content):
    world = world_with(20)
    world.shutdown()
    for path in ("config/recoveryPoint.json", "config/recoveryPoint.json.bak"):
        if content is None:
            world.disk.remove(path)
        else:
            world.disk.write_whole(path, content)
    world.disk.remove("consumequeue/T/1")
    report = world.start_again()
    assert any("built again from the commit log" in line for line in report.lines)
    assert_holds(world, list(range(20)))
    assert_goes_on(world)


def test_an_older_recovery_point_only_means_more_work():
    world = world_with(10)
    world.shutdown()
    old = world.disk.read_whole("config/recoveryPoint.json")
    world.start_again()
    for number in range(10, 200):
        world.put(body_of(number), queue_id=number % 2, keys=f"k{number}")
    world.shutdown()
    world.disk.write_whole("config/recoveryPoint.json", old)
    world.start_again()
    assert_holds(world, list(range(200)))


def test_a_recovery_point_beyond_the_log_is_not_believed():
    world = world_with(10)
    world.shutdown()
    newer = world.disk.read_whole("config/recoveryPoint.json")
    for path in ("commitlog", "consumequeue", "index", "config", "checkpoint"):
        world.disk.remove(path)
    world.start_again()
    world.put(body_of(0), keys="k0")
    world.shutdown()
    world.disk.write_whole("config/recoveryPoint.json", newer)
    world.start_again()
    assert world.bodies() == [body_of(0)]
    assert_goes_on(world)


# --- after retention


def test_a_rebuilt_queue_keeps_the_offsets_of_what_has_expired():
    world = world_with(60, mapped_file_size_commit_log=1024)
    world.put(b"old", topic="Quiet")
    for number in range(60, 90):
        world.put(body_of(number), queue_id=number % 2, keys=f"k{number}")
    world.world.run_for(11_000)
    world.store.config.file_reserved_time_hours = 0
    world.store.clean_service.is_delete_demanded = True
    while world.do(world.store.clean_service.clean):
        world.store.clean_service.is_delete_demanded = True
    kept = [int(body.split()[1]) for queue_id in (0, 1) for body in world.bodies(queue_id=queue_id)]
    assert 0 < len(kept) < 30
    assert (world.store.min_offset("Quiet", 0), world.store.max_offset("Quiet", 0)) == (1, 1)
    min_offsets = [world.store.min_offset("T", queue_id) for queue_id in (0, 1)]
    world.shutdown()
    world.disk.remove("consumequeue")
    world.start_again()
    assert [world.store.min_offset("T", queue_id) for queue_id in (0, 1)] == min_offsets
    assert_holds(world, sorted(kept))
    assert world.put(b"new", topic="Quiet").queue_offset == 1
    assert_goes_on(world)


def test_entries_are_never_trusted_over_the_log():
    """An entry that was changed while the store was down, in a file that recovery does not look at."""
    world = world_with(240, body_bytes=20, mapped_file_size_consume_queue_entries=50)
    world.shutdown()
    wrong = CONSUME_QUEUE_ENTRY.pack(12_345, 100, 0)
    world.overwrite(world.path_of_queue(queue_id=0, file=0), 10 * 20, wrong)
    world.start_again()
    served = [message.queue_offset for message in world.messages(queue_id=0)]
    assert served == [offset for offset in range(120) if offset != 10]
