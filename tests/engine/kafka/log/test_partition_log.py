"""A partition: append, read, look-ups by offset and time, rolling, retention, idempotent producers."""

from __future__ import annotations

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kafka.log.log_segment import Lookup
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.records.compression import Codec
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import HEADER, encode_batch, read_header
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.port import Disk, DiskFull
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
def disk():
    with LabMachines(seed=1) as world:
        yield world.node("broker").disk


def code_of(action, *arguments) -> KafkaErrorCode:
    with pytest.raises(KafkaRefusal) as refused:
        action(*arguments)
    return refused.value.code


def test_records_get_offsets_in_the_order_of_their_batches(disk):
    log = opened_log(disk)
    assert log.append(batch_of(3))[:2] == (0, 2)
    assert log.append(batch_of(2, 3, Codec.ZSTD) + batch_of(1, 5))[:2] == (3, 5)
    assert records_of(log) == orders(6)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (0, 6, 6)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.data())
def test_every_offset_is_found_in_its_batch_by_few_steps(sizes, data):
    with LabMachines(seed=1) as world:
        log = opened_log(world.node("broker").disk, **SMALL)
        batches, first = [], 0
        for size in sizes:
            log.append(batch_of(size, first))
            batches.append(range(first, first + size))
            first += size
        offset = data.draw(st.integers(0, first - 1))
        location = log.locate(offset)
        found = location.lookup.batch
        assert found is not None
        assert range(found.header.base_offset, found.header.next_offset) == next(b for b in batches if offset in b)
        # Between two entries of the index there is little more than its interval.
        assert found.position - location.lookup.scanned_from <= 200 + 2 * max(b.size_bytes for b in _headers(log))
        assert len(location.lookup.probes) <= location.segment.index.entry_count.bit_length()
        assert records_in(log.read(offset, 1).data) == orders(
            len(next(b for b in batches if offset in b)), min(next(b for b in batches if offset in b))
        )


def _headers(log: PartitionLog):
    return [batch.header for segment in log.segments for batch in segment.batches_from(0)]


def test_the_index_is_sparse_and_points_to_batches(disk):
    log = opened_log(disk, index_interval_bytes=400)
    for first in range(0, 100, 5):
        log.append(batch_of(5, first))
    (segment,) = log.segments
    batches = {batch.position: batch.header for batch in segment.batches_from(0)}
    entries = [segment.index.entry(slot) for slot in range(segment.index.entry_count)]
    size = next(iter(batches.values())).size_bytes
    # A batch gets an entry when more than the interval is between it and the last one that has one.
    every = 400 // size + 1
    assert [entry.value for entry in entries] == list(batches)[every::every]
    assert all(batches[entry.value].last_offset == entry.key for entry in entries)
    times = [segment.time_index.entry(slot) for slot in range(segment.time_index.entry_count)]
    assert [(time.key - BEGIN_MS, time.value) for time in times] == [(entry.key, entry.key) for entry in entries]


def test_a_lookup_costs_the_reads_that_it_tells(disk):
    accesses = []
    log = opened_log(TracedDisk(disk, accesses.append), index_interval_bytes=400)
    for first in range(0, 500, 5):
        log.append(batch_of(5, first))
    accesses.clear()
    lookup = log.locate(333).lookup
    reads = [access for access in accesses if access.kind is AccessKind.READ]
    assert [access.position for access in reads if access.path.endswith(".index")] == [
        probe.slot * 8 for probe in lookup.probes
    ]
    assert sum(access.path.endswith(".log") for access in reads) == lookup.passed + 1
    assert len(reads) == len(accesses)


def test_a_full_segment_is_followed_by_one_named_by_its_first_offset(disk):
    log = opened_log(disk, **SMALL)
    for first in range(0, 60, 5):
        log.append(batch_of(5, first))
    assert len(log.segments) > 1
    assert all(segment.size_bytes <= 1_500 for segment in log.segments)
    for segment in log.segments:
        name = f"{segment.base_offset:020d}"
        assert {f"{name}.log", f"{name}.index", f"{name}.timeindex"} <= set(disk.list_folder(FOLDER))
        batch = segment.batch_at(0)
        assert batch is not None
        assert batch.header.base_offset == segment.base_offset
    assert records_of(log) == orders(60)


