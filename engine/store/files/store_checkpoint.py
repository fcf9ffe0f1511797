"""The file ``checkpoint``: the store time up to which everything is on disk (RocketMQ: ``StoreCheckpoint``).

    | int64 commit log | int64 consume queues | int64 index | unused, 4096 bytes in all |      times in ms since 1970

RocketMQ recovers from these times, minus 3 s to be safe. But a clock can be set back, and then a checkpoint with future
times makes RocketMQ skip messages. This store recovers from positions instead
(:mod:`engine.store.files.recovery_point`). It keeps the file so that RocketMQ's broker and tools understand the data
folder, and mentions at the start when it contradicts the log.
"""

from __future__ import annotations

import struct

from engine.runtime.port import Disk, DiskFile

PATH = "checkpoint"
SIZE_BYTES = 4096
TIMES = struct.Struct(">qqq")
TIMES_FIELDS = ("commit_log_timestamp", "consume_queue_timestamp", "index_timestamp")


class StoreCheckpoint:
    """The three times, in ms; 0 if unknown.

    :ivar was_missing: the file did not exist.
    """

    __slots__ = ("_file", "commit_log_timestamp", "consume_queue_timestamp", "index_timestamp", "was_missing")

    def __init__(self, disk: Disk) -> None:
        self.was_missing = not disk.exists(PATH)
        self._file: DiskFile = disk.open_file(PATH, SIZE_BYTES)
        self.commit_log_timestamp, self.consume_queue_timestamp, self.index_timestamp = TIMES.unpack(
            self._file.read_at(0, TIMES.size)
        )

    def _write(self) -> None:
        self._file.write_at(
            0, TIMES.pack(self.commit_log_timestamp, self.consume_queue_timestamp, self.index_timestamp)
        )

    async def flush(self) -> None:
        """Write the times and make them durable. Raises ``DiskFault``."""
        self._write()
        await self._file.flush(0, SIZE_BYTES)

    def flush_now(self) -> None:
        """Write the times as :meth:`flush` does, but block."""
        self._write()
        self._file.flush_now()

    def close(self) -> None:
        """Unmap the file."""
        self._file.close()
