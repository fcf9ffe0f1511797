"""A bound on the number of mapped files."""

from __future__ import annotations

import pytest

from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.mapping_pool import MappingPool, PooledFile
from tests.engine.store.store_world import StoreWorld, small_config


@pytest.fixture
def files():
    with LabMachines() as world:
        disk = world.node("broker-a").disk
        pool = MappingPool(3)
        yield pool, [PooledFile(disk, pool, f"file{number}", 100) for number in range(6)]


def is_mapped(file):
    return file._file is not None


def test_never_more_files_are_mapped_than_allowed_and_none_forgets_its_content(files):
    pool, files = files
    for number, file in enumerate(files):
        file.file.write_at(0, bytes((number,)))
        assert len(pool) <= 3
    assert [file.file.read_at(0, 1)[0] for file in files] == list(range(6))


def test_a_file_in_use_outlives_the_others(files):
    _, files = files
    favourite = files[0]
    opened = favourite.file
    for file in files[1:]:
        assert favourite.file is opened
        assert file.file.size_bytes == 100
    assert not is_mapped(files[1])


def test_closing_makes_room(files):
    pool, files = files
    for file in files[:3]:
        assert file.file
    files[1].close()
    files[1].close()
    assert len(pool) == 2
    assert files[3].file
    assert [is_mapped(file) for file in files[:4]] == [True, False, True, True]


def test_a_store_with_more_queues_than_mappings_works():
    world = StoreWorld(small_config(max_mapped_files=2))
    world.start()
    for number in range(60):
        world.put(str(number).encode(), queue_id=number % 20, keys=str(number))
    for queue_id in range(20):
        assert world.bodies(queue_id=queue_id) == [str(n).encode() for n in range(queue_id, 60, 20)]
    world.world.run_for(30_000)
    world.cut_power()
    world.start_again()
    for queue_id in range(20):
        assert len(world.bodies(queue_id=queue_id)) == 3
