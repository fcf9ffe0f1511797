"""The content of the files of a Kafka partition, and its faults (Kafka: ``DumpLogSegments``).

It only reads: neither a folder nor a file is created, so that it may examine a real Kafka's files, or a read-only copy.
Records are not decompressed; a batch's checksum covers them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

from engine.kafka.log import log_segment
from engine.kafka.log.log_segment import PlacedBatch
from engine.kafka.records.error_code import KafkaRefusal
from engine.kafka.records.record_batch import HEADER_BYTES, checked_header, read_header

SUFFIXES = (log_segment.LOG_SUFFIX, log_segment.INDEX_SUFFIX, log_segment.TIME_INDEX_SUFFIX)


class DumpLine(NamedTuple):
    """One batch, entry, or rest of a file.

    :ivar fault: what is wrong with it; None when nothing is.
    """

    text: str
    fault: str | None = None


def files_of(path: Path) -> list[Path]:
    """Return the files to read: the path itself, or the files of a folder, sorted.

    Raises :class:`ValueError` when no file is found.
    """
    found = sorted(one for one in path.iterdir() if _is_known(one)) if path.is_dir() else [path]
    if not found or not all(map(_is_known, found)):
        raise ValueError(f"{path} holds no Kafka log, whose files are named by 20 digits and {', '.join(SUFFIXES)}")
    return found


def _is_known(path: Path) -> bool:
    return path.suffix in SUFFIXES and log_segment.base_offset_of(path.stem + log_segment.LOG_SUFFIX) is not None


def dump(path: Path) -> Iterator[DumpLine]:
    """Yield what is in a file that :func:`files_of` names. Raises ``OSError``."""
    base_offset = int(path.stem)
    if path.suffix == log_segment.LOG_SUFFIX:
        return _log_lines(path, base_offset)
    is_time = path.suffix == log_segment.TIME_INDEX_SUFFIX
    entry = log_segment.TIME_INDEX_ENTRY if is_time else log_segment.INDEX_ENTRY
    return _index_lines(path, base_offset, entry, is_time=is_time)


def _batches(file: BinaryIO) -> Iterator[PlacedBatch]:
    """Yield batches one after the other, unchecked, up to the first that is not whole."""
    size_bytes, position = os.fstat(file.fileno()).st_size, 0
    while size_bytes - position >= HEADER_BYTES:
        file.seek(position)
        batch = PlacedBatch(position, read_header(file.read(HEADER_BYTES)))
        if not HEADER_BYTES <= batch.header.size_bytes <= size_bytes - position:
            return
        yield batch
        position = batch.end


def _log_lines(path: Path, next_offset: int) -> Iterator[DumpLine]:
    end = 0
    with path.open("rb") as file:
        for position, header in _batches(file):
            file.seek(position)
            fault = None
            try:
                codec = checked_header(file.read(header.size_bytes)).codec.name.lower()
            except KafkaRefusal as refusal:
                codec, fault = "?", str(refusal)
            if fault is None and header.base_offset != next_offset:
                fault = f"offset {header.base_offset} where {next_offset} is next"
            text = f"byte {position}: offsets {header.base_offset} to {header.last_offset}, {codec}"
            if header.producer_id >= 0:
                text += f", producer {header.producer_id} epoch {header.producer_epoch} number {header.base_sequence}"
            yield DumpLine(f"{text}, largest time {header.max_timestamp_ms}, {header.size_bytes} bytes", fault)
            end, next_offset = position + header.size_bytes, header.next_offset
        rest = os.fstat(file.fileno()).st_size - end
    if rest:
        yield DumpLine(f"byte {end}: {rest} bytes", "they are not a whole batch")


def _index_lines(path: Path, base_offset: int, entry: Struct, *, is_time: bool) -> Iterator[DumpLine]:
    """Yield the entries with the batches that they lead to: both are in order, so that one pass is enough."""
    with path.with_suffix(log_segment.LOG_SUFFIX).open("rb") as log, path.open("rb") as index:
        batches = _batches(log)
        batch = next(batches, None)
        slot, last = 0, -1
        while len(data := index.read(entry.size)) == entry.size:
            first, second = entry.unpack(data)
            relative_offset, value = (second, first) if is_time else (first, second)
            while batch is not None and batch.header.last_offset < base_offset + relative_offset:
                batch = next(batches, None)
            text = f"entry {slot}: offset {base_offset + relative_offset}, {'time' if is_time else 'byte'} {value}"
            fault = "it does not come after the one before it" if relative_offset <= last else None
            fault = fault or _entry_fault(batch, base_offset + relative_offset, value, is_time=is_time)
            if fault and not any(data):
                data += index.read()
                text = f"from entry {slot} on: {len(data)} bytes that a running Kafka keeps in reserve"
                yield DumpLine(text, "they are not all 0" if any(data) else None)
                return
            yield DumpLine(text, fault)
            slot, last = slot + 1, relative_offset
    if data:
        yield DumpLine(f"entry {slot}: {len(data)} bytes", f"an entry has {entry.size}")


def _entry_fault(batch: PlacedBatch | None, offset: int, value: int, *, is_time: bool) -> str | None:
    if batch is None:
        return "it points beyond the log's last batch"
    header = batch.header
    if is_time:
        is_right = header.base_offset <= offset and value == header.max_timestamp_ms
        return None if is_right else f"the batch there has the largest time {header.max_timestamp_ms}"
    is_right = (offset, value) == (header.last_offset, batch.position)
    return None if is_right else f"the batch there ends with offset {header.last_offset}, at byte {batch.position}"
