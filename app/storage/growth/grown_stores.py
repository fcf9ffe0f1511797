"""Both stores as growth needs them: written to, opened again after a clean end or a kill, and searched for single
records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from app.storage.growth.access_counter import AccessCounter
from app.storage.laboratory.traced_runtime import TracedRuntime
from engine.kafka.log.log_segment import LOG_SUFFIX
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import decode_batch, encode_batch
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.store_message import StoreMessage
from engine.store.message_store import MessageStore

#: Records in one batch, when there are that many for each topic, and the size of each body.
BATCH = 100
MESSAGE_BYTES = 128

_BODY = bytes(range(MESSAGE_BYTES))
_HOST = "192.0.2.1:10911"


def batches_of(topics: int, messages: int) -> Iterator[tuple[int, int]]:
    """Yield (topic, count) in turn, ``messages`` in all; fewer at a time where there are hardly more messages than
    topics.
    """
    batch = min(BATCH, messages // topics)
    number = 0
    while messages > 0:
        yield number % topics, min(batch, messages)
        messages -= batch
        number += 1


class GrownStore(Protocol):
    """One of the stores, below a folder of its own.

    :ivar counter: counts all its accesses.
    """

    name: str
    counter: AccessCounter

    def load(self) -> None:
        """Open and repair the stored files."""
        ...

    def write(self, topic: int, count: int) -> None:
        """Append this many messages."""
        ...

    def written(self) -> None:
        """Note that all has been appended, and make everything visible to readers."""
        ...

    def look_up(self, topic: int, offset: int) -> None:
        """Read one record by its offset."""
        ...

    def end(self, *, is_clean: bool) -> None:
        """End cleanly, or as a kill of the process does."""
        ...

    def index_bytes(self) -> int:
        """Return the bytes of what leads from an offset to a record."""
        ...

    def close(self) -> None:
        """End the threads of the disk."""
        ...


class GrownRocketmq:
    """RocketMQ's store: one commit log for all topics, one queue of entries for each."""

    name = "rocketmq"

    def __init__(self, folder: Path) -> None:
        self.counter = AccessCounter("commitlog/")
        self._runtime = TracedRuntime(self.name, folder, self.counter.note)
        self._loop = asyncio.new_event_loop()
        self._open()

    def _open(self) -> None:
        self._store = MessageStore(self._runtime, MessageStoreConfig(message_index_enable=False))

    def load(self) -> None:
        self._store.load()
        self._loop.run_until_complete(self._start())

    async def _start(self) -> None:
        self._store.start()

    def write(self, topic: int, count: int) -> None:
        self._loop.run_until_complete(self._write(f"Topic{topic}", count))

    async def _write(self, topic: str, count: int) -> None:
        for _ in range(count):
            message = StoreMessage(
                topic=topic,
                queue_id=0,
                body=_BODY,
                properties_string="",
                born_timestamp=self._runtime.clock.now_ms(),
                born_host=_HOST,
                store_host=_HOST,
            )
            result = self._store.put_message(message)
            if not result.is_ok:  # the disk may be full
                raise OSError(result.remark)

    def written(self) -> None:
        self._store.dispatcher.drain()

    def look_up(self, topic: int, offset: int) -> None:
        found = self._store.message_in_queue(f"Topic{topic}", 0, offset)
        assert found is not None

    def end(self, *, is_clean: bool) -> None:
        self._loop.run_until_complete(self._store.shutdown() if is_clean else self._store.abandon())
        self._open()

    def index_bytes(self) -> int:
        return sum(queue.max_offset - queue.min_offset for queue in self._store.parts.consume_queues) * ENTRY_SIZE_BYTES

    def close(self) -> None:
        self._loop.close()
        self._runtime.close()


class GrownKafka:
    """Kafka's store: one log for each topic, which has one partition here."""

    name = "kafka"

    def __init__(self, folder: Path, topics: int) -> None:
        self.counter = AccessCounter(LOG_SUFFIX)
        self._runtime = TracedRuntime(self.name, folder, self.counter.note)
        self._topics = topics
        self._logs: list[PartitionLog] = []

    def load(self) -> None:
        disk, clock = self._runtime.disk, self._runtime.clock
        self._logs = [PartitionLog(disk, clock, f"Topic{topic}-0") for topic in range(self._topics)]
        for log in self._logs:
            log.load()

    def write(self, topic: int, count: int) -> None:
        now_ms = self._runtime.clock.now_ms()
        self._logs[topic].append(encode_batch([Record(0, now_ms, None, _BODY)] * count))

    def written(self) -> None:
        """Do nothing: all is visible already."""

    def look_up(self, topic: int, offset: int) -> None:
        data = self._logs[topic].read(offset, 1).data
        assert any(record.offset == offset for record in decode_batch(data))

    def end(self, *, is_clean: bool) -> None:
        for log in self._logs:
            log.close(is_clean=is_clean)

    def index_bytes(self) -> int:
        segments = [segment for log in self._logs for segment in log.segments]
        return sum(segment.index.size_bytes + segment.time_index.size_bytes for segment in segments)

    def close(self) -> None:
        self._runtime.close()
