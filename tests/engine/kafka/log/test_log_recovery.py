"""What is left of a partition after a clean end, a crash, a power cut, and when its files are damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from engine.kafka.log.log_segment import TIME_INDEX_ENTRY, segment_name
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import read_header
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.traced_disk import AccessKind, TracedDisk
from tests.support.kafka.partitions import (
    BEGIN_MS,
    FOLDER,
    StillClock,
    batch_of,
    opened_log,
    orders,
    records_in,
    records_of,
)

SMALL = {"segment_bytes": 1_500, "index_interval_bytes": 200}


@pytest.fixture
def world():
    with LabMachines(seed=1) as machines:
        yield machines


def filled(disk, count=60, **settings) -> PartitionLog:
    log = opened_log(disk, **{**SMALL, **settings})
    for first in range(0, count, 5):
        log.append(batch_of(5, first))
    return log


def index_bytes(disk) -> dict[str, bytes]:
    return {name: disk.read_whole(f"{FOLDER}/{name}") for name in disk.list_folder(FOLDER) if name.endswith("index")}


def damage(disk, path: str, position: int, data: bytes) -> None:
    whole = disk.read_whole(path)
    disk.write_whole(path, whole[:position] + data + whole[position + len(data) :])


def test_after_a_clean_end_only_the_ends_of_the_files_are_read(world):
    disk = world.node("broker").disk
    filled(disk, 2_000).close()
    accesses = []
    traced = TracedDisk(disk, accesses.append)
    log = PartitionLog(traced, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    report = log.load()
    assert (report.lines, report.batches_checked, log.log_end_offset) == ([], 0, 2_000)
    read = sum(access.length for access in accesses if access.kind is AccessKind.READ)
    assert read < 300 * len(log.segments)
    assert log.size_bytes > 1_000 * len(log.segments)
    assert records_of(log) == orders(2_000)


def test_the_end_of_the_process_loses_nothing(world):
    disk = world.node("broker").disk
    filled(disk).close(is_clean=False)
    log = opened_log(disk, **SMALL)
    assert records_of(log) == orders(60)


def test_what_was_flushed_survives_a_power_cut_and_what_is_torn_is_cut_off(world):
    runtime = world.node("broker")
    log = filled(runtime.disk, 30)
    runtime.run(log.flush())
    for first in range(30, 60, 5):
        log.append(batch_of(5, first))
    world.crash("broker", keep_page_cache=False)
    again = PartitionLog(world.restart("broker").disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    report = again.load()
    assert again.log_end_offset >= 30
    assert records_of(again) == orders(again.log_end_offset)
    assert report.cut_bytes > 0
    again.append(batch_of(5, again.log_end_offset))
    assert records_of(again) == orders(again.log_end_offset)


@given(st.lists(st.tuples(st.sampled_from("aaafc"), st.integers(1, 6)), max_size=25), st.integers(0, 1_000))
def test_after_a_power_cut_there_is_a_beginning_of_what_was_appended_and_all_that_was_flushed(actions, seed):
    with LabMachines(seed=seed) as world:
        runtime = world.node("broker")
        log = opened_log(runtime.disk, **SMALL)
        flushed = 0
        for action, size in actions:
            if action == "a":
                log.append(batch_of(size, log.log_end_offset))
            elif action == "f":
                runtime.run(log.flush())
                flushed = log.log_end_offset
            else:
                log.close(is_clean=size > 3)
                flushed = log.log_end_offset if size > 3 else flushed
                log = opened_log(runtime.disk, **SMALL)
        end = log.log_end_offset
        world.crash("broker", keep_page_cache=False)
        again = opened_log(world.restart("broker").disk, **SMALL)
        assert flushed <= again.log_end_offset <= end
        assert records_of(again) == orders(again.log_end_offset)


@given(st.integers(0, 100_000), st.integers(1, 255))
def test_after_a_crash_a_damaged_byte_costs_its_batch_and_what_lies_behind_it(place, change):
    with LabMachines(seed=1) as world:
        disk = world.node("broker").disk
        log = filled(disk)
        bounds = [
            (segment.path, batch.position, batch.end, batch.header.base_offset)
            for segment in log.segments
            for batch in segment.batches_from(0)
        ]
        log.close(is_clean=False)
        path, start, end, offset = bounds[place % len(bounds)]
        # After the base offset and the epoch, everything is under the checksum or decides where the batch ends.
        position = start + 16 + (place // len(bounds)) % (end - start - 16)
        damage(disk, path, position, bytes([disk.read_whole(path)[position] ^ change]))
        again = opened_log(disk, **SMALL)
        assert (again.log_end_offset, list(records_of(again))) == (offset, orders(offset))
        again.append(batch_of(5, offset))
        assert records_of(again) == orders(offset + 5)


@given(st.integers(0, 200), st.binary(min_size=1, max_size=20), st.sampled_from([".index", ".timeindex"]), st.data())
def test_whatever_stands_in_an_index_every_record_is_found(position, junk, suffix, data):
    with LabMachines(seed=1) as world:
        disk = world.node("broker").disk
        filled(disk).close(is_clean=data.draw(st.booleans()))
        path = f"{FOLDER}/{segment_name(0)}{suffix}"
        damage(disk, path, position % (len(disk.read_whole(path)) + 1), junk)
        log = opened_log(disk, **SMALL)
        assert list(records_of(log)) == orders(60)
        offset = data.draw(st.integers(0, 59))
        assert records_of(log, offset)[0].offset == offset


@given(st.integers(0, 400), st.integers(0, 12), st.binary(max_size=12), st.integers(0, 199), st.booleans())
def test_whatever_stands_in_a_time_index_every_time_is_found(position, cut, junk, time_ms, is_reopened):
    with LabMachines(seed=1) as world:
        disk = world.node("broker").disk
        filled(disk, 200).close()
        name = [name for name in disk.list_folder(FOLDER) if name.endswith(".timeindex")][position % 3]
        whole = disk.read_whole(f"{FOLDER}/{name}")
        position %= len(whole)
        disk.write_whole(f"{FOLDER}/{name}", whole[:position] + junk + whole[position + len(junk) : len(whole) - cut])
        if is_reopened:
            opened_log(disk, **SMALL).close()
        log = opened_log(disk, **SMALL)
        assert log.offset_for_time(BEGIN_MS + time_ms) == (BEGIN_MS + time_ms, time_ms)
        assert log.offset_for_time(BEGIN_MS + 200) is None


def test_an_entry_of_time_that_points_beyond_the_log_hides_nothing(world):
    disk = world.node("broker").disk
    log = filled(disk, 100, segment_bytes=1 << 20)
    path, middle = log.segments[0].time_index.path, log.segments[0].time_index.entry_count // 2
    entry = log.segments[0].time_index.entry(middle)
    log.close()
    damage(disk, path, middle * TIME_INDEX_ENTRY.size, TIME_INDEX_ENTRY.pack(entry.key, 1 << 20))
    log = opened_log(disk, **SMALL)
    assert log.offset_for_time(entry.key + 1) == (entry.key + 1, entry.value + 1)


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("number", [0, -1])
def test_an_offset_that_no_segment_can_hold_is_damage(world, is_clean, number):
    disk = world.node("broker").disk
    log = filled(disk)
    segment = log.segments[number]
    last = list(segment.batches_from(0))[-1]
    log.close(is_clean=is_clean)
    disk.remove(segment.time_index.path)
    damage(disk, segment.path, last.position, (1 << 40).to_bytes(8, "big"))
    log = PartitionLog(disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    assert segment.path in "".join(log.load().lines)
    end = last.header.base_offset
    assert log.log_end_offset == (60 if is_clean and number == 0 else end)
    assert records_in(log.read(0, end * 100).data)[0] == orders(1)[0]
    with pytest.raises(KafkaRefusal):
        log.read(end + 1, 1)


@pytest.mark.parametrize("number", [0, 3, -2, -1])
def test_after_a_crash_a_batch_whose_offset_jumps_forward_is_damage(world, number):
    disk = world.node("broker").disk
    log = filled(disk, segment_bytes=1 << 20)
    path, batch = log.segments[0].path, list(log.segments[0].batches_from(0))[number]
    log.close(is_clean=False)
    damage(disk, path, batch.position, (batch.header.base_offset + 64).to_bytes(8, "big"))
    end = batch.header.base_offset
    assert records_of(opened_log(disk, **SMALL)) == orders(end)


def test_after_a_crash_the_holes_that_a_real_kafka_compacted_stay(world):
    disk = world.node("broker").disk
    log = filled(disk, segment_bytes=1 << 20)
    path, batches = log.segments[0].path, list(log.segments[0].batches_from(0))
    log.close(is_clean=False)
    whole = disk.read_whole(path)
    disk.write_whole(path, whole[: batches[3].position] + whole[batches[5].position :])
    log = opened_log(disk, **SMALL)
    assert (records_of(log, 25), log.log_end_offset) == (orders(35, 25), 60)


@pytest.mark.parametrize("damaged", [(9).to_bytes(8, "big"), (1 << 40).to_bytes(8, "big"), bytes(12)])
def test_a_time_behind_damage_is_refused_as_kafka_refuses_it_and_one_before_it_is_found(world, damaged):
    disk = world.node("broker").disk
    log = filled(disk)
    third = list(log.segments[0].batches_from(0))[2]
    log.close()
    damage(disk, log.segments[0].path, third.position, damaged)
    log = opened_log(disk, **SMALL)
    assert log.offset_for_time(BEGIN_MS + 9) == (BEGIN_MS + 9, 9)
    with pytest.raises(KafkaRefusal) as refused:
        log.offset_for_time(BEGIN_MS + 12)
    assert refused.value.code == KafkaErrorCode.CORRUPT_MESSAGE


def message_of_format(magic: int, value: bytes) -> bytes:
    """As Kafka's clients before 0.11 wrote it."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=1 << 20)
    builder.append(0, timestamp=BEGIN_MS, key=b"k", value=value)
    return bytes(builder.build())


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("value", [b"short", b"long" * 30])
@pytest.mark.parametrize("is_clean", [True, False])
def test_messages_in_an_older_format_are_refused_and_not_cut_off(world, magic, value, is_clean):
    disk = world.node("broker").disk
    log = filled(disk)
    path = log.segments[-1].path
    log.close(is_clean=is_clean)
    foreign = disk.read_whole(path) + message_of_format(magic, value)
    disk.write_whole(path, foreign)
    log = PartitionLog(disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    with pytest.raises(KafkaRefusal, match="older than magic 2, undamaged") as refused:
        log.load()
    assert refused.value.code == KafkaErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert disk.read_whole(path) == foreign


@pytest.mark.parametrize("magic", [0, 1])
def test_what_is_torn_or_damaged_is_cut_off_whatever_its_format(world, magic):
    disk = world.node("broker").disk
    log = filled(disk)
    path = log.segments[-1].path
    log.close()
    whole = message_of_format(magic, b"value")
    for tail in (whole[:-1], whole[:-1] + b"?"):
        disk.write_whole(path, disk.read_whole(path) + tail)
        assert records_of(opened_log(disk, **SMALL)) == orders(60)


def test_indexes_whose_log_is_gone_are_said_and_do_not_get_into_a_new_segment(world):
    disk = world.node("broker").disk
    log = filled(disk)
    last = log.segments[-1]
    log.close(is_clean=False)
    disk.remove(last.path)
    log = PartitionLog(disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    assert [line.partition(":")[0] for line in log.load().lines] == [last.index.path, last.time_index.path]
    while log.segments[-1].base_offset < last.base_offset:
        log.append(batch_of(5, log.log_end_offset))
    assert (log.segments[-1].index.entry_count, log.segments[-1].largest.offset) == (0, last.base_offset + 4)


def cut_or_grown(data: bytes, change: bytes | int) -> bytes:
    return data[:-change] if isinstance(change, int) else data + change


@given(st.one_of(st.integers(1, 3_000), st.binary(min_size=1, max_size=400)), st.integers(0, 300), st.booleans())
def test_after_a_clean_end_what_was_torn_off_or_added_is_said_and_no_new_record_gets_lost(change, index_cut, both):
    with LabMachines(seed=1) as world:
        disk = world.node("broker").disk
        filled(disk, 60, segment_bytes=1 << 20).close()
        path = f"{FOLDER}/{segment_name(0)}"
        disk.write_whole(f"{path}.log", cut_or_grown(disk.read_whole(f"{path}.log"), change))
        if both:
            index = disk.read_whole(f"{path}.index")
            disk.write_whole(f"{path}.index", index[: index_cut % (len(index) + 1)])
        log = PartitionLog(disk, StillClock(), FOLDER, PartitionLogConfig())
        report = log.load()
        assert report.lines
        end = log.log_end_offset
        assert end == 60 if isinstance(change, bytes) else end < 60
        assert list(records_of(log)) == orders(end)
        assert log.append(batch_of(5, end)).base_offset == end
        assert list(records_of(log)) == orders(end + 5)


@given(st.data(), st.sampled_from([".index", ".timeindex"]))
def test_whatever_stands_at_the_end_of_an_index_no_offset_is_given_twice_and_nothing_deleted_too_early(data, suffix):
    with LabMachines(seed=1) as world:
        disk = world.node("broker").disk
        filled(disk).close()
        name = data.draw(st.sampled_from([name for name in disk.list_folder(FOLDER) if name.endswith(suffix)]))
        length = len(disk.read_whole(f"{FOLDER}/{name}"))
        back = data.draw(st.integers(0, min(12, length)))
        damage(disk, f"{FOLDER}/{name}", length - back, data.draw(st.binary(min_size=1, max_size=12)))
        log = opened_log(disk, retention_ms=1_000_000, **SMALL)
        assert log.delete_old() == []
        assert log.offset_for_time(BEGIN_MS + 3) == (BEGIN_MS + 3, 3)
        assert log.append(batch_of(5, 60)).base_offset == 60
        assert list(records_of(log)) == orders(65)


def test_a_log_that_is_gone_after_a_flush_is_said(world):
    disk = world.node("broker").disk
    filled(disk, 20, segment_bytes=1 << 20).close()
    disk.write_whole(f"{FOLDER}/{segment_name(0)}.log", b"")
    report = PartitionLog(disk, StillClock(), FOLDER).load()
    assert "ends at offset 0, but was durable up to 20" in report.lines[-1]


def test_what_lies_behind_damage_in_an_old_segment_is_still_found_by_an_index_that_is_damaged_too(world):
    disk = world.node("broker").disk
    log = filled(disk)
    first, second = list(log.segments[0].batches_from(0))[:2]
    log.close()
    damage(disk, log.segments[0].path, first.end + 8, b"\xff\xff\xff\xff")
    path = log.segments[0].time_index.path
    disk.write_whole(path, disk.read_whole(path) + b"torn")
    again = PartitionLog(disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    report = again.load()
    assert (len(report.lines), report.cut_bytes) == (1, 0)
    assert records_of(again, second.header.next_offset + 5)[-1] == orders(60)[-1]


@pytest.mark.parametrize("base_offset", [-5, 0, 1_000])
def test_offsets_that_do_not_follow_each_other_are_not_served(world, base_offset):
    """No checksum covers them. (An offset that is wrong, but fits its neighbour, is not noticed, in Kafka either.)"""
    disk = world.node("broker").disk
    log = filled(disk, 20, segment_bytes=1 << 20)
    third = list(log.segments[0].batches_from(0))[2]
    log.close()
    damage(disk, log.segments[0].path, third.position, base_offset.to_bytes(8, "big", signed=True))
    again = opened_log(disk)
    assert again.read(0, 10_000).data == disk.read_whole(log.segments[0].path)[: third.position]
    with pytest.raises(KafkaRefusal) as refused:
        again.read(10, 10_000)
    assert refused.value.code == KafkaErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("suffix", "entry"),
    [
        (".index", (7).to_bytes(4, "big") + (1 << 20).to_bytes(4, "big")),
        (".index", (7).to_bytes(4, "big") + (-1).to_bytes(4, "big", signed=True)),
        (".index", b"torn"),
        (".timeindex", b"torn"),
    ],
)
def test_an_index_whose_end_makes_no_sense_is_made_anew(world, suffix, entry):
    disk = world.node("broker").disk
    filled(disk).close()
    before = index_bytes(disk)
    path = f"{FOLDER}/{segment_name(0)}{suffix}"
    disk.write_whole(path, disk.read_whole(path) + entry)
    log = PartitionLog(disk, StillClock(), FOLDER, PartitionLogConfig(**SMALL))
    report = log.load()
    assert len(report.lines) == 1
    assert path.removesuffix(suffix) in report.lines[0]
    log.close()
    assert index_bytes(disk) == before


def test_indexes_that_are_missing_are_made_anew_as_they_were(world):
    disk = world.node("broker").disk
    filled(disk).close()
    before = index_bytes(disk)
    for name in before:
        disk.remove(f"{FOLDER}/{name}")
    log = opened_log(disk, **SMALL)
    assert records_of(log) == orders(60)
    log.close()
    assert {name: data for name, data in index_bytes(disk).items() if name.endswith(".timeindex")} == {
        name: data for name, data in before.items() if name.endswith(".timeindex")
    }


def test_the_batches_before_a_damaged_one_are_served_and_then_the_error(world):
    disk = world.node("broker").disk
    log = filled(disk, 20, segment_bytes=1 << 20)
    log.close()
    size = read_header(disk.read_whole(log.segments[0].path)).size_bytes
    damage(disk, log.segments[0].path, 2 * size + 70, b"\xff\xff")
    again = opened_log(disk)
    assert len(again.read(0, 10_000).data) == 2 * size
    with pytest.raises(KafkaRefusal) as refused:
        again.read(10, 10_000)
    assert refused.value.code == KafkaErrorCode.CORRUPT_MESSAGE
    # What comes after it is still there.
    assert len(again.read(15, 10_000).data) == size


def test_the_leader_epochs_follow_what_is_cut_and_deleted(world):
    disk = world.node("broker").disk
    log = opened_log(disk, **SMALL)
    for epoch in range(4):
        for _ in range(4):
            log.append(batch_of(5, log.log_end_offset), leader_epoch=epoch)
    assert log.epochs.starts == [(0, 0), (1, 20), (2, 40), (3, 60)]
    assert disk.read_whole(f"{FOLDER}/leader-epoch-checkpoint") == b"0\n4\n0 0\n1 20\n2 40\n3 60\n"
    log.epochs.begins_at(25)
    assert log.epochs.starts == [(1, 25), (2, 40), (3, 60)]
    log.epochs.ends_at(60)
    assert opened_log(disk, **SMALL).epochs.starts == [(1, 25), (2, 40)]
