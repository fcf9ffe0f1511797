"""Starting on consume queues that are damaged, missing or out of date."""

from __future__ import annotations

import pytest

from tests.engine.store.recovered_world import assert_goes_on, assert_holds, body_of, world_with


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


@pytest.mark.parametrize("byte", range(8))
def test_a_last_entry_that_points_elsewhere_costs_no_message(byte):
    world = world_with(20, queues=1)
    world.shutdown()
    world.flip(world.path_of_queue(), 19 * 20 + byte)
    report = world.start_again()
    assert_holds(world, list(range(20)), queues=1)
    assert report.shortened_queues == {}
    assert_goes_on(world)


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
