"""Kafka's own reader judges the files that our partitions leave: logs, indexes, snapshots of producers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.kafka.records.compression import SPOKEN_CODECS
from engine.kafka.records.record_batch import HEADER_BYTES
from engine.runtime.live.live_disk import LiveDisk
from tests.interop.harness.real_kafka import SegmentsDump, dump_log_segments
from tests.support.kafka.partitions import FOLDER, batch_of, opened_log

pytestmark = pytest.mark.usefixtures("real_client")

_BATCH_RECORDS = 100
_JUDGED = (".log", ".index", ".timeindex", ".snapshot")
#: Nothing but the headers and what the indexes point to; only the ends of the indexes; every record unpacked.
_WAYS: Sequence[tuple[str, ...]] = (
    (),
    ("--index-sanity-check",),
    ("--verify-index-only",),
    ("--deep-iteration", "--skip-record-metadata"),
)


def _written(folder: Path, record_count: int, segment_bytes: int) -> list[Path]:
    """The files of a partition for each codec, filled by an idempotent producer and closed."""
    paths = []
    for codec in SPOKEN_CODECS:
        log = opened_log(LiveDisk(codec.name, folder / codec.name), segment_bytes=segment_bytes)
        for first in range(0, record_count, _BATCH_RECORDS):
            count = min(_BATCH_RECORDS, record_count - first)
            log.append(batch_of(count, first, codec, producer_id=7, producer_epoch=0, base_sequence=first))
        log.close()
        paths += [path for path in (folder / codec.name / FOLDER).iterdir() if path.suffix in _JUDGED]
    return sorted(paths)


@pytest.mark.parametrize(
    ("record_count", "segment_bytes", "segment_count"),
    [
        (1, 1 << 30, 1),
        (1_000, 1 << 30, 1),
        # Packed they are smaller, so that there are fewer segments.
        pytest.param(1_000_000, 1 << 24, 3, marks=pytest.mark.interop_java),
    ],
)
def test_kafka_finds_all_batches_valid_and_all_indexes_sane(
    tmp_path: Path, record_count: int, segment_bytes: int, segment_count: int
) -> None:
    paths = _written(tmp_path, record_count, segment_bytes)
    plain = [path for path in paths if path.suffix == ".log" and path.parent.parent.name == "NONE"]
    assert len(plain) == segment_count
    for options in _WAYS:
        dump = dump_log_segments(tmp_path, paths, *options)
        assert dump == SegmentsDump(record_count * len(SPOKEN_CODECS), []), options


def _damaged(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


def test_the_judge_finds_what_is_wrong(tmp_path: Path) -> None:
    """Otherwise its praise would be worth nothing."""
    paths = [path for path in _written(tmp_path, 1_000, 1 << 30) if path.parent.parent.name == "NONE"]
    log, index, time_index = (next(path for path in paths if path.suffix == suffix) for suffix in _JUDGED[:3])
    _damaged(index, 3)  # its first entry's offset
    assert "Mismatches" in "".join(dump_log_segments(tmp_path, [index]).complaints)
    _damaged(time_index, 7)  # its first entry's timestamp
    assert "mismatch" in "".join(dump_log_segments(tmp_path, [time_index]).complaints)
    log.write_bytes(log.read_bytes()[:-1])
    assert "invalid bytes" in "".join(dump_log_segments(tmp_path, [log]).complaints)
    _damaged(log, HEADER_BYTES)
    assert "isvalid: false" in "".join(dump_log_segments(tmp_path, [log]).complaints)
