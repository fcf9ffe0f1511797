"""The producer's sender: takes batches from the accumulator, sends them, and handles the responses (Kafka: ``Sender``,
``TransactionManager``).

With idempotence each batch gets its sequence numbers when it is first sent, and keeps them in every retry: the broker
recognises a batch that it has, and refuses one that comes before its predecessor. A batch that is given up leaves a gap
in the numbers; the producer then requests a new id as soon as nothing is in flight, and counts from 0 again. A
transactional producer gets its id from the coordinator, and a batch that is given up fails its transaction.
"""

from __future__ import annotations

import logging

from engine.kafka.client.cluster_metadata import MOVED, ClusterMetadata
from engine.kafka.client.errors import DeliveryTimedOut, Disconnected, SendRefused
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.client.producer_batch import NO_PRODUCER_ID, BatchState, ProducerBatch, ProducerId
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.client.record_accumulator import RecordAccumulator
from engine.kafka.client.transaction_manager import TransactionManager
from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.cluster import InitProducerIdRequest, InitProducerIdResponse
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.produce import PartitionBatches, ProduceRequest, ProduceResponse, TopicBatches
from engine.runtime.port import Clock

#: Errors worth another try: they may be temporary, or the batch did not arrive intact.
RETRIABLE = (
    KafkaErrorCode.CORRUPT_MESSAGE,
    KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    KafkaErrorCode.NOT_LEADER_OR_FOLLOWER,
    KafkaErrorCode.REQUEST_TIMED_OUT,
    KafkaErrorCode.NOT_ENOUGH_REPLICAS,
    KafkaErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaErrorCode.KAFKA_STORAGE_ERROR,
    # The batch before it is being sent again.
    KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
)
#: Longest wait of the sender in ms.
_IDLE_MS = 60_000
_SEQUENCES = 1 << 31

_log = logging.getLogger("glassmq.kafka")


