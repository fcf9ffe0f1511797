"""Old files of the log are walked through in the background, at the rate that is set, and damage is found."""

from __future__ import annotations

import pytest

from engine.store.log.commit_log_walk import CommitLogWalk
from engine.store.log.record_check import RecordDamage
from engine.store.services.commit_log_check_service import CommitLogCheckService
from tests.engine.store.recovered_world import body_of, world_with
from tests.engine.store.store_world import StoreWorld

_BODY_AT = 88
_RATE = 16 * 1024


def _world(count: int = 400, **settings) -> StoreWorld:
    settings = {"mapped_file_size_commit_log": 16 * 1024, "check_commit_log_bytes_per_second": _RATE, **settings}
    return world_with(count, queues=1, **settings)


def _place(world: StoreWorld, number: int) -> int:
    return world.store.consume_queue_entries("T", 0, number, 1)[0][0]


def _file_of(world: StoreWorld, place: int):
    return world.store.commit_log.files.find(place)


def _damage(world: StoreWorld, place: int, data: bytes) -> None:
    file = _file_of(world, place)
    file.file.write_at(place - file.start_offset, data)


def test_a_walk_finds_damage_that_no_reader_has_met_and_takes_the_time_that_is_allowed():
    world = _world()
    place = _place(world, 20)
    file = _file_of(world, place)
    world.shutdown()
    world.flip(file.path, place - file.start_offset + _BODY_AT)
    world.start_again()
    service = world.store.check_service
    old_files = len(world.store.commit_log.files.files) - 1
    world.world.run_for(500)
    assert (service.is_walking, service.total_bytes) == (True, old_files * 16 * 1024)
    assert 0 < service.checked_bytes < service.total_bytes
    world.world.run_for(old_files * 1_000)
    assert (service.is_walking, service.checked_bytes) == (False, old_files * 16 * 1024)
    assert service.damaged_ranges == 1
    (found,) = world.store.commit_log.damaged_records.newest(9)
    assert (found.commit_log_offset, found.damage) == (place, RecordDamage.BODY)


def test_what_was_walked_through_is_read_by_its_sums():
    world = _world()
    world.shutdown()
    world.start_again()
    second = world.store.commit_log.files.files[1]
    start = second.start_offset
    assert not world.store.commit_log.sums.hold(second, [(start, 1000, 0)])
    world.world.run_for(10_000)
    assert world.store.commit_log.sums.hold(second, [(start, 1000, 0)])
    assert [message.body for message in world.messages()] == [body_of(number) for number in range(400)]


def test_the_next_walk_comes_a_day_later():
    world = _world()
    service = world.store.check_service
    assert (service.walked_ms, service.is_walking) == (0, False)  # at the start there was nothing to walk through
    world.world.run_for(24 * 3_600_000 + 60_000)
    assert service.walked_ms > 0


def test_no_rate_no_walk():
    world = _world(check_commit_log_bytes_per_second=0)
    world.shutdown()
    world.start_again()
    world.world.run_for(60_000)
    assert world.store.check_service.walked_ms == 0


def test_files_that_are_deleted_meanwhile_are_left_out():
    world = _world()
    world.shutdown()
    world.start_again()
    world.do(lambda: world.store.commit_log.files.remove_first(2))
    world.world.run_for(10_000)
    assert not world.store.check_service.is_walking
    assert len(world.store.commit_log.damaged_records) == 0


@pytest.mark.parametrize("zeros", [1, 100, 4096])
def test_a_walk_goes_on_behind_what_is_damaged(zeros):
    world = _world()
    first, behind = _place(world, 10), _place(world, 10 + -(-zeros // 155) + 2)
    _damage(world, first + 5, bytes(zeros))
    stretches = list(
        CommitLogWalk(_file_of(world, first), world.store.commit_log.max_offset, is_newest=True).stretches()
    )
    damaged = [one for one in stretches if one.damage is not None]
    assert [one.offset for one in damaged] == [first]
    assert first + zeros < damaged[0].offset + damaged[0].size_bytes <= behind
    assert sum(one.size_bytes for one in stretches) > 15 * 1024


def test_zeros_at_the_end_of_a_file_are_no_damage_and_other_bytes_are():
    world = _world(mapped_file_size_commit_log=1024 * 1024)
    file = world.store.commit_log.files.files[0]
    assert all(one.damage is None for one in CommitLogWalk(file, file.end_offset, is_newest=True).stretches())
    file.file.write_at(900_000, b"x")
    *whole, last = CommitLogWalk(file, file.end_offset, is_newest=True).stretches()
    assert len(whole) == 400
    assert (last.damage, last.offset + last.size_bytes) == (RecordDamage.NO_MESSAGE, file.end_offset)


def test_the_service_of_an_empty_store_does_nothing():
    world = StoreWorld()
    world.start()
    assert isinstance(world.store.check_service, CommitLogCheckService)
    world.world.run_for(30_000)
    assert world.store.check_service.total_bytes == 0


@pytest.mark.parametrize("first_zero", [0, 8 * 1024])
def test_zeros_in_a_full_file_are_damage(first_zero):
    world = _world()
    path = world.store.commit_log.files.files[1].path
    world.shutdown()
    world.overwrite(path, first_zero, bytes(16 * 1024 - first_zero))
    world.start_again()
    world.world.run_for(60_000)
    assert world.store.check_service.damaged_ranges == 1
