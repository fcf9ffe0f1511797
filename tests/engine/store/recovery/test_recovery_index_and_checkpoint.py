"""Starting on a damaged index, checkpoint or recovery point."""

from __future__ import annotations

import pytest

from tests.engine.store.recovered_world import assert_goes_on, assert_holds, body_of, world_with


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
    assert any("index" in line and ("built again" in line or "added again" in line) for line in report.lines)
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
    assert any("are in the future" in line for line in report.lines) is (content is not None and content[:1] == b"\x7f")
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


def test_a_changed_digit_in_the_recovery_point_hides_no_message():
    world = world_with(150)
    world.shutdown()
    path = "config/recoveryPoint.json"
    original = world.disk.read_whole(path)
    for at in (at for at, byte in enumerate(original) if chr(byte).isdigit()):
        world.overwrite(path, at, b"1" if original[at] != ord("1") else b"2")
        world.start_again()
        assert_holds(world, list(range(150)))
        world.shutdown()
        world.disk.write_whole(path, original)


def test_a_first_log_file_that_was_taken_away_is_said():
    world = world_with(40, mapped_file_size_commit_log=1_024)
    world.shutdown()
    world.disk.remove(world.path_of_log(0))
    line = "commit log: it began at 0 and begins at 1024 now: the files before it were taken away from outside"
    assert line in world.start_again().lines
    world.shutdown()
    assert line not in world.start_again().lines