class Sender:
    """Send batches and handle the responses.

    :ivar in_flight: batches that were sent and are not answered yet, in the order in which they were sent.
    :ivar owner: the producer's current id and epoch.
    """

    def __init__(
        self,
        config: KafkaProducerConfig,
        accumulator: RecordAccumulator,
        client: KafkaNetworkClient,
        metadata: ClusterMetadata,
        clock: Clock,
        transactions: TransactionManager | None = None,
    ) -> None:
        self._config = config
        self._accumulator = accumulator
        self._client = client
        self._metadata = metadata
        self._clock = clock
        self.in_flight: dict[ProducerBatch, None] = {}
        self.owner = NO_PRODUCER_ID
        self._transactions = transactions
        self._needs_id = config.enable_idempotence and transactions is None
        self._sequences: dict[TopicPartition, int] = {}

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self.run_once()

    async def run_once(self) -> None:
        """Send what may be sent, and wait for responses or for more to send."""
        if self._needs_id and not self.in_flight and not await self._renew_id():
            return
        if self._metadata.needs_update:
            await self._metadata.update()
        self._expire()
        if self._transactions is not None:
            if not await self._transactions.run(self._metadata.any_address):
                return
            if self._transactions.error is not None:
                self.drop_waiting(self._transactions.error)
        if not self._needs_id and len(self.in_flight_requests) < self._config.max_in_flight:
            self._send(self._accumulator.drain(self._has_leader))
        await self._client.poll(self._wait_ms())

    def _has_leader(self, place: TopicPartition) -> bool:
        return self._metadata.leader_of(place) is not None

    @property
    def in_flight_requests(self) -> tuple[object, ...]:
        """Return the requests that wait to be sent or answered."""
        return (*self._client.unsent, *self._client.in_flight)

    def _wait_ms(self) -> int:
        """Return the ms until there is something to do without being woken."""
        waits = [self._config.retry_backoff_ms if self._metadata.needs_update else _IDLE_MS]
        if len(self.in_flight_requests) < self._config.max_in_flight and not self._needs_id:
            next_wait_ms = self._accumulator.next_wait_ms()
            waits += [] if next_wait_ms is None else [next_wait_ms]
        waiting = self._accumulator.waiting()
        if waiting:
            oldest_ms = min(batch.created_ms for batch in waiting)
            waits.append(max(0, oldest_ms + self._config.delivery_timeout_ms - self._clock.now_ms()))
        return min(waits)

    # --- sending -----------------------------------------------------------------------------------------------------

    def _send(self, batches: list[ProducerBatch]) -> None:
        """Send one request to each leader; each batch is for another partition."""
        by_leader: dict[str, list[ProducerBatch]] = {}
        for batch in batches:
            batch.tries += 1
            if self._transactions is not None and self._transactions.owner != self.owner:
                self.owner = self._transactions.owner
                self._sequences.clear()
            if self._config.enable_idempotence and batch.base_sequence < 0:
                batch.owner = self.owner
                batch.is_transactional = self._transactions is not None
                batch.base_sequence = self._sequences.get(batch.place, 0)
                self._sequences[batch.place] = (batch.base_sequence + len(batch.records)) % _SEQUENCES
            self.in_flight[batch] = None
            leader = self._metadata.leader_of(batch.place)
            assert leader is not None, "only those are drained"
            by_leader.setdefault(leader, []).append(batch)
        for leader, sent in by_leader.items():
            self._request(leader, sent)

    def _request(self, leader: str, batches: list[ProducerBatch]) -> None:
        topics: dict[str, list[PartitionBatches]] = {}
        for batch in batches:
            encoded = PartitionBatches(batch.place.partition, batch.encode(self._config.codec))
            topics.setdefault(batch.place.topic, []).append(encoded)
        request = ProduceRequest(
            self._config.transactional_id or None,
            self._config.acks,
            self._config.request_timeout_ms,
            tuple(TopicBatches(topic, tuple(parts)) for topic, parts in topics.items()),
        )
        needs_answer = self._config.acks != 0
        self._client.send(
            request, lambda answer: self._answered(batches, answer), needs_answer=needs_answer, address=leader
        )

    def _answered(self, batches: list[ProducerBatch], answer: KafkaMessage | Disconnected | None) -> None:
        if answer is None:
            for batch in batches:
                self._end(batch)
                batch.acknowledged(-1)
            return
        if isinstance(answer, Disconnected):
            for batch in batches:
                self._metadata.moved(batch.place)
                self._retry(batch, answer)
            return
        assert isinstance(answer, ProduceResponse)
        reported = {
            TopicPartition(topic.name, part.index): part for topic in answer.responses for part in topic.partitions
        }
        for batch in batches:
            part = reported[batch.place]
            code = KafkaErrorCode(part.error_code)
            if code in MOVED:
                self._metadata.moved(batch.place)
            if code in (KafkaErrorCode.NONE, KafkaErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self._end(batch)
                batch.acknowledged(part.base_offset)
            elif code in RETRIABLE and not self._is_gap(batch, code):
                self._retry(batch, SendRefused(code, f"{batch.place} refused the batch: {code.name}"))
            else:
                self._give_up(batch, SendRefused(code, f"{batch.place} refused the batch: {code.name}"))

    def _is_gap(self, batch: ProducerBatch, code: KafkaErrorCode) -> bool:
        """Return whether the batch that the broker misses will never come: none before this one is in flight."""
        if code is not KafkaErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return False
        others = (*self.in_flight, *self._accumulator.rows.get(batch.place, ()))
        return not any(
            other.place == batch.place and 0 <= other.base_sequence < batch.base_sequence for other in others
        )

    # --- outcome of a batch ------------------------------------------------------------------------------------------

    def _end(self, batch: ProducerBatch) -> None:
        del self.in_flight[batch]
        self._accumulator.release(batch)

    def _retry(self, batch: ProducerBatch, error: Exception) -> None:
        if batch.tries > self._config.retries:
            self._give_up(batch, error)
            return
        _log.info("batch of %s is sent again: %s", batch.place, error)
        del self.in_flight[batch]
        self._accumulator.put_back(batch)

    def _give_up(self, batch: ProducerBatch, error: Exception) -> None:
        self._end(batch)
        self._leaves_gap(batch, error)
        batch.failed(error)

    def _leaves_gap(self, batch: ProducerBatch, error: Exception) -> None:
        if self._transactions is not None:
            self._transactions.failed(error)
        elif batch.base_sequence >= 0:
            self._needs_id = True

    def drop_waiting(self, error: Exception) -> None:
        """Give up the batches that were not sent, as their transaction will be aborted."""
        for row in self._accumulator.rows.values():
            while row:
                batch = row.popleft()
                self._accumulator.release(batch)
                batch.failed(error)

    def _expire(self) -> None:
        """Give up batches that have waited too long."""
        limit_ms = self._clock.now_ms() - self._config.delivery_timeout_ms
        for row in self._accumulator.rows.values():
            while row and row[0].created_ms <= limit_ms:
                batch = row.popleft()
                self._accumulator.release(batch)
                text = f"{batch.place}: no answer within {self._config.delivery_timeout_ms} ms, {batch.tries} tries"
                error = DeliveryTimedOut(text, outcome_known=batch.tries == 0)
                self._leaves_gap(batch, error)
                batch.failed(error)

    async def _renew_id(self) -> bool:
        """Request an id and renumber the waiting batches; False: there is no id yet."""
        try:
            answer = await self._client.ask(
                InitProducerIdRequest(None, 0), InitProducerIdResponse, self._metadata.any_address
            )
        except Disconnected as error:
            self._metadata.try_next()
            _log.info("no producer id yet: %s", error)
            self._expire()
            await self._client.poll(self._config.retry_backoff_ms)
            return False
        if answer.error_code:
            _log.warning("no producer id: %s", KafkaErrorCode(answer.error_code).name)
            await self._client.poll(self._config.retry_backoff_ms)
            return False
        self.owner = ProducerId(answer.producer_id, answer.producer_epoch)
        self._needs_id = False
        self._sequences.clear()
        for batch in self._accumulator.waiting():
            assert batch.state is not BatchState.IN_FLIGHT
            batch.base_sequence = -1
        return True
