"""The controller: decides which broker leads each partition (Kafka: ``QuorumController`` with
``ReplicationControlManager`` and ``ClusterControlManager``).

Its decisions are records of the log ``__cluster_metadata`` on its disk, which brokers read with ordinary fetch
requests. They see only what is durable. A broker that has been silent for its session timeout no longer leads; other
changes of the in-sync replicas are requested by leaders. The package's docstring says what a quorum would add.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import decode_batch, encode_batch, read_header
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.cluster_image import (
    METADATA,
    NO_LEADER,
    BrokerRecord,
    ClusterImage,
    PartitionRecord,
    as_record,
)
from engine.kafka.replication.election import elected
from engine.kafka.replication.purgatory import Purgatory
from engine.kafka.replication.replication_config import ControllerConfig
from engine.kafka.wire.api_key import ApiKey
from engine.kafka.wire.fetch import FetchedPartition, FetchedTopic, FetchRequest, FetchResponse
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.replication import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrAltered,
    IsrWanted,
    TopicIsrsAltered,
)
from engine.kafka.wire.server_connection import ServerConnection
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Runtime
from engine.runtime.started_parts import StartedParts

_SPOKEN = (ApiKey.FETCH, ApiKey.ALTER_PARTITION, ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT)
_READ_BYTES = 1_048_576
#: Checks of the sessions per session timeout.
_LOOKS_PER_SESSION = 4

_log = logging.getLogger("glassmq.kafka")


class Controller:
    """Run the controller: ``await start(...)``, ``await shutdown()``.

    :ivar image: the state that it has decided.
    :ivar on_decided: called with the state of a partition before and after each change, once it has been decided.
    :ivar heard_ms: node id -> when the last request of a live broker arrived.
    """

    def __init__(self, runtime: Runtime, config: ControllerConfig) -> None:
        self.config = config
        self.image = ClusterImage()
        self.on_decided: Callable[[PartitionRecord, PartitionRecord], None] = lambda before, after: None
        self.heard_ms: dict[int, int] = {}
        forever = PartitionLogConfig(retention_ms=-1)
        self.log = PartitionLog(runtime.disk, runtime.clock, f"kafka-logs/{METADATA}", forever)
        self._runtime = runtime
        self._purgatory = Purgatory()
        self._tasks = BackgroundTasks(f"{runtime.node_name}/controller")
        self._parts = StartedParts(f"{runtime.node_name}/controller")

    async def start(self, host: str, port: int) -> str:
        """Read the log or create it, and listen; return ``"host:port"``.

        Raises ``FolderLocked``, ``DiskFault``, ``AddressInUse``.
        """
        async with self._parts.starting():
            self._parts.add(self._runtime.disk.lock_folder().release)
            self._load()
            self._parts.add(self.log.close)
            self._parts.add(self._tasks.stop)
            self._decide([one for one in self._first_records() if one.place not in self.image.partitions])
            # A broker that does not register within the session timeout is not live.
            self.heard_ms = dict.fromkeys(self.config.brokers, self._runtime.clock.now_ms())
            self._elect()
            await self._publish()
            listener = await self._runtime.network.listen(
                host, port, lambda: ServerConnection(self._tasks, self.answer, _SPOKEN)
            )
            self._parts.add(listener.close)
            interval_ms = max(1, self.config.broker_session_timeout_ms // _LOOKS_PER_SESSION)
            self._tasks.every(interval_ms, self.expire_sessions, "sessions of brokers")
        return listener.address

    async def shutdown(self) -> None:
        """Stop cleanly."""
        await self._parts.end()

    def _load(self) -> None:
        for line in self.log.load().lines:
            _log.warning("recovery: %s", line)
        offset = self.log.log_start_offset
        while data := self.log.read(offset, _READ_BYTES).data:
            position = 0
            while position < len(data):
                for record in decode_batch(data, position):
                    self.image.replay(record)
                header = read_header(data, position)
                position, offset = position + header.size_bytes, header.next_offset
        self.log.high_watermark = self.log.log_end_offset

    def _first_records(self) -> list[PartitionRecord]:
        """Return the first records: the replicas of partition n begin at the n-th broker."""
        brokers = self.config.brokers
        count = min(self.config.default_replication_factor, len(brokers))
        records = []
        for topic, partitions in self.config.topics.items():
            for number in range(partitions):
                replicas = tuple(brokers[(number + step) % len(brokers)] for step in range(count))
                records.append(PartitionRecord(topic, number, NO_LEADER, -1, 0, replicas, replicas))
        return records

    def _decide(self, entries: list[PartitionRecord] | list[BrokerRecord]) -> None:
        """Update the table immediately; brokers see the change when ``_publish`` has made it durable."""
        if entries:
            records = [as_record(entry, self._runtime.clock.now_ms()) for entry in entries]
            self.log.append(encode_batch(records))
            before = dict(self.image.partitions)
            for record in records:
                after = self.image.replay(record)
                if after is not None and after.place in before:
                    self.on_decided(before[after.place], after)

    async def _publish(self) -> None:
        """Let brokers read what was decided before this call. Raises ``DiskFault``."""
        end_offset = self.log.log_end_offset
        if end_offset > self.log.high_watermark:
            await self.log.flush()
            self.log.high_watermark = max(self.log.high_watermark, end_offset)
            self._purgatory.wake(METADATA)

    # --- brokers -----------------------------------------------------------------------------------------------------

    async def answer(self, request: KafkaMessage) -> KafkaMessage:
        """Answer a request of a broker."""
        match request:
            case FetchRequest():
                return await self._fetch(request)
            case BrokerRegistrationRequest():
                return await self._register(request.broker_id)
            case BrokerHeartbeatRequest():
                return await self._heartbeat(request)
            case AlterPartitionRequest():
                return await self._alter(request)
        raise AssertionError(f"there is no handler for {type(request).__name__}")

    async def _register(self, node: int) -> BrokerRegistrationResponse:
        if node not in self.config.brokers:
            return BrokerRegistrationResponse(0, KafkaErrorCode.INVALID_REQUEST, -1)
        self.heard_ms.pop(node, None)
        if node in self.image.broker_epochs:
            self._elect(restarted=node)
        broker_epoch = self.log.log_end_offset
        self._decide([BrokerRecord(node, broker_epoch)])
        self.heard_ms[node] = self._runtime.clock.now_ms()
        self._elect()
        await self._publish()
        return BrokerRegistrationResponse(0, KafkaErrorCode.NONE, broker_epoch)

    async def _heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        if self.image.broker_epochs.get(request.broker_id) != request.broker_epoch:
            return BrokerHeartbeatResponse(0, KafkaErrorCode.STALE_BROKER_EPOCH)
        was_silent = request.broker_id not in self.heard_ms
        self.heard_ms[request.broker_id] = self._runtime.clock.now_ms()
        if was_silent:
            self._elect()
            await self._publish()
        return BrokerHeartbeatResponse(0, KafkaErrorCode.NONE)

    async def expire_sessions(self) -> None:
        """Remove the leadership of brokers that have been silent for too long."""
        limit_ms = self._runtime.clock.now_ms() - self.config.broker_session_timeout_ms
        gone = [node for node, heard_ms in self.heard_ms.items() if heard_ms <= limit_ms]
        for node in gone:
            _log.warning("broker %d is silent: it no longer leads", node)
            del self.heard_ms[node]
            self._elect()
        await self._publish()

    def _elect(self, restarted: int = NO_LEADER) -> None:
        changed = [
            elected(
                record,
                self.heard_ms,
                restarted=restarted,
                is_unclean=self.config.unclean_leader_election_enable and restarted == NO_LEADER,
            )
            for record in self.image.partitions.values()
        ]
        self._decide([record for record in changed if record is not None])

    # --- leaders' requests -------------------------------------------------------------------------------------------

    async def _alter(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        if self.image.broker_epochs.get(request.broker_id) != request.broker_epoch:
            return AlterPartitionResponse(0, KafkaErrorCode.STALE_BROKER_EPOCH, ())
        topics = []
        for topic in request.topics:
            parts = []
            for wanted in topic.partitions:
                place = TopicPartition(topic.name, wanted.partition_index)
                parts.append(await self._alter_one(request.broker_id, place, wanted))
            topics.append(TopicIsrsAltered(topic.name, tuple(parts)))
        return AlterPartitionResponse(0, KafkaErrorCode.NONE, tuple(topics))

    async def _alter_one(self, node: int, place: TopicPartition, wanted: IsrWanted) -> IsrAltered:
        code = self._fault_of(node, place, wanted)
        if code:
            return IsrAltered(place.partition, code, NO_LEADER, -1, (), -1)
        known = self.image.partitions[place]
        isr = tuple(one for one in known.replicas if one in wanted.new_isr)
        changed = PartitionRecord(
            *place, known.leader, known.leader_epoch, known.partition_epoch + 1, known.replicas, isr
        )
        self._decide([changed])
        await self._publish()
        return IsrAltered(
            place.partition, KafkaErrorCode.NONE, node, changed.leader_epoch, isr, changed.partition_epoch
        )

    def _fault_of(self, node: int, place: TopicPartition, wanted: IsrWanted) -> KafkaErrorCode:
        known = self.image.partitions.get(place)
        if known is None:
            return KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if (known.leader, known.leader_epoch) != (node, wanted.leader_epoch):
            return KafkaErrorCode.FENCED_LEADER_EPOCH
        if known.partition_epoch != wanted.partition_epoch:
            return KafkaErrorCode.INVALID_UPDATE_VERSION
        if node not in wanted.new_isr or any(one not in known.replicas for one in wanted.new_isr):
            return KafkaErrorCode.INVALID_REQUEST
        if any(one not in self.heard_ms for one in wanted.new_isr):
            return KafkaErrorCode.INELIGIBLE_REPLICA
        return KafkaErrorCode.NONE

    # --- the log -----------------------------------------------------------------------------------------------------

    async def _fetch(self, request: FetchRequest) -> FetchResponse:
        """Answer a fetch from the only partition here."""
        topic = request.topics[0] if request.topics else None
        if topic is None or topic.topic != METADATA.topic or not topic.partitions:
            return FetchResponse(0, KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0, ())
        wanted = topic.partitions[0]
        if wanted.fetch_offset >= self.log.high_watermark:
            await self._purgatory.wait_for_any([METADATA], max(0, request.max_wait_ms))
        end_offset = self.log.high_watermark
        code, data = KafkaErrorCode.NONE, b""
        try:
            if wanted.fetch_offset < end_offset:
                data = self.log.read(wanted.fetch_offset, wanted.partition_max_bytes, end_offset).data
        except KafkaRefusal as refusal:
            code = refusal.code
        part = FetchedPartition(METADATA.partition, code, end_offset, end_offset, 0, None, data)
        return FetchResponse(0, KafkaErrorCode.NONE, 0, (FetchedTopic(METADATA.topic, (part,)),))
