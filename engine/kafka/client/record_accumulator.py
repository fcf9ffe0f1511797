"""A queue of batches for each partition, where records wait to be sent together (Kafka: ``RecordAccumulator``).

New records join the last batch of their partition's queue. The sender takes the first batch when it is full, has waited
``linger.ms``, a flush is in progress, or memory runs short.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from engine.kafka.client.errors import BufferExhausted
from engine.kafka.client.producer_batch import BatchState, ProducerBatch, RecordMetadata, size_of
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import HEADER_BYTES
from engine.kafka.records.topic_partition import TopicPartition
from engine.runtime.port import Clock


class RecordAccumulator:
    """Gather records into batches.

    :ivar rows: partition -> batches that wait, the next one first.
    :ivar used_bytes: size of all batches that are neither acknowledged nor given up.
    :ivar flushes_in_progress: number of callers that wait for everything to be sent; while there is one, no batch
        lingers.
    """

    def __init__(self, config: KafkaProducerConfig, clock: Clock, wake_sender: Callable[[], None]) -> None:
        self._config = config
        self._clock = clock
        self._wake_sender = wake_sender
        self.rows: dict[TopicPartition, deque[ProducerBatch]] = {}
        self.used_bytes = 0
        self.flushes_in_progress = 0
        self._room: deque[asyncio.Future[None]] = deque()

    async def append(self, place: TopicPartition, record: Record) -> asyncio.Future[RecordMetadata]:
        """Queue ``record``; return its future result. Raises :class:`BufferExhausted`."""
        row = self.rows.setdefault(place, deque())
        size_bytes = size_of(record, row[-1] if row else None)
        await self._reserve(size_bytes)
        # Other callers may have added to the row while this one waited.
        is_new = not row or not row[-1].has_room(size_bytes, self._config.batch_size)
        if is_new:
            row.append(ProducerBatch(place, self._clock.now_ms()))
        result: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        row[-1].add(record, size_bytes, result)
        if is_new or row[-1].size_bytes >= self._config.batch_size:
            self._wake_sender()
        return result

    async def _reserve(self, size_bytes: int) -> None:
        while self.used_bytes and self.used_bytes + size_bytes > self._config.buffer_memory:
            room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._room.append(room)
            self._wake_sender()
            try:
                async with asyncio.timeout(self._config.max_block_ms / 1_000):
                    await room
            except TimeoutError as error:
                raise BufferExhausted(
                    f"no room for {size_bytes} bytes within {self._config.max_block_ms} ms: "
                    f"{self.used_bytes} of {self._config.buffer_memory} bytes wait or are on their way"
                ) from error
        self.used_bytes += size_bytes

    def release(self, batch: ProducerBatch) -> None:
        """Free the memory of a batch."""
        self.used_bytes -= batch.size_bytes - HEADER_BYTES
        while self._room:
            room = self._room.popleft()
            if not room.done():
                room.set_result(None)
                break

    def wait_ms(self, batch: ProducerBatch, row_length: int) -> int:
        """Return how many ms the first batch of a row still has to wait; 0: it may be sent."""
        now_ms = self._clock.now_ms()
        if batch.state is BatchState.WAITING:
            return max(0, batch.not_before_ms - now_ms)
        is_full = row_length > 1 or batch.size_bytes >= self._config.batch_size
        if is_full or self.flushes_in_progress or self._room:
            return 0
        return max(0, batch.created_ms + self._config.linger_ms - now_ms)

    def next_wait_ms(self) -> int | None:
        """Return the ms until the first batch of any row may be sent; None if none waits."""
        return min((self.wait_ms(row[0], len(row)) for row in self.rows.values() if row), default=None)

    def drain(self, has_leader: Callable[[TopicPartition], bool]) -> list[ProducerBatch]:
        """Return the first batch of each row that may be sent. They accept no more records."""
        drained = []
        for place, row in self.rows.items():
            if row and self.wait_ms(row[0], len(row)) == 0 and has_leader(place):
                batch = row.popleft()
                batch.go(BatchState.IN_FLIGHT)
                drained.append(batch)
        return drained

    def put_back(self, batch: ProducerBatch) -> None:
        """Queue a batch again, before those that were numbered after it."""
        batch.go(BatchState.WAITING)
        batch.not_before_ms = self._clock.now_ms() + self._config.retry_backoff_ms
        row = self.rows[batch.place]
        number = 0
        while number < len(row) and 0 <= row[number].base_sequence < batch.base_sequence:
            number += 1
        row.insert(number, batch)

    def waiting(self) -> list[ProducerBatch]:
        """Return all batches, row by row."""
        return [batch for row in self.rows.values() for batch in row]
