"""A read-only check of a whole data folder that is not in use, which reports what is damaged. RocketMQ has no such
check.

The commit log is checked first, message by message, because it is the source of truth; then each entry of the consume
queues against it; then the headers of the index files (their entries may lead anywhere, because readers compare the
key); then the tables.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.names import SCHEDULE_TOPIC
from engine.runtime.port import Clock, Disk, DiskFault
from engine.store.files.config_file import BACKUP_SUFFIX, ConfigFile
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES, FILLER_SIZE
from engine.store.files.mapping_pool import MappingPool
from engine.store.files.recovery_point import PATH as RECOVERY_POINT_PATH
from engine.store.files.recovery_point import RecoveryPoint, load_recovery_point
from engine.store.files.store_config import MessageStoreConfig
from engine.store.files.table_shapes import why_not_table
from engine.store.log.commit_log import CommitLog
from engine.store.log.commit_log_walk import CommitLogWalk
from engine.store.log.record_check import damage_of
from engine.store.log.stored_record import parse_record
from engine.store.queues.consume_queue import ConsumeQueue
from engine.store.queues.consume_queue_ext import is_ext_address
from engine.store.queues.consume_queue_table import ConsumeQueueTable
from engine.store.queues.index_file import ENTRY_SIZE_BYTES as INDEX_ENTRY_SIZE_BYTES
from engine.store.queues.index_file import HEADER_SIZE_BYTES
from engine.store.queues.index_service import FOLDER as INDEX_FOLDER

CONFIG_FOLDER = "config"
#: How many positions of each kind are kept; all are counted.
PLACES_MAX = 1_000
_ENTRIES_PER_STEP = 1_000
_INDEX_HEADER = struct.Struct(">qqqqii")


class CheckKind(Enum):
    """The kinds of data that are checked and counted separately."""

    FILE = "commit-log files"
    MESSAGE = "messages in the commit log"
    ENTRY = "entries of consume queues"
    QUEUE = "consume queues"
    INDEX = "index files"
    TABLE = "files of settings and offsets"


@dataclass(slots=True)
class Count:
    """The counts of one kind. A damaged stretch of the log counts as one message, though it may have contained
    several.
    """

    whole: int = 0
    damaged: int = 0
    places: list[str] = field(default_factory=list)

    def found(self, place: str) -> None:
        """Count damage at ``place``."""
        self.damaged += 1
        if len(self.places) < PLACES_MAX:
            self.places.append(place)


class CheckProgress(NamedTuple):
    """The progress of a check in bytes."""

    done: int
    total: int


class StoreCheck:
    """One integrity check of a store. Lock the folder, then call ``run`` once."""

    def __init__(self, disk: Disk, clock: Clock, on_progress: Callable[[CheckProgress], None] | None = None) -> None:
        self.counts = {kind: Count() for kind in CheckKind}
        self._disk = disk
        self._on_progress = on_progress
        self._done = self._total = 0
        config = MessageStoreConfig()
        pool = MappingPool(config.max_mapped_files)
        # Files keep their sizes: opening one as larger would extend it.
        self._queues = ConsumeQueueTable(disk, pool, ENTRY_SIZE_BYTES)
        self._log = CommitLog(disk, pool, clock, config, self._queues)
        self._log.files.file_size = 1

    @property
    def is_whole(self) -> bool:
        """Return whether no damage was found."""
        return not any(count.damaged for count in self.counts.values())

    def run(self) -> None:
        """Check everything."""
        for remark in self._log.files.load():
            self.counts[CheckKind.FILE].found(remark)
        for remark in self._queues.load():
            self.counts[CheckKind.QUEUE].found(remark)
        self._log.max_offset = self._log.files.end_offset
        queue_files = [file for queue in self._queues for file in queue.files.files]
        self._total = sum(file.size_bytes for file in (*self._log.files.files, *queue_files))
        point = load_recovery_point(ConfigFile(self._disk, RECOVERY_POINT_PATH))
        try:
            self._check_log(point)
            for queue in self._queues:
                self._check_queue(queue, point)
            self._check_index()
            self._check_tables()
        finally:
            self._queues.close()
            self._log.files.close()

    def _went_on(self, count: int) -> None:
        self._done += count
        if self._on_progress is not None:
            self._on_progress(CheckProgress(self._done, self._total))

    # --- commit log --------------------------------------------------------------------------------------------------

    def _check_log(self, point: RecoveryPoint | None) -> None:
        files, messages = self.counts[CheckKind.FILE], self.counts[CheckKind.MESSAGE]
        end = self._log.files.start_offset
        for file in self._log.files.files:
            if file.start_offset != end and file is not self._log.files.files[0]:
                files.found(f"bytes {end} to {file.start_offset} of the commit log are in no file")
            end = file.end_offset
            before = messages.damaged
            if self._disk.file_size_bytes(file.path):
                is_newest = file is self._log.files.files[-1]
                for place in self._damage_in(CommitLogWalk(file, file.end_offset, is_newest=is_newest)):
                    messages.found(f"{file.path}: {place}")
            if messages.damaged == before:
                files.whole += 1
            else:
                files.found(f"{file.path}: {messages.damaged - before} damaged places")
            file.close()
        if point is not None and point.flushed_offset > end:
            files.found(f"the commit log was on disk up to {point.flushed_offset}, its files end at {end}")

    def _damage_in(self, walk: CommitLogWalk) -> Iterator[str]:
        for offset, size, _, damage in walk.stretches():
            self._went_on(size)
            if damage is None:
                self.counts[CheckKind.MESSAGE].whole += 1
            else:
                yield f"positions {offset} to {offset + size}: {damage.value}"

    # --- consume queues ----------------------------------------------------------------------------------------------

    def _check_queue(self, queue: ConsumeQueue, point: RecoveryPoint | None) -> None:
        name, count = f"{queue.topic}/{queue.queue_id}", self.counts[CheckKind.QUEUE]
        extent = point.queues.get((queue.topic, queue.queue_id)) if point is not None else None
        before = self.counts[CheckKind.ENTRY].damaged
        if extent is not None and queue.max_offset < extent.max_offset:
            count.found(f"{name} ends at offset {queue.max_offset} instead of {extent.max_offset}")
        elif not queue.files.is_contiguous:
            count.found(f"{name} lacks a file in the middle")
        else:
            self._check_entries(queue, name)
            if self.counts[CheckKind.ENTRY].damaged == before:
                count.whole += 1
            else:
                count.found(f"{name}: {self.counts[CheckKind.ENTRY].damaged - before} entries lead to no whole message")
        queue.close()

    def _check_entries(self, queue: ConsumeQueue, name: str) -> None:
        count = self.counts[CheckKind.ENTRY]
        queue.correct_min_offset(self._log.min_offset)
        for start in range(queue.min_offset, queue.max_offset, _ENTRIES_PER_STEP):
            entries = queue.entries(start, _ENTRIES_PER_STEP)
            for queue_offset, (place, size, tags_code) in enumerate(entries, start):
                if size == FILLER_SIZE:
                    continue
                record = self._log.read_bytes(place, size)
                damage = damage_of(record, 0, size, place, queue, queue_offset)
                if damage is not None:
                    count.found(f"{name} offset {queue_offset} (position {place}): {damage.value}")
                elif not self._is_tags_code(tags_code, queue.topic, record, place):
                    count.found(f"{name} offset {queue_offset} (position {place}): it has the tags code of other tags")
                else:
                    count.whole += 1
            self._went_on(len(entries) * ENTRY_SIZE_BYTES)

    def _is_tags_code(self, tags_code: int, topic: str, record: bytes, place: int) -> bool:
        """Return whether the tags code is right; for a delayed message it is the delivery time, which depends on
        settings.
        """
        if topic == SCHEDULE_TOPIC or is_ext_address(tags_code):
            return True
        request = parse_record(record, 0, place, (0,))
        return request is None or request.tags_code == tags_code

    # --- index and tables --------------------------------------------------------------------------------------------

    def _check_index(self) -> None:
        count = self.counts[CheckKind.INDEX]
        for name in self._disk.list_folder(INDEX_FOLDER):
            why = self._why_index_is_damaged(f"{INDEX_FOLDER}/{name}")
            if why is None:
                count.whole += 1
            else:
                count.found(f"{INDEX_FOLDER}/{name} {why}")

    def _why_index_is_damaged(self, path: str) -> str | None:
        size = self._disk.file_size_bytes(path)
        if size < HEADER_SIZE_BYTES:
            return f"has {size} bytes, fewer than its header"
        file = self._disk.open_file(path, size)
        try:
            begin_ms, _, begin, end, slots, entries = _INDEX_HEADER.unpack(file.read_at(0, HEADER_SIZE_BYTES))
        finally:
            file.close()
        room = (size - HEADER_SIZE_BYTES) // INDEX_ENTRY_SIZE_BYTES
        fits = 0 <= begin <= end <= self._log.max_offset and begin_ms >= 0 and 0 <= slots <= entries <= room
        return None if fits else "has a damaged header"

    def _check_tables(self) -> None:
        count = self.counts[CheckKind.TABLE]
        for name in self._disk.list_folder(CONFIG_FOLDER):
            if not name.removesuffix(BACKUP_SUFFIX).endswith(".json"):
                continue
            try:
                content = loads_json(self._disk.read_whole(f"{CONFIG_FOLDER}/{name}"), values_max=None)
                why = why_not_table(name.removesuffix(BACKUP_SUFFIX), content)
            except (DiskFault, ProtocolError, ValueError) as error:
                why = f"cannot be read: {error}"
            if why is None:
                count.whole += 1
            else:
                count.found(f"{CONFIG_FOLDER}/{name} {why}")
