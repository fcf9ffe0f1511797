"""Starting on what a shutdown, a crash or a power cut left."""

from __future__ import annotations

import pytest

from engine.runtime.lab.lab_disk import LabDiskFile
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.store.recovered_world import assert_goes_on, assert_holds, body_of, world_with
from tests.engine.store.store_world import StoreWorld, small_config

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


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_start_reads_of_many_queues_what_is_in_them_and_not_their_files(is_killed, monkeypatch):
    queues, file_bytes = 100, 400_000
    world = StoreWorld(MessageStoreConfig(mapped_file_size_consume_queue_entries=file_bytes // 20))
    world.start()
    for queue_id in range(queues):
        world.put(body_of(queue_id), queue_id=queue_id)
    world.kill() if is_killed else world.shutdown()
    read: list[int] = []
    read_at = LabDiskFile.read_at

    def counted(file: LabDiskFile, position: int, length: int) -> bytes:
        if file.path.startswith("consumequeue"):
            read.append(length)
        return read_at(file, position, length)

    monkeypatch.setattr(LabDiskFile, "read_at", counted)
    world.start_again()
    assert len(list(world.store.consume_queues())) == queues
    assert sum(read) < queues * 20_000


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
