"""The replicas of a broker: leaders, followers, in-sync replicas and acknowledgements (Kafka: ``ReplicaManager``,
``BrokerMetadataPublisher``).

The high watermarks are written every few seconds (``replication-offset-checkpoint``): a version, the number of entries,
then ``topic partition offset`` lines. A leader finds out the rest as its followers fetch.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.kafka.client.errors import Disconnected
from engine.kafka.client.network_client import KafkaNetworkClient
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord
from engine.kafka.replication.controller_link import RETRY_MS, ControllerLink
from engine.kafka.replication.purgatory import Purgatory
from engine.kafka.replication.replica import Replica
from engine.kafka.replication.replica_fetcher import ReplicaFetcher
from engine.kafka.replication.replication_config import ReplicationConfig
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Runtime

CHECKPOINT_PATH = "kafka-logs/replication-offset-checkpoint"
#: Most sends with ``acks`` all that wait at a broker; a further one times out immediately.
PRODUCES_WAITING_MAX = 10_000

_log = logging.getLogger("glassmq.kafka")


@dataclass(frozen=True, slots=True)
class ClusterAddresses:
    """Addresses of the nodes of a cluster.

    :ivar brokers: node id -> ``host:port``. Kafka's brokers report them to the controller when they register.
    """

    controller: str
    brokers: Mapping[int, str] = field(default_factory=dict)


class ReplicaManager:
    """Manage the replicas: ``load()``, ``start()``; when ``tasks`` have ended, ``stop()``.

    :ivar replicas: replica of each partition.
    :ivar link: the link to the controller.
    """

    def __init__(
        self,
        runtime: Runtime,
        node_id: int,
        cluster: ClusterAddresses,
        config: ReplicationConfig,
        logs: Mapping[TopicPartition, PartitionLog],
        purgatory: Purgatory,
        tasks: BackgroundTasks,
    ) -> None:
        self.replicas = {place: Replica(node_id, place, log, config) for place, log in logs.items()}
        self.link = ControllerLink(runtime, node_id, cluster.controller, config, self._decided)
        self.cluster = cluster
        self._runtime = runtime
        self._node_id = node_id
        self._config = config
        self._purgatory = purgatory
        self._tasks = tasks
        self._fetchers: dict[int, asyncio.Task[None]] = {}
        self._produces_waiting = 0
        #: Leaders that wait for the controller's response, or for their turn to send a request.
        self._to_alter: deque[Replica] = deque()

    def load(self) -> None:
        """Read the high watermarks. Blocks: only for start-up. What cannot be read counts as 0, as in Kafka."""
        disk = self._runtime.disk
        known = _parsed(disk.read_whole(CHECKPOINT_PATH)) if disk.exists(CHECKPOINT_PATH) else {}
        for place, replica in self.replicas.items():
            replica.log.high_watermark = min(known.get(place, 0), replica.log.log_end_offset)

    def start(self) -> None:
        """Start the tasks that register, read decisions and check the in-sync replicas."""
        config = self._config
        self._tasks.spawn(self._beat(), "heartbeat to the controller")
        self._tasks.spawn(self.link.read(), "reads what the controller decides")
        self._tasks.every(max(1, config.replica_lag_time_max_ms // 2), self.look_at_isrs, "in-sync replicas")
        self._tasks.every(config.replica_high_watermark_checkpoint_interval_ms, self.checkpoint, "high watermarks")

    def stop(self) -> None:
        """Write the high watermarks and close the connections. Raises ``DiskFull``, ``DiskFault``."""
        self.checkpoint()
        self.link.close()

    async def _beat(self) -> None:
        while True:
            await self.link.beat()
            is_known = self.link.broker_epoch >= 0
            await asyncio.sleep((self._config.broker_heartbeat_interval_ms if is_known else RETRY_MS) / 1_000)

    def checkpoint(self) -> None:
        """Write the high watermarks. Raises ``DiskFull``, ``DiskFault``."""
        lines = [f"{place.topic} {place.partition} {one.log.high_watermark}" for place, one in self.replicas.items()]
        text = "\n".join(["0", str(len(lines)), *lines]) + "\n"
        self._runtime.disk.write_whole(CHECKPOINT_PATH, text.encode())

    # --- decisions of the controller ---------------------------------------------------------------------------------

    def _decided(self, record: PartitionRecord) -> None:
        replica = self.replicas.get(record.place)
        if replica is None or self._node_id not in record.replicas:
            return
        if replica.apply(record, self._runtime.clock.now_ms()):
            _log.info("%s: %d leads in epoch %d", record.place, record.leader, record.leader_epoch)
            self._follow(record.leader)
        self._purgatory.wake(record.place)

    def _follow(self, leader: int) -> None:
        """Copy from another leader as well; fetchers whose broker no longer leads anything end."""
        for node in [node for node in self._fetchers if not self._following(node)]:
            self._fetchers.pop(node).cancel()
        if leader in (NO_LEADER, self._node_id) or leader in self._fetchers:
            return
        client = KafkaNetworkClient(
            self._runtime,
            self.cluster.brokers[leader],
            f"replica-{self._node_id}",
            request_timeout_ms=self._config.replica_socket_timeout_ms,
        )
        fetcher = ReplicaFetcher(
            self._node_id, client, self._config, lambda: self._following(leader), self._purgatory.wake
        )
        self._fetchers[leader] = self._tasks.spawn(fetcher.run(), f"copies from {leader}")

    def _following(self, node: int) -> list[Replica]:
        return [one for one in self.replicas.values() if one.leader == node]

    # --- a leader ----------------------------------------------------------------------------------------------------

    def find(self, place: TopicPartition) -> Replica:
        """Return the replica of a partition. Raises :class:`KafkaRefusal`, UNKNOWN_TOPIC_OR_PARTITION."""
        if place not in self.replicas:
            raise KafkaRefusal(KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {place}")
        return self.replicas[place]

    def appended(self, place: TopicPartition) -> None:
        """Note an append on a leader: if it is the only one in sync, the records are committed."""
        if self.replicas[place].advance():
            self._purgatory.wake(place)

    def follower_fetched(self, place: TopicPartition, node: int, offset: int) -> None:
        """Note that a follower has everything before ``offset``."""
        replica = self.replicas[place]
        if replica.follower_fetched(node, offset, self._runtime.clock.now_ms()):
            self._purgatory.wake(place)
        if node not in replica.isr:
            self._look_at(replica, node)

    def look_at_isrs(self) -> None:
        """Check which replicas are in sync."""
        for replica in self.replicas.values():
            self._look_at(replica)

    def _look_at(self, replica: Replica, fetching: int | None = None) -> None:
        if not replica.is_leader or replica.asked_isr is not None:
            return
        wanted = replica.wanted_isr(self._runtime.clock.now_ms(), fetching)
        if wanted != replica.isr:
            replica.asked_isr = wanted
            self._to_alter.append(replica)
            if len(self._to_alter) == 1:
                self._tasks.spawn(self._alter_all(), "asks for other in-sync replicas")

    async def _alter_all(self) -> None:
        """Send the requests one after the other: the controller answers a connection's requests in order."""
        while self._to_alter:
            replica = self._to_alter[0]
            if replica.asked_isr is None or await self._is_settled(replica, replica.asked_isr):
                self._to_alter.popleft()
            else:
                await asyncio.sleep(RETRY_MS / 1_000)

    async def _is_settled(self, replica: Replica, wanted: tuple[int, ...]) -> bool:
        """Request a change of the in-sync replicas; False: the request must be repeated.

        Requested replicas count until it is certain that the controller has not agreed: it may have, and the response
        was lost. Kafka does the same (``Partition.handleAlterPartitionError``).
        """
        epochs = (replica.leader_epoch, replica.partition_epoch)
        try:
            altered = await self.link.alter_isr(replica, wanted)
        except Disconnected as error:
            _log.info("whether %s has other in-sync replicas is not known: %s", replica.place, error)
            return False
        if isinstance(altered, PartitionRecord):
            self._decided(altered)
        elif altered == KafkaErrorCode.INELIGIBLE_REPLICA and epochs == (replica.leader_epoch, replica.partition_epoch):
            replica.asked_isr = None
        # For all other errors, the controller's newer decision will be read soon.
        return altered != KafkaErrorCode.STALE_BROKER_EPOCH

    def check_may_append(self, place: TopicPartition, acks: int) -> int:
        """Return the leader epoch for the batch. Raises :class:`KafkaRefusal`."""
        replica = self.replicas[place]
        replica.check_leads()
        if acks < 0 and not replica.has_enough:
            raise KafkaRefusal(
                KafkaErrorCode.NOT_ENOUGH_REPLICAS,
                f"{place}: the in-sync replicas are {replica.isr}; needed: {self._config.min_insync_replicas}",
            )
        return replica.leader_epoch

    async def committed(self, place: TopicPartition, offset: int, end_ms: int) -> KafkaErrorCode:
        """Wait until all in-sync replicas have everything before ``offset``, at most until ``end_ms``; return the
        outcome.
        """
        replica = self.replicas[place]
        epoch = replica.leader_epoch
        if self._produces_waiting >= PRODUCES_WAITING_MAX:
            return KafkaErrorCode.REQUEST_TIMED_OUT
        self._produces_waiting += 1
        try:
            while replica.is_leader and replica.leader_epoch == epoch:
                if replica.log.high_watermark >= offset:
                    return (
                        KafkaErrorCode.NONE if replica.has_enough else KafkaErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                    )
                left_ms = end_ms - self._runtime.clock.now_ms()
                if left_ms <= 0:
                    return KafkaErrorCode.REQUEST_TIMED_OUT
                await self._purgatory.wait_for_any([place], left_ms)
            return KafkaErrorCode.NOT_LEADER_OR_FOLLOWER
        finally:
            self._produces_waiting -= 1


def _parsed(data: bytes) -> dict[TopicPartition, int]:
    try:
        _, _, *lines = data.decode().splitlines()
        found = [line.rsplit(" ", 2) for line in lines]
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in found}
    except ValueError:
        return {}
