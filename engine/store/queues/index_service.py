"""The index of all messages by key: a sequence of index files (RocketMQ: ``IndexService``).

Indexed are the unique id of a message and every word of its KEYS. Files are named by the time they were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from engine.protocol.message.message_properties import split_keys
from engine.protocol.system_flags import TRANSACTION_MASK, TRANSACTION_ROLLBACK_TYPE
from engine.runtime.port import Clock, Disk
from engine.store.files.mapping_pool import MappingPool
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.queues.index_file import IndexFile, index_file_size
from engine.store.queues.index_key import IndexKeyHasher, index_key_hash

FOLDER: Final = "index"
_NAME_LENGTH: Final = len("yyyyMMddHHmmssSSS")
#: The maximum number of files that one query reads, newest first.
_MAX_FILES_PER_QUERY: Final = 1_000


class IndexService:
    """A service that adds keys to the newest file, starts a new one when it is full, and searches them all.

    :ivar indexed_offset: every message that begins before it is in the index.
    :ivar last_store_timestamp: store time of the newest message in the index, ms.
    """

    def __init__(self, disk: Disk, pool: MappingPool, clock: Clock, slot_num: int, index_num: int) -> None:
        self._disk = disk
        self._pool = pool
        self._clock = clock
        self._slot_num = slot_num
        self._index_num = index_num
        self.files: list[IndexFile] = []
        self._hasher = IndexKeyHasher()
        self.indexed_offset = 0
        self.last_store_timestamp = 0

    # --- start -------------------------------------------------------------------------------------------------------

    def load(self, durable: dict[str, int], is_complete: bool, commit_log_min_offset: int) -> list[str]:
        """Find the trustworthy files, delete the others, and set ``indexed_offset`` accordingly.

        :param durable: files that were flushed when full, with their ``index_count``. All others may be torn: their
            pages may have reached the disk in any order, and a hash table shows no sign of it. They are built again
            from the commit log.
        :param is_complete: ``durable`` names all files that existed, so they contain all keys of their last message.

        Returns a line for people for every file that was deleted.
        """
        remarks = []
        expected_size = index_file_size(self._slot_num, self._index_num)
        names = [name for name in self._disk.list_folder(FOLDER) if len(name) == _NAME_LENGTH and name.isdigit()]
        why: str | None = None
        for name in sorted({**dict.fromkeys(names), **dict.fromkeys(durable)}):
            if why is None:
                why = self._why_not_trusted(name, names, durable, expected_size)
            if why is None:
                continue
            # An index must have no gaps: everything after the first bad file is rebuilt, too.
            if name in names:
                remarks.append(f"{FOLDER}/{name} {why}; it is built again from the commit log")
                self._disk.remove(f"{FOLDER}/{name}")
            else:
                remarks.append(f"{FOLDER}/{name} is missing; it is built again from the commit log")
        self.indexed_offset = commit_log_min_offset
        if self.files:
            # The keys of one message may be in two files: if the second one is gone, that message is put again.
            self.indexed_offset = self.files[-1].end_offset + (1 if is_complete and why is None else 0)
        self.last_store_timestamp = self.files[-1].end_timestamp if self.files else 0
        return remarks

    def _why_not_trusted(self, name: str, names: list[str], durable: dict[str, int], expected_size: int) -> str | None:
        """Return why a file is not trusted; None if it is whole, and then it is opened."""
        path = f"{FOLDER}/{name}"
        if name not in names:
            return "follows a missing file"
        if name not in durable:
            return "was not known to be on disk"
        size = self._disk.file_size_bytes(path)
        if size != expected_size:
            return f"has {size} bytes instead of {expected_size}"
        file = IndexFile(self._disk, self._pool, FOLDER, name, self._slot_num, self._index_num)
        if not file.is_plausible or file.index_count != durable[name]:
            file.close()
            return "has a damaged header"
        self.files.append(file)
        return None

    # --- writing -----------------------------------------------------------------------------------------------------

    def put(self, requests: Iterable[DispatchRequest]) -> None:
        """Index messages, in the order of the log. Messages that are in the index already are skipped.

        Raises ``DiskFull``, ``DiskFault``; after a second attempt some keys may be present twice, which is harmless.
        """
        indexed_offset = self.indexed_offset
        hashes: list[int] = []
        offsets: list[int] = []
        timestamps: list[int] = []
        for request in requests:
            offset = request.commit_log_offset
            if offset < indexed_offset:
                continue
            indexed_offset = offset + 1
            if request.sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK_TYPE:
                continue
            for key in _keys_of(request):
                hashes.append(self._hasher.hash_of(request.topic, key))
                offsets.append(offset)
                timestamps.append(request.store_timestamp)
        done = 0
        while done < len(hashes):
            file = self._writable()
            end = done + file.room
            file.put_keys(hashes[done:end], offsets[done:end], timestamps[done:end])
            done = end
        if timestamps:
            self.last_store_timestamp = timestamps[-1]
        self.indexed_offset = indexed_offset

    def _writable(self) -> IndexFile:
        if not self.files or self.files[-1].is_full:
            name = self._new_name()
            self.files.append(IndexFile(self._disk, self._pool, FOLDER, name, self._slot_num, self._index_num))
        return self.files[-1]

    def _new_name(self) -> str:
        """Return the time as a name that is later than every existing name, even if the clock was set back."""
        name = _time_name(self._clock.now_ms())
        last = self.files[-1].name if self.files else ""
        if name > last and not self._disk.exists(f"{FOLDER}/{name}"):
            return name
        return str(int(max(name, last)) + 1).zfill(_NAME_LENGTH)

    # --- reading -----------------------------------------------------------------------------------------------------

    def find(self, topic: str, key: str, begin_ms: int, end_ms: int) -> Iterator[int]:
        """Yield commit-log offsets of messages of ``topic`` that may have ``key``, newest first.

        Different keys may share a hash: the caller compares the keys, and stops when it has enough.
        """
        key_hash = index_key_hash(topic, key)
        for file in self.files[: -_MAX_FILES_PER_QUERY - 1 : -1]:
            if file.overlaps(begin_ms, end_ms):
                yield from file.find(key_hash, begin_ms, end_ms)

    # --- flush and retention -----------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Make all full files durable: the newest one is built again after a crash anyway. Raises ``DiskFault``."""
        for file in tuple(self.files):
            if file.is_dirty and file.is_full and file in self.files:
                await file.flush()

    def flush_now(self) -> None:
        """Make all files durable, including the newest one. Blocks."""
        for file in self.files:
            if file.is_dirty:
                file.flush_now()

    def remove_expired_files(self, commit_log_min_offset: int) -> int:
        """Delete files all of whose messages are gone, but never the last one, and return how many were deleted."""
        count = 0
        while len(self.files) > 1 and self.files[0].end_offset < commit_log_min_offset:
            file = self.files.pop(0)
            file.close()
            self._disk.remove(file.path)
            count += 1
        return count

    def close(self) -> None:
        """Unmap all files."""
        for file in self.files:
            file.close()


def _keys_of(request: DispatchRequest) -> list[str]:
    keys = [request.unique_key] if request.unique_key else []
    return keys + split_keys(request.keys) if request.keys else keys


def _time_name(now_ms: int) -> str:
    moment = datetime.fromtimestamp(now_ms // 1000, tz=UTC)
    return f"{moment:%Y%m%d%H%M%S}{now_ms % 1000:03d}"
