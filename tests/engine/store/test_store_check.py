"""A check of a whole folder finds nothing, one of a damaged one finds every kind of damage; neither changes a byte."""

from __future__ import annotations

import pytest

from engine.protocol.message.message_codec import decode_stored_message
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES
from engine.store.store_check import CheckKind, CheckProgress, StoreCheck
from tests.engine.store.recovered_world import world_with
from tests.engine.store.store_world import StoreWorld

_BODY_AT = 88
_COUNT = 300


def _stopped_world() -> StoreWorld:
    world = world_with(_COUNT, queues=3, mapped_file_size_commit_log=16 * 1024)
    world.shutdown()
    return world


def _files(world: StoreWorld, folder: str) -> dict[str, bytes]:
    files = {}
    for name in world.disk.list_folder(folder):
        path = f"{folder}/{name}"
        below = _files(world, path)
        files.update(below or {path: world.disk.read_whole(path)})
    return files


def _check(world: StoreWorld) -> StoreCheck:
    """Looks, and holds that nothing was changed by it."""
    folders = ("commitlog", "consumequeue", "index", "config")
    before = [_files(world, folder) for folder in folders]
    check = StoreCheck(world.disk, world.runtime.clock)
    world.do(check.run)
    assert [_files(world, folder) for folder in folders] == before
    return check


def _damaged(check: StoreCheck) -> dict[CheckKind, int]:
    return {kind: count.damaged for kind, count in check.counts.items() if count.damaged}


def test_a_folder_after_a_clean_exit_is_whole():
    check = _check(_stopped_world())
    assert (check.is_whole, _damaged(check)) == (True, {})
    whole = {kind: count.whole for kind, count in check.counts.items()}
    assert whole[CheckKind.MESSAGE] == whole[CheckKind.ENTRY] == _COUNT
    assert whole[CheckKind.QUEUE] == 3
    assert min(whole.values()) > 0


def test_a_folder_whose_clock_went_back_is_whole_and_answers_queries_by_time():
    world = StoreWorld()
    world.start()
    times_ms = []
    for minutes in (10, 10, -20, 15):
        world.runtime.clock.skew_ms += minutes * 60_000
        times_ms.append(world.put(b"%d" % len(times_ms), keys="k").store_timestamp)

    def found_around(number):
        moment_ms = times_ms[number]
        result = world.store.query_message("T", "k", 32, moment_ms - 1_000, moment_ms + 1_000)
        return [decode_stored_message(record).body for record in result.buffers]

    assert [found_around(number) for number in range(4)] == [[b"0"], [b"1"], [b"2"], [b"3"]]
    world.shutdown()
    assert _damaged(_check(world)) == {}
    world.start_again()
    assert [found_around(number) for number in range(4)] == [[b"0"], [b"1"], [b"2"], [b"3"]]


def test_a_folder_after_a_killed_process_is_whole_too():
    world = world_with(_COUNT, queues=3, mapped_file_size_commit_log=16 * 1024)
    world.kill()
    world.runtime = world.world.restart("broker-a")
    assert _damaged(_check(world)) == {}


def test_a_flipped_bit_of_a_body_is_named_with_its_place():
    world = _stopped_world()
    world.flip(world.path_of_log(0), _BODY_AT)
    check = _check(world)
    assert _damaged(check) == {CheckKind.FILE: 1, CheckKind.MESSAGE: 1, CheckKind.ENTRY: 1, CheckKind.QUEUE: 1}
    assert check.counts[CheckKind.MESSAGE].places == [
        f"{world.path_of_log(0)}: positions 0 to 151: its body does not match its CRC"
    ]
    assert "T/0 offset 0 (position 0)" in check.counts[CheckKind.ENTRY].places[0]


@pytest.mark.parametrize("byte", [7, 11, 19])
def test_one_bit_of_an_entry_is_seen_be_it_of_its_place_its_size_or_its_tags(byte):
    world = _stopped_world()
    world.flip(world.path_of_queue(), 10 * ENTRY_SIZE_BYTES + byte)
    assert _damaged(_check(world)) == {CheckKind.ENTRY: 1, CheckKind.QUEUE: 1}


def test_zeros_a_cut_file_and_a_missing_one_are_seen():
    world = _stopped_world()
    first = world.path_of_log(0)
    world.overwrite(first, 2000, bytes(4096))
    check = _check(world)
    assert _damaged(check)[CheckKind.MESSAGE] == 1
    assert 4096 // 160 <= _damaged(check)[CheckKind.ENTRY] <= 4096 // 140 + 2
    world.truncate(first, 1000)
    assert _damaged(_check(world))[CheckKind.ENTRY] > 50
    world.disk.remove(first)
    world.disk.remove(world.path_of_log(1))
    assert CheckKind.FILE in _damaged(_check(world))


def test_a_truncated_end_of_the_log_is_seen():
    world = _stopped_world()
    world.disk.remove(world.path_of_log(-1))
    assert _damaged(_check(world))[CheckKind.FILE] == 1


def test_a_missing_queue_file_a_torn_index_and_a_damaged_table_are_seen():
    world = _stopped_world()
    world.truncate(world.path_of_queue(queue_id=2), 400)
    index = f"index/{world.disk.list_folder('index')[0]}"
    world.overwrite(index, 24, b"\x7f")
    world.overwrite("config/recoveryPoint.json.bak", 0, b"?")
    found = _damaged(_check(world))
    assert found == {CheckKind.QUEUE: 1, CheckKind.INDEX: 1, CheckKind.TABLE: 1}


def test_progress_goes_from_nothing_to_all():
    world = _stopped_world()
    seen: list[CheckProgress] = []
    check = StoreCheck(world.disk, world.runtime.clock, seen.append)
    world.do(check.run)
    done = [one.done for one in seen]
    assert done == sorted(done)
    assert 0 < done[0] < done[-1] <= seen[-1].total
