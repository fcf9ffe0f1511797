"""Answers to producers that request an id, and to transactional producers (Kafka: ``KafkaApis``)."""

from __future__ import annotations

from engine.kafka.broker.partitions import Partitions
from engine.kafka.broker.refusals import log_refusal
from engine.kafka.broker.transaction_coordinator import TransactionCoordinator
from engine.kafka.client.producer_batch import NO_PRODUCER_ID, ProducerId
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import read_header
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.cluster import InitProducerIdRequest, InitProducerIdResponse
from engine.kafka.wire.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    PartitionAdded,
    TopicAdded,
)
from engine.runtime.port import Clock, DiskFault

#: Spacing by which ids that two brokers assign at the same time differ. (Kafka's brokers ask the controller for a block
#: of ids.)
_PRODUCER_IDS_APART = 1_000


class TransactionHandlers:
    """Answer the requests of producers for ids and transactions.

    :param coordinator: None: the broker is one of several, which support no transactions.
    """

    def __init__(
        self, coordinator: TransactionCoordinator | None, partitions: Partitions, clock: Clock, node_id: int
    ) -> None:
        self._coordinator = coordinator
        self._partitions = partitions
        self._ids_apart = _PRODUCER_IDS_APART if coordinator is None else 1
        #: Higher than those of an earlier process, because a producer keeps its id for as long as it runs.
        self._next_producer_id = clock.now_ms() * self._ids_apart + node_id - 1

    async def answer(
        self, request: InitProducerIdRequest | AddPartitionsToTxnRequest | EndTxnRequest
    ) -> InitProducerIdResponse | AddPartitionsToTxnResponse | EndTxnResponse:
        """Return the response, which carries its error code; nothing is raised."""
        match request:
            case InitProducerIdRequest():
                return await self._init_producer_id(request)
            case AddPartitionsToTxnRequest():
                return await self._add_partitions(request)
            case EndTxnRequest():
                return await self._end(request)

    async def _init_producer_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        """Assign an id to an idempotent producer; a transactional id gets its existing id and the next epoch."""
        self._next_producer_id += self._ids_apart
        code, owner = KafkaErrorCode.NONE, ProducerId(self._next_producer_id, 0)
        name = request.transactional_id
        if name is not None:
            try:
                owner = await self._kept(name).begin(name, request.transaction_timeout_ms, self._next_producer_id)
            except (KafkaRefusal, DiskFault) as error:
                code, owner = log_refusal(error, f"begin transactions of {name!r}"), NO_PRODUCER_ID
        return InitProducerIdResponse(0, code, *owner)

    async def _add_partitions(self, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        """Add all partitions or, if one does not exist, none."""
        places = [TopicPartition(topic.name, number) for topic in request.topics for number in topic.partitions]
        owner = ProducerId(request.producer_id, request.producer_epoch)
        codes = {
            place: KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION for place in places if place not in self._partitions.logs
        }
        others = KafkaErrorCode.OPERATION_NOT_ATTEMPTED if codes else KafkaErrorCode.NONE
        if not codes:
            try:
                await self._kept(request.transactional_id).add(request.transactional_id, owner, places)
            except (KafkaRefusal, DiskFault) as error:
                others = log_refusal(error, f"add partitions to a transaction of {request.transactional_id}")
        return AddPartitionsToTxnResponse(
            0,
            tuple(
                TopicAdded(
                    topic.name,
                    tuple(
                        PartitionAdded(number, codes.get(TopicPartition(topic.name, number), others))
                        for number in topic.partitions
                    ),
                )
                for topic in request.topics
            ),
        )

    async def _end(self, request: EndTxnRequest) -> EndTxnResponse:
        name, owner = request.transactional_id, ProducerId(request.producer_id, request.producer_epoch)
        try:
            await self._kept(name).end(name, owner, is_commit=request.committed)
        except (KafkaRefusal, DiskFault) as error:
            return EndTxnResponse(0, log_refusal(error, f"end a transaction of {name}"))
        return EndTxnResponse(0, KafkaErrorCode.NONE)

    def check_may_append(self, transactional_id: str | None, batch: bytes, place: TopicPartition) -> None:
        """Check that the transaction of a batch is open. Raises :class:`KafkaRefusal`."""
        header = read_header(batch)
        if not header.is_transactional:
            return
        if transactional_id is None:
            raise KafkaRefusal(
                KafkaErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "a batch of a transaction, and the request says no transactional id",
            )
        self._kept(transactional_id).check_may_append(transactional_id, header, place)

    def _kept(self, transactional_id: str) -> TransactionCoordinator:
        if self._coordinator is None:
            raise KafkaRefusal(
                KafkaErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                f"transactions are kept by a broker that is alone, not in a cluster: {transactional_id!r} is refused",
            )
        return self._coordinator
