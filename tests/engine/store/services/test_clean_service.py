"""Retention and the room on the disk."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from engine.runtime.port import DiskFault
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.reading.get_message_result import GetMessageStatus
from engine.store.services.clean_service import DeletedMessages
from tests.engine.store.store_world import StoreWorld, small_config

HOUR_MS = 3_600_000


def filled_world(**settings) -> StoreWorld:
    world = StoreWorld(small_config(mapped_file_size_commit_log=1024, **settings))
    world.start()
    for number in range(30):
        world.put(b"x" * 100, queue_id=number % 2, keys=f"k{number}")
    return world


def hour_of(world: StoreWorld) -> int:
    return datetime.fromtimestamp(world.runtime.clock.now_ms() / 1000, tz=UTC).hour


def run_until_hour(world: StoreWorld, hour: int) -> None:
    hours = (hour - hour_of(world)) % 24
    world.world.run_for(hours * HOUR_MS)


def file_count(world: StoreWorld) -> int:
    return len(world.disk.list_folder("commitlog"))


def set_used_ratio(world: StoreWorld, ratio: float) -> None:
    world.storage.occupied_bytes = int(world.storage.capacity_bytes * ratio)


def test_expired_files_are_deleted_at_the_hour_and_not_before():
    world = filled_world(file_reserved_time_hours=1, flush_commit_log_thorough_interval_ms=600_000)
    count = file_count(world)
    assert count > 3
    run_until_hour(world, 3)
    assert file_count(world) == count
    world.world.run_for(HOUR_MS + 60_000)
    assert file_count(world) == 1
    assert not world.disk.exists("commitlog/00000000000000000000")


def test_the_hour_counts_in_the_configured_time_zone():
    world = filled_world(file_reserved_time_hours=1, time_zone_offset_minutes=8 * 60)
    run_until_hour(world, 19)
    assert file_count(world) > 3
    world.world.run_for(HOUR_MS + 60_000)  # 20:00 in London is 04:00 in Shanghai
    assert file_count(world) == 1


def test_files_younger_than_the_reserved_time_stay():
    world = filled_world(file_reserved_time_hours=72)
    count = file_count(world)
    run_until_hour(world, 5)
    assert file_count(world) == count


def test_readers_learn_where_the_queue_begins_now():
    world = filled_world(file_reserved_time_hours=1)
    run_until_hour(world, 5)
    minimum = world.store.min_offset("T", 0)
    assert 0 < minimum < 15
    assert world.store.max_offset("T", 0) == 15
    result = world.store.get_message("G", "T", 0, 0, 32)
    assert (result.status, result.next_begin_offset) == (GetMessageStatus.OFFSET_TOO_SMALL, minimum)
    assert [message.queue_offset for message in world.messages()] == list(range(minimum, 15))
    assert world.store.query_message("T", "k0", 32, 0, 1 << 62).buffers == []
    assert world.store.commit_log.min_offset > 0
    world.shutdown()
    assert world.start_again().lines == []
    assert world.store.min_offset("T", 0) == minimum


def test_consume_queue_and_index_files_follow_the_log():
    world = StoreWorld(
        small_config(
            mapped_file_size_commit_log=1024,
            mapped_file_size_consume_queue_entries=10,
            max_index_num=20,
            file_reserved_time_hours=1,
        )
    )
    world.start()
    for number in range(100):
        world.put(b"x" * 50, keys=f"k{number}")
    queue_files = len(world.disk.list_folder("consumequeue/T/0"))
    index_files = len(world.disk.list_folder("index"))
    run_until_hour(world, 5)
    assert len(world.disk.list_folder("consumequeue/T/0")) < queue_files
    assert len(world.disk.list_folder("index")) < index_files
    assert len(world.bodies()) > 0


def test_a_disk_over_75_percent_deletes_expired_files_at_any_hour():
    world = filled_world(file_reserved_time_hours=2)
    run_until_hour(world, 10)
    for _ in range(30):
        world.put(b"x" * 100)
    count = file_count(world)
    world.world.run_for(HOUR_MS)
    assert file_count(world) == count
    set_used_ratio(world, 0.8)
    world.world.run_for(HOUR_MS // 2)
    assert file_count(world) == count
    world.world.run_for(HOUR_MS)
    assert file_count(world) == 1


def test_a_disk_that_others_fill_costs_no_young_message_only_the_right_to_send(caplog):
    world = filled_world(clean_file_forcibly_min_age_hours=2)
    count, bodies = file_count(world), len(world.bodies())
    world.flush()
    set_used_ratio(world, 0.95)
    world.world.run_for(HOUR_MS)
    assert (file_count(world), len(world.bodies())) == (count, bodies), "reading goes on"
    assert world.put().status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert caplog.text.count("no commit-log file is older than 2 h") == 1
    set_used_ratio(world, 0.5)
    world.world.run_for(11_000)
    assert world.put().is_ok
    assert "the disk has room again" in caplog.text


def test_a_disk_over_85_percent_deletes_files_of_the_minimum_age_and_says_which(caplog):
    world = filled_world(clean_file_forcibly_min_age_hours=2)
    count = file_count(world)
    world.world.run_for(3 * HOUR_MS)
    for _ in range(30):
        world.put(b"x" * 100)
    added = file_count(world) - count
    world.flush()
    set_used_ratio(world, 0.87)
    world.world.run_for(11_000)
    assert file_count(world) in (added, added + 1), "the file between has young messages too"
    assert world.put().is_ok
    (line,) = [record.getMessage() for record in caplog.records if "are deleted" in record.getMessage()]
    assert line.startswith(f"{count - 1} commit-log files (commitlog/00000000000000000000 to commitlog/")
    assert f"{(count - 1) * 1024} bytes, last written 3.0 to 3.0 h ago" in line
    assert "before their time, to make room; the disk is 87.0 % full" in line


def test_with_a_minimum_age_of_0_the_oldest_files_go_even_if_they_are_new_as_in_rocketmq():
    world = filled_world(clean_file_forcibly_min_age_hours=0)
    count = file_count(world)
    world.flush()
    set_used_ratio(world, 0.87)
    world.world.run_for(11_000)
    assert file_count(world) == max(1, count - world.config.delete_files_batch_max)
    assert world.put().is_ok


def test_what_each_queue_lost_is_reported():
    world = filled_world(clean_file_forcibly_min_age_hours=0)
    world.flush()
    reports: list[DeletedMessages] = []
    world.store.clean_service.on_deleted = reports.extend
    set_used_ratio(world, 0.87)
    world.world.run_for(11_000)
    ends = [world.store.min_offset("T", queue_id) for queue_id in (0, 1)]
    assert reports == [DeletedMessages("T", queue_id, 0, end) for queue_id, end in enumerate(ends)]
    assert all(ends)


def test_a_disk_without_any_room_takes_messages_again_by_itself_and_says_so(caplog):
    world = filled_world()
    world.storage.occupied_bytes = world.storage.capacity_bytes - world.storage.used_bytes
    refused = [world.put(b"x" * 500) for _ in range(20)][-1]
    assert refused.status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert "the disk is full" in refused.remark
    set_used_ratio(world, 0.5)
    world.world.run_for(11_000)
    assert "the disk was full and is 50.0 % used now: messages are accepted" in caplog.text
    assert world.put(b"x" * 500).is_ok


def test_a_disk_over_90_percent_refuses_messages_until_there_is_room():
    world = filled_world()
    set_used_ratio(world, 0.95)
    world.world.run_for(11_000)
    refused = world.put()
    assert refused.status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert "95.0% are used, 90% are allowed" in refused.remark
    set_used_ratio(world, 0.5)
    world.world.run_for(11_000)
    assert world.put().is_ok


def test_a_store_that_starts_on_a_full_disk_refuses_from_the_first_message():
    world = StoreWorld(small_config())
    set_used_ratio(world, 0.95)
    world.start()
    assert world.put().status is PutMessageStatus.SERVICE_NOT_AVAILABLE


@pytest.mark.parametrize("is_flushed", [True, False])
def test_a_file_that_is_not_on_disk_yet_is_never_deleted(is_flushed):
    world = filled_world(flush_interval_commit_log_ms=10**9, clean_file_forcibly_min_age_hours=0)
    count = file_count(world)
    if is_flushed:
        world.flush()
    set_used_ratio(world, 0.87)
    assert world.do(world.store.clean_service.clean) == (min(10, count - 1) if is_flushed else 0)


def test_files_deleted_during_a_flush_do_not_come_back():
    world = StoreWorld(small_config(mapped_file_size_consume_queue_entries=10, max_index_num=10))
    world.start()
    for number in range(60):
        world.put(b"x", keys=f"k{number}")

    async def scenario():
        flush = asyncio.ensure_future(world.store.flush_service.flushed(world.store.commit_log.max_offset))
        queues = [queue for _, _, queue in world.store.consume_queues()]
        flushing = [asyncio.ensure_future(queue.flush()) for queue in queues]
        await asyncio.sleep(0.001)
        world.store.delete_topics(["T"])
        await asyncio.gather(flush, *flushing)

    world.run(scenario())
    assert not world.disk.exists("consumequeue/T")
    assert world.put(b"new").queue_offset == 0


def test_a_folder_that_cannot_be_looked_at_refuses_messages_and_deletes_none(monkeypatch, caplog):
    world = filled_world(clean_file_forcibly_min_age_hours=0)
    count, used_ratio = file_count(world), world.disk.used_ratio

    def gone():
        raise DiskFault("cannot look at the room of /data: No such file or directory")

    monkeypatch.setattr(world.disk, "used_ratio", gone)
    world.world.run_for(60_000)
    assert file_count(world) == count
    assert world.put(b"new").status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert caplog.text.count("messages are refused: cannot look at the room of /data") == 1
    monkeypatch.setattr(world.disk, "used_ratio", used_ratio)
    world.world.run_for(60_000)
    assert world.put(b"new").status is PutMessageStatus.PUT_OK