def test_a_segment_takes_no_records_that_are_much_younger_than_its_first(disk):
    log = opened_log(disk, segment_ms=1_000)
    for time_ms in (0, 900, 1_001, 1_500):
        log.append(encode_batch([Record(0, BEGIN_MS + time_ms, None, b"x")]))
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_full_index_ends_its_segment(disk):
    log = opened_log(disk, segment_index_bytes=16, index_interval_bytes=100)
    for first in range(20):
        log.append(batch_of(2, first))
    assert max(segment.index.entry_count for segment in log.segments) == 2


def test_one_fetch_brings_whole_batches_up_to_its_limit_and_always_one(disk):
    log = opened_log(disk)
    for first in range(0, 50, 5):
        log.append(batch_of(5, first))
    size = read_header(log.read(0, 1).data).size_bytes
    assert len(log.read(0, 1).data) == size
    assert len(log.read(7, 3 * size + 10).data) == 3 * size
    assert log.read(50, 1_000) == (b"", 50, 0)


def test_an_offset_that_is_not_there_is_refused(disk):
    log = opened_log(disk)
    log.append(batch_of(5))
    assert code_of(log.read, 6, 100) == KafkaErrorCode.OFFSET_OUT_OF_RANGE
    assert code_of(log.read, -1, 100) == KafkaErrorCode.OFFSET_OUT_OF_RANGE


@given(
    st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=4), min_size=1, max_size=25),
    st.integers(-5, 310),
    st.sampled_from([Codec.NONE, Codec.LZ4]),
)
def test_a_time_leads_to_the_first_record_that_is_not_older(batches, time_ms, codec):
    with LabMachines(seed=1) as world:
        log = opened_log(world.node("broker").disk, **SMALL)
        all_times = []
        for times in batches:
            log.append(encode_batch([Record(0, BEGIN_MS + one, b"k", b"v" * 30) for one in times], codec))
            all_times += times
        expected = next(((BEGIN_MS + one, offset) for offset, one in enumerate(all_times) if one >= time_ms), None)
        assert log.offset_for_time(BEGIN_MS + time_ms) == expected


def test_old_segments_are_deleted_and_never_the_one_that_is_written_to(disk):
    clock = StillClock()
    log = opened_log(disk, clock, retention_ms=10_000, **SMALL)
    for first in range(0, 60, 5):
        log.append(batch_of(5, first))
    assert log.delete_old() == []
    second = log.segments[1].base_offset
    clock.time_ms = log.segments[0].largest.timestamp_ms + 10_001
    assert log.delete_old() == [f"{FOLDER}/{0:020d}.log"]
    assert log.log_start_offset == second
    assert code_of(log.read, 0, 1) == KafkaErrorCode.OFFSET_OUT_OF_RANGE
    assert records_of(log) == orders(60 - second, second)
    clock.time_ms += 1_000_000
    log.delete_old()
    assert len(log.segments) == 1
    log.close()
    assert opened_log(disk, **SMALL).log_start_offset == log.log_start_offset


def test_retention_by_size_keeps_what_would_bring_the_log_below_it(disk):
    log = opened_log(disk, retention_bytes=3_000, **SMALL)
    for first in range(0, 100, 5):
        log.append(batch_of(5, first))
    log.delete_old()
    assert 3_000 <= log.size_bytes < 3_000 + log.segments[0].size_bytes


# --- what is refused -------------------------------------------------------------------------------------------------


def with_header(**fields: int) -> bytes:
    """A batch with another header, and a checksum that fits."""
    batch = batch_of(3)
    packed = HEADER.pack(*read_header(batch)._replace(**fields)) + batch[HEADER.size :]
    return packed[:17] + google_crc32c.value(packed[21:]).to_bytes(4, "big") + packed[21:]


