"""Starting with much in the store: what takes long is what a crash left undone, not all that there is."""

from __future__ import annotations

import pytest

from engine.runtime.lab.lab_disk import LabDiskFile
from engine.store.message_store import MessageStore
from tests.engine.store.recovered_world import assert_goes_on, assert_holds, world_with
from tests.engine.store.store_world import NODE, StoreWorld, small_config

#: More than a start makes durable itself.
MANY_QUEUES = 120
RECOVERY_POINT = "config/recoveryPoint.json"


@pytest.fixture
def queue_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of all reads of consume queues from now on."""
    paths: list[str] = []
    read_at = LabDiskFile.read_at

    def watched(file: LabDiskFile, position: int, length: int) -> bytes:
        if file.path.startswith("consumequeue"):
            paths.append(file.path)
        return read_at(file, position, length)

    monkeypatch.setattr(LabDiskFile, "read_at", watched)
    return paths


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean exit", "killed"])
def test_a_start_reads_as_often_from_queues_with_many_messages_as_from_those_with_few(is_clean, queue_reads):
    reads = []
    for count in (300, 3_000):
        world = world_with(count, queues=2, mapped_file_size_consume_queue_entries=5_000)
        world.world.run_for(25_000)  # the recovery point follows
        if is_clean:
            world.shutdown()
        else:
            world.kill()
        queue_reads.clear()
        store = MessageStore(world.world.restart(NODE), world.config)
        store.load()
        reads.append(len(queue_reads))
        assert store.max_offset("T", 0) == count // 2
    assert reads[0] == reads[1]


def test_a_start_opens_each_of_more_queues_than_may_be_mapped_once(monkeypatch):
    world = world_with(MANY_QUEUES, queues=MANY_QUEUES, max_mapped_files=10)
    world.world.run_for(25_000)
    world.kill()
    opened: list[str] = []
    runtime = world.world.restart(NODE)
    open_file = runtime.disk.open_file

    def watched(path: str, size_bytes: int) -> LabDiskFile:
        opened.append(path)
        return open_file(path, size_bytes)

    monkeypatch.setattr(runtime.disk, "open_file", watched)
    MessageStore(runtime, world.config).load()
    assert sum(path.startswith("consumequeue") for path in opened) == MANY_QUEUES


def test_a_start_leaves_the_flushing_of_many_queues_to_those_who_run_beside_the_service():
    world = world_with(MANY_QUEUES, queues=MANY_QUEUES)
    world.kill()
    report = world.start_again()
    assert report.messages_dispatched == MANY_QUEUES
    assert all(queue.unflushed_bytes for queue in world.store.parts.consume_queues)
    world.world.run_for(25_000)
    assert not any(queue.unflushed_bytes for queue in world.store.parts.consume_queues)
    world.cut_power()
    assert world.start_again().messages_dispatched == 0, "the recovery point has followed"
    assert_holds(world, list(range(MANY_QUEUES)), MANY_QUEUES)


def test_a_power_cut_before_they_are_flushed_costs_nothing_that_the_log_has():
    world = world_with(MANY_QUEUES, queues=MANY_QUEUES)
    world.kill()
    world.start_again()
    assert world.put(b"later", queue_id=7).is_ok
    assert world.flush()
    world.cut_power()
    world.start_again()
    assert len(world.messages(queue_id=7)) == 2
    assert all(len(world.messages(queue_id=queue_id)) == 1 for queue_id in range(MANY_QUEUES) if queue_id != 7)
    assert_goes_on(world, queue_id=7)


def test_a_start_that_finds_damage_makes_many_queues_durable_at_once():
    world = world_with(MANY_QUEUES, queues=MANY_QUEUES)
    world.shutdown()
    world.disk.remove("consumequeue")
    world.start_again()
    assert not any(queue.unflushed_bytes for queue in world.store.parts.consume_queues)


def test_a_flush_of_many_queues_that_fails_stops_the_taking_of_messages():
    world = StoreWorld(small_config())
    world.start()
    for number in range(MANY_QUEUES):
        world.put(queue_id=number)
    world.storage.flush_error = "broken"
    world.world.run_for(25_000)
    assert not world.put(b"refused").is_ok
