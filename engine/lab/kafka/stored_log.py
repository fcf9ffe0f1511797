"""The files on the disk of a Kafka broker, read without the broker: nothing of it is changed, and no virtual time
passes.

So they can be read while no process runs, and the page cache is not affected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from engine.kafka.records.error_code import KafkaRefusal
from engine.kafka.records.record_batch import BatchHeader, checked_header, decode_batch
from engine.runtime.lab.lab_file_content import PAGE_BYTES, LabFileContent
from engine.runtime.lab.lab_storage import LabStorage

#: ``Orders-0/00000000000000000012.log``
_SEGMENT = re.compile(r"(?:.*/)?(.+)-(\d+)/((\d{20})\.log)")
_INDEX_ENTRY = Struct(">ii")


class StoredRecordBatch(NamedTuple):
    """A batch in a file. ``is_flushed``: it survives a power cut. ``data``: all its bytes."""

    position: int
    header: BatchHeader
    is_flushed: bool
    data: bytes

    @property
    def end(self) -> int:
        """Return the position after the batch."""
        return self.position + len(self.data)

    def record_keys(self) -> list[tuple[int, str]]:
        """Return offset and key of each record, see :data:`KEY_HEADER`; transaction markers are left out."""
        if self.header.is_control:
            return []
        return [(record.offset, key_of(record.headers)) for record in decode_batch(self.data)]


class StoredSegment(NamedTuple):
    """One file of a partition's log.

    :ivar index_entries: offset, less the base offset, and position of each entry of the sparse index.
    :ivar torn_bytes: bytes after the last whole batch.
    """

    topic: str
    partition: int
    name: str
    base_offset: int
    size_bytes: int
    batches: tuple[StoredRecordBatch, ...]
    index_entries: tuple[tuple[int, int], ...]
    torn_bytes: int

    @property
    def next_offset(self) -> int:
        """Return the offset after the last record."""
        return self.batches[-1].header.next_offset if self.batches else self.base_offset


#: Header of a record by which checkers and pictures identify it: keys of records have another purpose, and may be the
#: same for many.
KEY_HEADER = "id"


#: Prefix of Kafka's internal topics, such as that for the offsets of groups.
_INTERNAL = "__"


def key_of(headers: tuple[tuple[str, bytes | None], ...]) -> str:
    """Return the name of the record with these headers; empty if it has none."""
    return next((value.decode("utf-8", "replace") for name, value in headers if name == KEY_HEADER and value), "")


#: File, size, flushes, dirty pages: each write changes one of them.
_State = tuple[LabFileContent, int, int, int]


class _Known(NamedTuple):
    """What was read from a file: all its ``data``, when its pages ``dirty`` were not on disk."""

    state: _State
    data: bytes
    dirty: tuple[int, ...]
    segment: StoredSegment


class StoredLogs:
    """The logs of all partitions on one disk."""

    def __init__(self, storage: LabStorage) -> None:
        self._storage = storage
        self._known: dict[str, _Known] = {}
        self._matches: dict[str, re.Match[str] | None] = {}

    def segments(self) -> list[StoredSegment]:
        """Return the segments by topic, partition and offset; the objects stay the same as long as nothing changes in
        them.
        """
        known, self._known = self._known, {}
        for path, match in self._paths():
            content = self._storage.files[path]
            state = (content, content.size_bytes, content.flush_count, len(content.dirty))
            entry = known.get(path)
            if entry is None or entry.state != state:
                entry = self._read(path, match, state, entry)
            self._known[path] = entry
        found = [entry.segment for entry in self._known.values()]
        return sorted(found, key=lambda one: (one.topic, one.partition, one.base_offset))

    def _paths(self) -> Iterator[tuple[str, re.Match[str]]]:
        for path in self._storage.files:
            if path not in self._matches:
                self._matches[path] = _SEGMENT.fullmatch(path)
            match = self._matches[path]
            if match is not None and not match[1].startswith(_INTERNAL):
                yield path, match

    def _read(self, path: str, match: re.Match[str], state: _State, before: _Known | None) -> _Known:
        content, size_bytes, _, _ = state
        topic, partition, name, base_offset = match.groups()
        data, dirty = content.read(0, size_bytes), tuple(content.dirty)
        batches = [] if before is None else _kept(before, data, dirty)
        torn_bytes = _read_on(batches, data, content)
        index = _index(self._storage.files.get(f"{path.removesuffix('.log')}.index"))
        where = (topic, int(partition), name, int(base_offset))
        segment = StoredSegment(*where, size_bytes, tuple(batches), tuple(index), torn_bytes)
        return _Known(state, data, dirty, segment)


def _kept(before: _Known, data: bytes, dirty: tuple[int, ...]) -> list[StoredRecordBatch]:
    """Return the batches that need not be read again because the file has only grown after them: otherwise a log would
    be read as often as it has batches. The former last page may have been written since.
    """
    last_page = len(before.data) // PAGE_BYTES
    if not data.startswith(before.data) or _below(last_page, dirty) != _below(last_page, before.dirty):
        return []
    batches = list(before.segment.batches)
    while batches and batches[-1].end > last_page * PAGE_BYTES:
        batches.pop()
    return batches


def _below(page: int, dirty: tuple[int, ...]) -> list[int]:
    return sorted(number for number in dirty if number < page)


def _read_on(batches: list[StoredRecordBatch], data: bytes, content: LabFileContent) -> int:
    """Add the batches after the known ones; return how many bytes follow that are not a batch."""
    position = batches[-1].end if batches else 0
    while position < len(data):
        try:
            header = checked_header(data, position)
        except KafkaRefusal:
            break
        end = position + header.size_bytes
        pages = range(position // PAGE_BYTES, -(-end // PAGE_BYTES))
        is_flushed = not any(page in content.dirty for page in pages)
        batches.append(StoredRecordBatch(position, header, is_flushed, data[position:end]))
        position = end
    return len(data) - position


def _index(content: LabFileContent | None) -> Iterator[tuple[int, int]]:
    """Yield the index entries. A file with reserved space has zeros at its end."""
    data = b"" if content is None else content.read(0, content.size_bytes)
    for entry in _INDEX_ENTRY.iter_unpack(data[: len(data) - len(data) % _INDEX_ENTRY.size]):
        if entry == (0, 0):
            return
        yield entry
