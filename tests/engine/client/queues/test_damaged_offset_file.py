"""A file of a broadcasting member's progress that holds something else."""

from __future__ import annotations

import pytest

from engine.client.queues.local_file_offset_store import LocalFileOffsetStore, OffsetFileUnreadable
from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.lab.lab_runtime import LabMachines

QUEUE = MessageQueue("T", "broker-a", 0)
OTHER_SHAPES = [b'{"offsetTable": null}', b"{}", b'{"offsetTable": []}', b'{"offsetTable": {"0": 5}}', b"[]", b"null"]


@pytest.fixture
def world():
    with LabMachines() as world:
        yield world


def store_of(world: LabMachines) -> LocalFileOffsetStore:
    return LocalFileOffsetStore(world.node("C").disk, "C@1", "group")


def keep(world: LabMachines, store: LocalFileOffsetStore, offset: int) -> None:
    store.update_offset(QUEUE, offset, increase_only=False)
    world.run(store.persist_all([QUEUE]), node="C")


@pytest.mark.parametrize("other", OTHER_SHAPES)
def test_a_file_of_another_shape_is_replaced_by_its_backup_which_it_does_not_overwrite(world, other):
    disk, store = world.node("C").disk, store_of(world)
    keep(world, store, 4)
    keep(world, store, 5)
    backup = disk.read_whole(f"{store.path}.bak")
    disk.write_whole(store.path, other)
    again = store_of(world)
    world.run(again.load(), node="C")
    assert again.offset_in_memory(QUEUE) == 4
    keep(world, again, 6)
    assert disk.read_whole(f"{store.path}.bak") == backup
    assert disk.read_whole(f"{store.path}.damaged") == other
    once_more = store_of(world)
    world.run(once_more.load(), node="C")
    assert once_more.offset_in_memory(QUEUE) == 6


@pytest.mark.parametrize("other", OTHER_SHAPES)
def test_without_a_backup_a_file_of_another_shape_is_refused_and_not_taken_for_no_progress(world, other):
    store = store_of(world)
    world.node("C").disk.write_whole(store.path, other)
    with pytest.raises(OffsetFileUnreadable, match="remove the file to start over"):
        world.run(store.load(), node="C")
