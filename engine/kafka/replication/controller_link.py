"""A broker's link to its controller (Kafka: ``BrokerLifecycleManager``, ``AlterPartitionManager``, and the reader of
``__cluster_metadata``).

It registers the broker, sends heartbeats, reads decisions, and requests changes of in-sync replicas.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from engine.kafka.client.errors import Disconnected
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import decode_batch, read_header
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.cluster_image import METADATA, ClusterImage, PartitionRecord
from engine.kafka.replication.replica import Replica
from engine.kafka.replication.replication_config import ReplicationConfig
from engine.kafka.wire.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from engine.kafka.wire.replication import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrWanted,
    TopicIsrsWanted,
)
from engine.runtime.port import DiskFault, Runtime

_FETCH_MAX_BYTES = 1_048_576
_UNKNOWN = -1
#: Delay after a controller did not answer, or refused.
RETRY_MS = 100

_log = logging.getLogger("glassmq.kafka")


class ControllerLink:
    """Register with the controller and follow its decisions.

    :ivar image: what this broker has read.
    :ivar broker_epoch: -1 until it is registered.
    :param decided: called with each partition that has changed, once all decisions are read: a broker that restarts
        must not lead for a moment because it led long ago (``MetadataLoader`` publishes in the same way).
    """

    def __init__(
        self,
        runtime: Runtime,
        node_id: int,
        controller: str,
        config: ReplicationConfig,
        decided: Callable[[PartitionRecord], None],
    ) -> None:
        def client(purpose: str, timeout_ms: int, first_id: int) -> KafkaNetworkClient:
            name = f"broker-{node_id}-{purpose}"
            timeouts = {"request_timeout_ms": timeout_ms, "connect_timeout_ms": timeout_ms}
            return KafkaNetworkClient(runtime, controller, name, **timeouts, first_id=first_id)

        self.image = ClusterImage()
        self.broker_epoch = _UNKNOWN
        self._node_id = node_id
        self._config = config
        self._decided = decided
        self._next_offset = 0
        #: Read, and not yet reported to ``decided``.
        self._changed: dict[TopicPartition, PartitionRecord] = {}
        # A lost response must not silence the broker for long.
        self._heartbeats = client("heartbeat", config.broker_heartbeat_interval_ms, 1)
        self._alterations = client("alter-partition", config.broker_heartbeat_interval_ms, 20_001)
        self._reader = client("metadata", 2 * config.replica_fetch_wait_max_ms, 40_001)

    def close(self) -> None:
        """Close the connections."""
        for client in (self._heartbeats, self._alterations, self._reader):
            client.close()

    async def beat(self) -> None:
        """Register, or send a heartbeat."""
        try:
            if self.broker_epoch < 0:
                request = BrokerRegistrationRequest(self._node_id)
                registered = await self._heartbeats.ask(request, BrokerRegistrationResponse)
                self.broker_epoch = registered.broker_epoch
                return
            heartbeat = BrokerHeartbeatRequest(self._node_id, self.broker_epoch)
            answer = await self._heartbeats.ask(heartbeat, BrokerHeartbeatResponse)
            if answer.error_code == KafkaErrorCode.STALE_BROKER_EPOCH:
                self.broker_epoch = _UNKNOWN
        except Disconnected as error:
            _log.info("the controller does not answer: %s", error)

    async def read(self) -> None:
        """Read the controller's decisions until cancelled."""
        while True:
            try:
                is_well = await self._read_once()
            except (Disconnected, KafkaRefusal, DiskFault) as error:
                _log.info("cannot read what the controller decides: %s", error)
                is_well = False
            if not is_well:
                await asyncio.sleep(RETRY_MS / 1_000)

    async def _read_once(self) -> bool:
        part = FetchPartition(METADATA.partition, _UNKNOWN, self._next_offset, 0, _FETCH_MAX_BYTES)
        topics = (FetchTopic(METADATA.topic, (part,)),)
        wait_ms = self._config.replica_fetch_wait_max_ms
        request = FetchRequest(self._node_id, wait_ms, 1, _FETCH_MAX_BYTES, 0, 0, -1, topics, ())
        answer = await self._reader.ask(request, FetchResponse)
        if answer.error_code or (fetched := answer.responses[0].partitions[0]).error_code:
            return False
        data, position = fetched.records or b"", 0
        while position < len(data):
            header = read_header(data, position)
            for record in decode_batch(data, position):
                if record.offset >= self._next_offset:
                    self._next_offset = record.offset + 1
                    changed = self.image.replay(record)
                    if changed is not None:
                        self._changed[changed.place] = changed
            position += header.size_bytes
        if self._next_offset >= fetched.high_watermark:
            changes, self._changed = self._changed, {}
            for changed in changes.values():
                self._decided(changed)
        return True

    async def alter_isr(self, replica: Replica, isr: tuple[int, ...]) -> PartitionRecord | KafkaErrorCode:
        """Request other in-sync replicas; return the resulting state or an error code. Raises :class:`Disconnected`."""
        wanted = IsrWanted(replica.place.partition, replica.leader_epoch, isr, replica.partition_epoch)
        topics = (TopicIsrsWanted(replica.place.topic, (wanted,)),)
        request = AlterPartitionRequest(self._node_id, self.broker_epoch, topics)
        answer = await self._alterations.ask(request, AlterPartitionResponse)
        if answer.error_code or (part := answer.topics[0].partitions[0]).error_code:
            code = KafkaErrorCode(answer.error_code or part.error_code)
            _log.info("the controller refuses other replicas of %s: %s", replica.place, code.name)
            return code
        known = self.image.partitions[replica.place]
        return PartitionRecord(
            *replica.place, part.leader_id, part.leader_epoch, part.partition_epoch, known.replicas, part.isr
        )
