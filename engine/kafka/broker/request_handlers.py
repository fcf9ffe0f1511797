"""The broker's handling of each request (Kafka: ``KafkaApis``).

A request for several partitions is answered for each of them: one that is refused gets an error, the others proceed.
"""

from __future__ import annotations

from dataclasses import replace

from engine.kafka.broker.group_offsets import OFFSETS, GroupOffsets
from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig, is_topic
from engine.kafka.broker.partitions import Partitions
from engine.kafka.broker.produced_batch import checked_batch
from engine.kafka.broker.refusals import log_refusal
from engine.kafka.broker.transaction_handlers import TransactionHandlers
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord
from engine.kafka.replication.replica_manager import ReplicaManager
from engine.kafka.wire.cluster import (
    ApiVersionsRequest,
    BrokerMetadata,
    InitProducerIdRequest,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from engine.kafka.wire.fetch import (
    READ_COMMITTED,
    AbortedTransaction,
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    NO_GENERATION,
    NO_MEMBER,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetOfTime,
    PartitionCommitted,
    PartitionOffset,
    TopicCommitted,
    TopicGroupOffsets,
    TopicOffsets,
)
from engine.kafka.wire.produce import PartitionAppended, ProduceRequest, ProduceResponse, TopicAppended
from engine.kafka.wire.replication import (
    EpochEnd,
    EpochWanted,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    TopicEpochEnds,
)
from engine.kafka.wire.server_connection import api_versions
from engine.kafka.wire.transactions import AddPartitionsToTxnRequest, EndTxnRequest
from engine.runtime.port import Clock, DiskFault

ACKS = (-1, 0, 1)
#: How long a group's commit waits for the other replicas (``offsets.commit.timeout.ms``).
OFFSETS_COMMIT_TIMEOUT_MS = 5_000


class RequestHandlers:
    """Answer the requests of clients and brokers.

    :ivar address: the ``host:port`` that clients receive.
    :param replicas: None: the broker is alone and leads every partition.
    """

    def __init__(
        self,
        config: KafkaBrokerConfig,
        partitions: Partitions,
        offsets: GroupOffsets,
        clock: Clock,
        transactions: TransactionHandlers,
        replicas: ReplicaManager | None = None,
    ) -> None:
        self._config = config
        self._partitions = partitions
        self._offsets = offsets
        self._clock = clock
        self._replicas = replicas
        self._transactions = transactions
        self.address = ("", 0)

    async def answer(self, request: KafkaMessage) -> KafkaMessage | None:
        """Return the response; None if the client expects none."""
        match request:
            case ProduceRequest():
                return await self._produce(request)
            case FetchRequest():
                return await self._fetch(request)
            case ListOffsetsRequest():
                return self._list_offsets(request)
            case OffsetCommitRequest():
                return await self._commit_offsets(request)
            case OffsetFetchRequest():
                return self._fetch_offsets(request)
            case MetadataRequest():
                return self._metadata(request)
            case FindCoordinatorRequest():
                return self._find_coordinator()
            case OffsetForLeaderEpochRequest():
                return self._ends_of_epochs(request)
            case ApiVersionsRequest():
                return api_versions(KafkaErrorCode.NONE)
            case InitProducerIdRequest() | AddPartitionsToTxnRequest() | EndTxnRequest():
                return await self._transactions.answer(request)
        raise AssertionError(f"there is no handler for {type(request).__name__}")

    # --- records -----------------------------------------------------------------------------------------------------

    async def _produce(self, request: ProduceRequest) -> ProduceResponse | None:
        end_ms = self._clock.now_ms() + request.timeout_ms
        appended = {
            TopicPartition(topic.name, one.index): await self._append(
                TopicPartition(topic.name, one.index), one.records, request
            )
            for topic in request.topics
            for one in topic.partitions
        }
        if request.acks < 0 and self._replicas is not None:
            for place, (part, next_offset) in appended.items():
                if not part.error_code:
                    code = await self._replicas.committed(place, next_offset, end_ms)
                    appended[place] = (replace(part, error_code=code), next_offset)
        topics = [
            TopicAppended(
                topic.name, tuple(appended[TopicPartition(topic.name, one.index)][0] for one in topic.partitions)
            )
            for topic in request.topics
        ]
        return ProduceResponse(tuple(topics), 0) if request.acks else None

    async def _append(
        self, place: TopicPartition, records: bytes | None, request: ProduceRequest
    ) -> tuple[PartitionAppended, int]:
        """Append; return the response and the offset after the appended records."""
        acks = request.acks
        try:
            if acks not in ACKS:
                raise KafkaRefusal(
                    KafkaErrorCode.INVALID_REQUIRED_ACKS, f"acks {acks}; allowed: {', '.join(map(str, ACKS))}"
                )
            log = self._partitions.find(place)
            epoch = 0 if self._replicas is None else self._replicas.check_may_append(place, acks)
            batch = checked_batch(records)
            self._transactions.check_may_append(request.transactional_id, batch, place)
            appended = await self._partitions.append(place, batch, epoch)
            if self._replicas is not None:
                self._replicas.appended(place)
        except (KafkaRefusal, DiskFault) as error:
            return PartitionAppended(place.partition, log_refusal(error, f"append to {place}"), -1, -1, -1), -1
        offsets = (appended.base_offset, -1, log.log_start_offset)
        return PartitionAppended(place.partition, KafkaErrorCode.NONE, *offsets), appended.last_offset + 1

    async def _fetch(self, request: FetchRequest) -> FetchResponse:
        if request.session_id:
            return FetchResponse(0, KafkaErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, ())
        places = [TopicPartition(topic.topic, one.partition) for topic in request.topics for one in topic.partitions]
        end_ms = self._clock.now_ms() + min(request.max_wait_ms, self._config.fetch_wait_max_ms)
        while True:
            fetched = self._fetched(request)
            self._note_follower(request, fetched)
            parts = [part for topic in fetched for part in topic.partitions]
            size_bytes = sum(len(part.records or b"") for part in parts)
            left_ms = end_ms - self._clock.now_ms()
            if size_bytes >= request.min_bytes or left_ms <= 0 or any(part.error_code for part in parts):
                return FetchResponse(0, KafkaErrorCode.NONE, 0, fetched)
            await self._partitions.purgatory.wait_for_any(places, left_ms)

    def _fetched(self, request: FetchRequest) -> tuple[FetchedTopic, ...]:
        left_bytes = min(request.max_bytes, self._config.fetch_max_bytes)
        topics = []
        for topic in request.topics:
            parts = []
            for wanted in topic.partitions:
                place = TopicPartition(topic.topic, wanted.partition)
                part = self._read(place, wanted, left_bytes, request)
                left_bytes -= len(part.records or b"")
                parts.append(part)
            topics.append(FetchedTopic(topic.topic, tuple(parts)))
        return tuple(topics)

    def _read(
        self, place: TopicPartition, wanted: FetchPartition, left_bytes: int, request: FetchRequest
    ) -> FetchedPartition:
        """Read records for one partition; if the response is already full, none and no error. Consumers get what is
        below the high watermark, or, with ``read_committed``, below the last stable offset.
        """
        is_replica = request.replica_id >= 0
        is_committed_only = request.isolation_level == READ_COMMITTED and not is_replica
        aborted = None
        try:
            log = self._led_log(place, wanted.current_leader_epoch)
            limit = min(wanted.partition_max_bytes, left_bytes)
            up_to = None if is_replica or self._replicas is None else log.high_watermark
            if is_committed_only:
                up_to = log.last_stable_offset
            data = log.read(wanted.fetch_offset, limit, up_to).data if left_bytes > 0 else b""
            if is_committed_only:
                found = log.aborted_between(wanted.fetch_offset, log.last_stable_offset)
                aborted = tuple(AbortedTransaction(one.producer_id, one.first_offset) for one in found)
        except (KafkaRefusal, DiskFault) as error:
            return FetchedPartition(place.partition, log_refusal(error, f"read {place}"), -1, -1, -1, None, b"")
        ends = (log.high_watermark, log.last_stable_offset)
        return FetchedPartition(place.partition, KafkaErrorCode.NONE, *ends, log.log_start_offset, aborted, data)

    def _led_log(self, place: TopicPartition, epoch: int = -1) -> PartitionLog:
        """Return the log of a partition that this broker leads in ``epoch``. Raises :class:`KafkaRefusal` if it does
        not.
        """
        if self._replicas is None:
            return self._partitions.find(place)
        replica = self._replicas.find(place)
        replica.check_leads(epoch)
        return replica.log

    def _note_follower(self, request: FetchRequest, fetched: tuple[FetchedTopic, ...]) -> None:
        """Note the progress of a follower: if it fetches from an offset, it has all records before it."""
        if self._replicas is None or request.replica_id < 0:
            return
        for topic, answered in zip(request.topics, fetched, strict=True):
            for wanted, part in zip(topic.partitions, answered.partitions, strict=True):
                if not part.error_code:
                    place = TopicPartition(topic.topic, wanted.partition)
                    self._replicas.follower_fetched(place, request.replica_id, wanted.fetch_offset)

    def _ends_of_epochs(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        def end_of(place: TopicPartition, wanted: EpochWanted) -> EpochEnd:
            try:
                log = self._led_log(place, wanted.current_leader_epoch)
            except KafkaRefusal as error:
                return EpochEnd(log_refusal(error, f"find an epoch in {place}"), place.partition, -1, -1)
            found = log.epochs.end_of(wanted.leader_epoch, log.log_end_offset)
            return EpochEnd(KafkaErrorCode.NONE, place.partition, *found)

        return OffsetForLeaderEpochResponse(
            0,
            tuple(
                TopicEpochEnds(
                    topic.topic,
                    tuple(end_of(TopicPartition(topic.topic, one.partition), one) for one in topic.partitions),
                )
                for topic in request.topics
            ),
        )

    # --- offsets -----------------------------------------------------------------------------------------------------

    def _list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            0,
            tuple(
                TopicOffsets(
                    topic.name,
                    tuple(
                        self._offset_of(TopicPartition(topic.name, wanted.index), wanted.timestamp_ms, request)
                        for wanted in topic.partitions
                    ),
                )
                for topic in request.topics
            ),
        )

    def _offset_of(self, place: TopicPartition, timestamp_ms: int, request: ListOffsetsRequest) -> OffsetOfTime:
        found: tuple[int, int] | None
        try:
            log = self._led_log(place)
            if timestamp_ms == EARLIEST_TIMESTAMP:
                found = (-1, log.log_start_offset)
            elif timestamp_ms == LATEST_TIMESTAMP:
                is_committed_only = request.isolation_level == READ_COMMITTED
                end = log.last_stable_offset if is_committed_only else log.high_watermark
                found = (-1, log.log_end_offset if request.replica_id >= 0 else end)
            elif timestamp_ms < 0:
                raise KafkaRefusal(
                    KafkaErrorCode.UNSUPPORTED_VERSION,
                    f"timestamp {timestamp_ms}: below 0 only {EARLIEST_TIMESTAMP} and {LATEST_TIMESTAMP} are known",
                )
            else:
                found = log.offset_for_time(timestamp_ms)
        except (KafkaRefusal, DiskFault) as error:
            return OffsetOfTime(place.partition, log_refusal(error, f"find a time in {place}"), -1, -1)
        return OffsetOfTime(place.partition, KafkaErrorCode.NONE, *(found or (-1, -1)))

    async def _commit_offsets(self, request: OffsetCommitRequest) -> OffsetCommitResponse:
        known: dict[TopicPartition, tuple[int, str]] = {}
        codes: dict[TopicPartition, KafkaErrorCode] = {}
        for topic in request.topics:
            for part in topic.partitions:
                place = TopicPartition(topic.name, part.index)
                metadata = part.metadata or ""
                if place not in self._partitions.logs:
                    codes[place] = KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif len(metadata) > self._config.offset_metadata_max_bytes:
                    codes[place] = KafkaErrorCode.OFFSET_METADATA_TOO_LARGE
                elif request.generation_id != NO_GENERATION or request.member_id != NO_MEMBER:
                    codes[place] = KafkaErrorCode.UNKNOWN_MEMBER_ID
                else:
                    known[place] = (part.offset, metadata)
        try:
            if known:
                await self._keep_offsets(request.group_id, known)
        except (KafkaRefusal, DiskFault) as error:
            codes.update(dict.fromkeys(known, log_refusal(error, f"commit offsets of {request.group_id}")))
        topics = [
            TopicCommitted(
                topic.name,
                tuple(
                    PartitionCommitted(
                        part.index, codes.get(TopicPartition(topic.name, part.index), KafkaErrorCode.NONE)
                    )
                    for part in topic.partitions
                ),
            )
            for topic in request.topics
        ]
        return OffsetCommitResponse(tuple(topics))

    async def _keep_offsets(self, group: str, offsets: dict[TopicPartition, tuple[int, str]]) -> None:
        """Store a group's offsets, as a send with ``acks`` all does. Raises :class:`KafkaRefusal`, ``DiskFault``."""
        if self._replicas is None:
            self._offsets.commit(group, offsets)
            return
        self._check_coordinates()
        self._offsets.commit(group, offsets, self._replicas.check_may_append(OFFSETS, -1))
        self._partitions.purgatory.wake(OFFSETS)
        self._replicas.appended(OFFSETS)
        end_ms = self._clock.now_ms() + OFFSETS_COMMIT_TIMEOUT_MS
        code = await self._replicas.committed(OFFSETS, self._offsets.log.log_end_offset, end_ms)
        if code:
            raise KafkaRefusal(code, f"offsets of {group}: {code.name}")

    def _check_coordinates(self) -> None:
        """Check that this broker is the coordinator. Raises :class:`KafkaRefusal`, NOT_COORDINATOR."""
        if self._replicas is not None:
            replica = self._replicas.find(OFFSETS)
            if not replica.is_leader:
                raise KafkaRefusal(KafkaErrorCode.NOT_COORDINATOR, f"the coordinator is {replica.leader}")
            self._offsets.lead(replica.leader_epoch)

    def _fetch_offsets(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        def offset_of(place: TopicPartition) -> PartitionOffset:
            try:
                self._check_coordinates()
            except (KafkaRefusal, DiskFault) as error:
                return PartitionOffset(
                    place.partition, -1, "", log_refusal(error, f"find offsets of {request.group_id}")
                )
            found = self._offsets.find(request.group_id, place)
            if found is None:
                return PartitionOffset(place.partition, -1, "", KafkaErrorCode.NONE)
            return PartitionOffset(place.partition, found.offset, found.metadata, KafkaErrorCode.NONE)

        return OffsetFetchResponse(
            tuple(
                TopicGroupOffsets(
                    topic.name, tuple(offset_of(TopicPartition(topic.name, number)) for number in topic.partitions)
                )
                for topic in request.topics
            )
        )

    # --- the cluster -------------------------------------------------------------------------------------------------

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        node_id = self._config.node_id
        brokers = [BrokerMetadata(node_id, *self.address, None)]
        if self._replicas is not None:
            brokers = [_broker_metadata(node, address) for node, address in self._replicas.cluster.brokers.items()]

        def topic_of(name: str) -> TopicMetadata:
            count = 1 if name == OFFSETS.topic and self._replicas is not None else self._config.topics.get(name)
            if count is None:
                unknown, wrong = KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION, KafkaErrorCode.INVALID_TOPIC_EXCEPTION
                return TopicMetadata(unknown if is_topic(name) else wrong, name, False, ())
            parts = tuple(self._partition_metadata(TopicPartition(name, number)) for number in range(count))
            return TopicMetadata(KafkaErrorCode.NONE, name, name == OFFSETS.topic, parts)

        names = self._config.topics if request.topics is None else request.topics
        return MetadataResponse(tuple(brokers), node_id, tuple(map(topic_of, names)))

    def _partition_metadata(self, place: TopicPartition) -> PartitionMetadata:
        """Return what this broker knows about a partition, which may be outdated; if it knows nothing, there is no
        leader.
        """
        node_id = self._config.node_id
        if self._replicas is None:
            return PartitionMetadata(0, place.partition, node_id, (node_id,), (node_id,))
        nobody = PartitionRecord(*place, NO_LEADER, -1, -1, (), ())
        known = self._replicas.link.image.partitions.get(place, nobody)
        code = KafkaErrorCode.LEADER_NOT_AVAILABLE if known.leader == NO_LEADER else KafkaErrorCode.NONE
        return PartitionMetadata(code, place.partition, known.leader, known.replicas, known.isr)

    def _find_coordinator(self) -> FindCoordinatorResponse:
        if self._replicas is None:
            return FindCoordinatorResponse(0, KafkaErrorCode.NONE, None, self._config.node_id, *self.address)
        leader = self._partition_metadata(OFFSETS).leader_id
        if leader == NO_LEADER:
            return FindCoordinatorResponse(0, KafkaErrorCode.COORDINATOR_NOT_AVAILABLE, None, NO_LEADER, "", -1)
        found = _broker_metadata(leader, self._replicas.cluster.brokers[leader])
        return FindCoordinatorResponse(0, KafkaErrorCode.NONE, None, leader, found.host, found.port)


def _broker_metadata(node: int, address: str) -> BrokerMetadata:
    host, _, port = address.rpartition(":")
    return BrokerMetadata(node, host, int(port), None)
