"""A producer of records (Kafka: ``KafkaProducer``)."""

from __future__ import annotations

import asyncio

from engine.kafka.client.cluster_metadata import ClusterMetadata
from engine.kafka.client.errors import (
    Disconnected,
    IllegalTransactionStep,
    ProducerClosed,
    SendRefused,
    TransactionFailed,
)
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.client.partitioner import Partitioner
from engine.kafka.client.producer_batch import RecordMetadata, size_of
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.client.record_accumulator import RecordAccumulator
from engine.kafka.client.sender import Sender
from engine.kafka.client.transaction_manager import TransactionManager
from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.records.record import Record
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.cluster import MetadataRequest, MetadataResponse
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.future_waits import all_ended
from engine.runtime.port import Runtime


class KafkaProducer:
    """Send records: ``start()``, ``await send(...)``, ``await close()``.

    With a ``transactional_id``: ``await init_transactions()`` once; then, any number of times, ``begin_transaction()``,
    sends, ``await commit_transaction()`` or ``await abort_transaction()``.

    :ivar accumulator, sender, client, metadata, transactions: its parts, for inspection.
    """

    def __init__(self, runtime: Runtime, config: KafkaProducerConfig) -> None:
        self.config = config
        self.client = KafkaNetworkClient(
            runtime,
            config.bootstrap,
            config.client_id,
            request_timeout_ms=config.request_timeout_ms,
            max_in_flight=config.max_in_flight,
        )
        self.accumulator = RecordAccumulator(config, runtime.clock, self.client.wake)
        self.metadata = ClusterMetadata(runtime, config.bootstrap, config.client_id, config.retry_backoff_ms)
        self.transactions: TransactionManager | None = None
        if config.transactional_id:
            self.transactions = TransactionManager(config, self.client)
        self.sender = Sender(config, self.accumulator, self.client, self.metadata, runtime.clock, self.transactions)
        self._clock = runtime.clock
        self._partitioners: dict[str, Partitioner] = {}
        self._tasks = BackgroundTasks(f"{runtime.node_name}/kafka-producer")
        self._is_closed = False

    def start(self) -> None:
        """Start the sender on the current event loop."""
        self._tasks.spawn(self.sender.run(), "sender")

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Hand a record to the accumulator; the result says where it was stored, or raises ``KafkaClientError``.

        Waits while the memory is full, and once for the topic's partitions. Raises :class:`BufferExhausted`,
        :class:`ProducerClosed`, :class:`Disconnected`, :class:`SendRefused`; for a transactional producer also
        :class:`IllegalTransactionStep` outside a transaction and :class:`TransactionFailed` in one that failed.
        """
        if self._is_closed:
            raise ProducerClosed("it was closed")
        record = Record(0, self._clock.now_ms() if timestamp_ms is None else timestamp_ms, key, value, headers)
        if partition is None:
            partition = (await self._partitioner(topic)).choose(key, size_of(record, None))
        place = TopicPartition(topic, partition)
        if self.transactions is not None:
            self.transactions.record_goes_to(place)
        return await self.accumulator.append(place, record)

    # --- transactions ------------------------------------------------------------------------------------------------

    async def init_transactions(self) -> None:
        """Use the transactional id from now on: the open transaction of an earlier process is aborted, and that process
        is fenced.

        Raises :class:`IllegalTransactionStep`, :class:`Disconnected` after ``max.block.ms``, :class:`SendRefused`.
        """
        await self._transactional().init()

    def begin_transaction(self) -> None:
        """Begin a transaction. Raises :class:`IllegalTransactionStep`, :class:`ProducerFenced`."""
        self._transactional().begin()

    async def commit_transaction(self) -> None:
        """Commit everything that was sent since the beginning, or nothing, as :meth:`TransactionManager.end` does."""
        await self._transactional().end(self.flush, is_commit=True)

    async def abort_transaction(self) -> None:
        """Abort everything that was sent since the beginning, as :meth:`TransactionManager.end` does."""
        self.sender.drop_waiting(TransactionFailed("the transaction was aborted before this was sent"))
        await self._transactional().end(self.flush, is_commit=False)

    def _transactional(self) -> TransactionManager:
        if self.transactions is None:
            raise IllegalTransactionStep("the producer has no transactional_id")
        return self.transactions

    # --- end ---------------------------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Send everything now, and wait until it is acknowledged or given up."""
        batches = [*self.accumulator.waiting(), *self.sender.in_flight]
        results = [result for batch in batches for result in batch.results]
        self.accumulator.flushes_in_progress += 1
        self.client.wake()
        try:
            await all_ended(results)
        finally:
            self.accumulator.flushes_in_progress -= 1

    async def close(self) -> None:
        """Flush, then close."""
        self._is_closed = True
        await self.flush()
        await self.abandon()

    async def abandon(self) -> None:
        """Close immediately: records that wait or are in flight are given up."""
        self._is_closed = True
        await self._tasks.stop()
        self.metadata.close()
        self.client.close()
        for batch in self.accumulator.waiting():
            text = "the producer was closed before the record was acknowledged"
            batch.failed(ProducerClosed(text) if batch.tries == 0 else Disconnected(text))

    async def _partitioner(self, topic: str) -> Partitioner:
        known = self._partitioners.get(topic)
        if known is None:
            answer = await self.metadata.ask(MetadataRequest((topic,)), MetadataResponse)
            (found,) = answer.topics
            if found.error_code:
                code = KafkaErrorCode(found.error_code)
                raise SendRefused(code, f"topic {topic}: {code.name}")
            known = self._partitioners[topic] = Partitioner(len(found.partitions), self.config.batch_size)
        return known
