"""State of a transactional producer (Kafka: ``TransactionManager``, as far as it concerns transactions)::

    init -> READY -> begin -> IN_TRANSACTION -> commit or abort -> ENDING -> READY
                     a record is given up -> FAILED -> abort ---------^
    another process has begun with the same transactional id: FENCED, for good

The sender sends the requests to the coordinator, between two batches, so that all requests of a producer come from one
task. Simplified: there is one broker, so it is the coordinator; offsets of a consumer cannot be part of a transaction
(AddOffsetsToTxn, TxnOffsetCommit).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

from engine.kafka.client.errors import (
    Disconnected,
    IllegalTransactionStep,
    ProducerFenced,
    SendRefused,
    TransactionFailed,
)
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.client.producer_batch import NO_PRODUCER_ID, ProducerId
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.cluster import InitProducerIdRequest, InitProducerIdResponse
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.offsets import TopicPartitions
from engine.kafka.wire.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
)
from engine.runtime.state_table import successor

#: Errors that say that the coordinator is not done yet, or not available.
_COME_AGAIN = (
    KafkaErrorCode.CONCURRENT_TRANSACTIONS,
    KafkaErrorCode.COORDINATOR_NOT_AVAILABLE,
    KafkaErrorCode.NOT_COORDINATOR,
)
#: Another process has replaced this one, or the coordinator has aborted a transaction that took too long.
FENCES = (KafkaErrorCode.INVALID_PRODUCER_EPOCH, KafkaErrorCode.INVALID_PRODUCER_ID_MAPPING)

_log = logging.getLogger("glassmq.kafka")


class ProducerPhase(StrEnum):
    """Phase of a transactional producer."""

    UNINITIALIZED = "uninitialized"
    READY = "ready"
    IN_TRANSACTION = "in-transaction"
    FAILED = "failed"
    ENDING = "ending"
    FENCED = "fenced"


_STEPS = {
    ProducerPhase.UNINITIALIZED: (ProducerPhase.READY, ProducerPhase.FENCED),
    ProducerPhase.READY: (ProducerPhase.IN_TRANSACTION, ProducerPhase.FENCED),
    ProducerPhase.IN_TRANSACTION: (ProducerPhase.ENDING, ProducerPhase.FAILED, ProducerPhase.FENCED),
    ProducerPhase.FAILED: (ProducerPhase.ENDING, ProducerPhase.FENCED),
    ProducerPhase.ENDING: (ProducerPhase.READY, ProducerPhase.FAILED, ProducerPhase.FENCED),
}

#: A request to the coordinator, and the future of its response.
_Asked = tuple[KafkaMessage, type[KafkaMessage], "asyncio.Future[Any]"]


class TransactionManager:
    """Track the transactions of one producer.

    :ivar owner: id and epoch of this process.
    :ivar places: partitions that are part of the open transaction.
    :ivar error: why no more batches of the open transaction may be sent; None: they may.
    """

    def __init__(self, config: KafkaProducerConfig, client: KafkaNetworkClient) -> None:
        self.transactional_id = config.transactional_id
        self.phase = ProducerPhase.UNINITIALIZED
        self.owner = NO_PRODUCER_ID
        self.places: dict[TopicPartition, None] = {}
        self.error: Exception | None = None
        self._config = config
        self._client = client
        self._asked: deque[_Asked] = deque()
        self._new_places: dict[TopicPartition, None] = {}
        #: A batch was given up: the numbers of its partition have a gap, and start again with the next epoch.
        self._needs_epoch = False

    # --- application -------------------------------------------------------------------------------------------------

    async def init(self) -> None:
        """Get the producer id and the epoch. Raises :class:`IllegalTransactionStep`, ``SendRefused``, ``Disconnected``
        after ``max.block.ms``.
        """
        self._need(ProducerPhase.UNINITIALIZED, action="init_transactions")
        await self._new_epoch()
        self._go(ProducerPhase.READY)

    def begin(self) -> None:
        """Begin a transaction. Raises :class:`IllegalTransactionStep`."""
        self._need(ProducerPhase.READY, action="begin_transaction")
        self._go(ProducerPhase.IN_TRANSACTION)

    def record_goes_to(self, place: TopicPartition) -> None:
        """Note that a record of the transaction goes to ``place``. Raises :class:`IllegalTransactionStep`,
        :class:`TransactionFailed`.
        """
        if self.phase is ProducerPhase.FAILED:
            raise TransactionFailed(f"the transaction can only be aborted: {self.error}")
        self._need(ProducerPhase.IN_TRANSACTION, action="send")
        if place not in self.places:
            self._new_places[place] = None

    async def end(self, flush: Callable[[], Awaitable[None]], *, is_commit: bool) -> None:
        """Commit or abort. ``flush`` first completes what was sent; no more may be sent meanwhile.

        Raises :class:`IllegalTransactionStep`; :class:`TransactionFailed`, after which the transaction can be aborted;
        :class:`ProducerFenced`, ``SendRefused``; ``Disconnected``: the outcome is unknown, call it again.
        """
        phases = (ProducerPhase.IN_TRANSACTION, ProducerPhase.FAILED, ProducerPhase.ENDING)
        self._need(*phases, action="commit_transaction" if is_commit else "abort_transaction")
        if self.phase is not ProducerPhase.ENDING:
            self._go(ProducerPhase.ENDING)
        await flush()
        self._need(ProducerPhase.ENDING, action="to end it")
        if is_commit and self.error is not None:
            self._go(ProducerPhase.FAILED)
            raise TransactionFailed(f"it cannot be committed, only aborted: {self.error}") from self.error
        if self.places:
            answer = await self._ask(EndTxnRequest(self.transactional_id, *self.owner, is_commit), EndTxnResponse)
            self._raise_if_refused(answer.error_code, "end the transaction")
        if self._needs_epoch:
            await self._new_epoch()
        self.places.clear()
        self._new_places.clear()
        self.error = None
        self._go(ProducerPhase.READY)

    async def _new_epoch(self) -> None:
        request = InitProducerIdRequest(self.transactional_id, self._config.transaction_timeout_ms)
        answer = await self._ask(request, InitProducerIdResponse)
        self._raise_if_refused(answer.error_code, "get an epoch")
        self.owner = ProducerId(answer.producer_id, answer.producer_epoch)
        self._needs_epoch = False

    # --- sender ------------------------------------------------------------------------------------------------------

    def failed(self, error: Exception) -> None:
        """Note that a batch was given up: the open transaction can only be aborted."""
        self._needs_epoch = True
        self.error = self.error or error
        if self.phase is ProducerPhase.FENCED:
            return
        if isinstance(error, SendRefused) and error.code in FENCES:
            self._go(ProducerPhase.FENCED)
        elif self.phase is ProducerPhase.IN_TRANSACTION:
            self._go(ProducerPhase.FAILED)

    async def run(self, address: str) -> bool:
        """Send the next request to the coordinator, if any. Return whether batches may be sent."""
        try:
            while self._asked:
                request, response, result = self._asked[0]
                answer = await self._client.ask(request, response, address)
                self._asked.popleft()
                if not result.done():
                    result.set_result(answer)
            return not self._new_places or await self._add_places(address)
        except Disconnected as error:
            _log.info("the coordinator of transactions does not answer: %s", error)
            await self._client.poll(self._config.retry_backoff_ms)
            return False

    async def _add_places(self, address: str) -> bool:
        new = list(self._new_places)
        topics: dict[str, list[int]] = {}
        for place in new:
            topics.setdefault(place.topic, []).append(place.partition)
        request = AddPartitionsToTxnRequest(
            self.transactional_id,
            *self.owner,
            tuple(TopicPartitions(topic, tuple(numbers)) for topic, numbers in topics.items()),
        )
        answer = await self._client.ask(request, AddPartitionsToTxnResponse, address)
        codes = [KafkaErrorCode(part.error_code) for topic in answer.results for part in topic.results]
        code = next((code for code in codes if code), KafkaErrorCode.NONE)
        if code in _COME_AGAIN:
            await self._client.poll(self._config.retry_backoff_ms)
            return False
        if code:
            self.failed(SendRefused(code, f"{', '.join(map(str, new))} cannot join the transaction: {code.name}"))
        else:
            self.places.update(dict.fromkeys(new))
        for place in new:
            self._new_places.pop(place, None)
        return not code

    # --- implementation ----------------------------------------------------------------------------------------------

    async def _ask(self, request: KafkaMessage, response: type[Any]) -> Any:
        """Let the sender send a request, repeated while the coordinator is busy, for up to ``max.block.ms``. Raises
        ``Disconnected``.
        """
        try:
            async with asyncio.timeout(self._config.max_block_ms / 1_000):
                while True:
                    result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                    asked = (request, response, result)
                    self._asked.append(asked)
                    self._client.wake()
                    try:
                        answer = await result
                    finally:
                        if asked in self._asked:
                            self._asked.remove(asked)
                    if answer.error_code not in _COME_AGAIN:
                        return answer
                    await asyncio.sleep(self._config.retry_backoff_ms / 1_000)
        except TimeoutError as error:
            text = f"the coordinator has not answered within {self._config.max_block_ms} ms"
            raise Disconnected(text) from error

    def _raise_if_refused(self, error_code: int, action: str) -> None:
        code = KafkaErrorCode(error_code)
        if code in FENCES:
            self._go(ProducerPhase.FENCED)
            raise ProducerFenced(f"cannot {action}: another process has begun with {self.transactional_id!r}")
        if code:
            raise SendRefused(code, f"cannot {action}: {code.name}")

    def _need(self, *phases: ProducerPhase, action: str) -> None:
        if self.phase is ProducerPhase.FENCED:
            raise ProducerFenced(f"another process has begun with {self.transactional_id!r}, or it took too long")
        if self.phase not in phases:
            raise IllegalTransactionStep(f"{action} is not allowed while the producer is {self.phase}")

    def _go(self, phase: ProducerPhase) -> None:
        self.phase = successor(_STEPS, self.phase, phase, f"producer {self.transactional_id}")