@pytest.mark.parametrize(
    ("batches", "code"),
    [
        (b"", KafkaErrorCode.INVALID_RECORD),
        (b"no batch at all", KafkaErrorCode.CORRUPT_MESSAGE),
        (batch_of(3)[:-1], KafkaErrorCode.CORRUPT_MESSAGE),
        (batch_of(3) + batch_of(3)[:-1] + b"?", KafkaErrorCode.CORRUPT_MESSAGE),
        (with_header(magic=1), KafkaErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (with_header(attributes=6), KafkaErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (with_header(record_count=0, last_offset_delta=-1), KafkaErrorCode.INVALID_RECORD),
        (with_header(last_offset_delta=7), KafkaErrorCode.INVALID_RECORD),
        (encode_batch([Record(0, 0, None, bytes(5_000))]), KafkaErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_what_is_no_batch_is_refused_and_nothing_of_it_appended(disk, batches, code):
    log = opened_log(disk, max_message_bytes=4_000)
    log.append(batch_of(2))
    assert code_of(log.append, batches) == code
    assert (log.log_end_offset, records_of(log)) == (2, orders(2))


def test_a_batch_packed_with_a_codec_that_we_cannot_open_is_kept_for_those_who_can(disk):
    log = opened_log(disk)
    log.append(with_header(attributes=Codec.SNAPPY))
    assert log.log_end_offset == 3
    assert read_header(log.read(0, 1).data).codec is Codec.SNAPPY


class _FullForIndexes:
    """A disk with room for everything but the indexes, as long as ``is_full``."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.is_full = False

    def __getattr__(self, name: str):
        return getattr(self._disk, name)

    def open_append(self, path: str):
        if self.is_full and path.endswith("index"):
            raise DiskFull(f"cannot open {path}")
        return self._disk.open_append(path)


def test_a_disk_that_is_full_for_an_index_costs_its_entries_and_no_offset_is_given_twice(disk):
    full = _FullForIndexes(disk)
    log = opened_log(full, index_interval_bytes=200)
    log.append(batch_of(5))
    full.is_full = True
    for first in (5, 10, 15):
        assert log.append(batch_of(5, first)).base_offset == first
    full.is_full = False
    log.append(batch_of(5, 20))
    assert records_of(log) == orders(25)
    assert log.segments[0].index.last().key == 24


# --- idempotent producers --------------------------------------------------------------------------------------------


def sent(count: int, sequence: int, epoch: int = 0, producer_id: int = 7) -> bytes:
    return batch_of(count, sequence, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_a_batch_that_comes_again_keeps_the_offsets_of_the_first_time(disk):
    log = opened_log(disk)
    for sequence in range(0, 10, 2):
        log.append(sent(2, sequence))
    log.append(batch_of(1))
    for sequence in range(0, 10, 2):
        again = log.append(sent(2, sequence))
        assert (again.base_offset, again.last_offset, again.is_duplicate) == (sequence, sequence + 1, True)
    assert log.log_end_offset == 11


def test_a_batch_that_overtook_another_is_refused(disk):
    log = opened_log(disk)
    log.append(sent(2, 0))
    assert code_of(log.append, sent(2, 4)) == KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(log.append, sent(1, 1)) == KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append(sent(2, 2))
    assert records_of(log) == orders(4)


def test_the_sixth_batch_before_the_last_is_not_known_any_more(disk):
    log = opened_log(disk)
    for sequence in range(6):
        log.append(sent(1, sequence))
    assert log.append(sent(1, 1)).is_duplicate
    assert code_of(log.append, sent(1, 0)) == KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_epoch_ends_the_one_before_it_and_counts_from_0(disk):
    log = opened_log(disk)
    log.append(sent(3, 0))
    assert code_of(log.append, sent(1, 3, epoch=1)) == KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.append(sent(1, 0, epoch=1))
    assert code_of(log.append, sent(1, 3, epoch=0)) == KafkaErrorCode.INVALID_PRODUCER_EPOCH


def test_numbers_go_round(disk):
    log = opened_log(disk)
    last = (1 << 31) - 1
    log.append(sent(1, 0))
    log.producers.producers[7].batches[-1] = log.producers.producers[7].batches[-1]._replace(last_sequence=last - 1)
    log.append(encode_batch(orders(3, 1), producer_id=7, producer_epoch=0, base_sequence=last))
    log.append(sent(1, 2))
    assert log.log_end_offset == 5


@pytest.mark.parametrize("is_clean", [True, False])
def test_the_numbers_survive_the_end_of_the_process(disk, is_clean):
    log = opened_log(disk)
    log.append(sent(2, 0))
    log.append(sent(2, 2, producer_id=8))
    log.append(sent(3, 2))
    log.close(is_clean=is_clean)
    again = opened_log(disk)
    assert again.append(sent(3, 2))[:2] == (4, 6)
    assert code_of(again.append, sent(2, 9)) == KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert again.append(sent(2, 5)).base_offset == 7


def test_a_lookup_behind_the_last_batch_finds_none(disk):
    log = opened_log(disk)
    log.append(batch_of(3))
    assert log.locate(3).lookup == Lookup((), 0, 1, None)
