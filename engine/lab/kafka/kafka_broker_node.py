"""A node that is a Kafka broker, with its disk; alone, or one of a cluster with a controller."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from engine.kafka.broker.group_offsets import OFFSETS
from engine.kafka.broker.kafka_broker import KafkaBroker
from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.kafka.client.cluster_metadata import ClusterMetadata
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.replica import Replica
from engine.kafka.replication.replica_manager import ClusterAddresses
from engine.kafka.replication.replication_config import ReplicationConfig
from engine.lab.kafka.kafka_controller_node import KafkaControllerNode, node_ids
from engine.lab.kafka.stored_log import StoredLogs
from engine.lab.nodes.scenario_node import ScenarioDiskNode, WorldContext
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec, KafkaClientSpec

#: Port on which it listens, as Kafka's brokers do.
KAFKA_PORT = 9092


class KafkaBrokerNode(ScenarioDiskNode):
    """A Kafka broker's node.

    :ivar broker: None while the process does not run.
    :ivar stored: what is on its disk.
    """

    spec: KafkaBrokerSpec

    engine_name = "broker"
    broker: KafkaBroker | None = None

    def __init__(self, world: WorldContext, spec: KafkaBrokerSpec) -> None:
        super().__init__(world, spec)
        self.stored = StoredLogs(self.storage)

    @property
    def address(self) -> str:
        """Return the address for clients."""
        return f"{self.runtime.identity.host_ip}:{KAFKA_PORT}"

    @property
    def node_id(self) -> int:
        """Return the number of this broker among the brokers: ``broker.id``."""
        return node_ids(self.world)[self.name]

    @property
    def replicas(self) -> dict[TopicPartition, Replica]:
        """Return the broker's replicas; empty while the process does not run, or if it is alone."""
        manager = self.broker.replicas if self.broker is not None else None
        return {} if manager is None else manager.replicas

    def committed_offsets(self) -> Iterator[tuple[tuple[str, str, int], int]]:
        """Yield group, topic and partition with the committed offset; nothing while the process does not run, or if
        another broker stores them.
        """
        offsets_replica = self.replicas.get(OFFSETS)
        if self.broker is None or (offsets_replica is not None and not offsets_replica.is_leader):
            return
        for group, offsets in self.broker.offsets.committed.items():
            for (topic, partition), value in offsets.items():
                yield (group, topic, partition), value.offset

    async def _start(self) -> None:
        config = self.config(
            KafkaBrokerConfig,
            topics={topic.name: topic.queues for topic in self.world.topics(of_kafka=True)},
            log=self.config(PartitionLogConfig),
        )
        self.broker = KafkaBroker(
            self.runtime,
            dataclasses.replace(config, node_id=self.node_id),
            self._cluster(),
            self.config(ReplicationConfig),
        )
        await self.broker.start(self.runtime.identity.host_ip, KAFKA_PORT)

    def _cluster(self) -> ClusterAddresses | None:
        controllers = self.world.roles(KafkaControllerNode)
        if not controllers:
            return None
        brokers = {role.node_id: role.address for role in self.world.roles(KafkaBrokerNode)}
        return ClusterAddresses(controllers[0].address, brokers)


class KnownBrokers:
    """The brokers that a client knows: the one that its scenario names, the only one, or a whole cluster.

    :ivar bootstrap: their addresses, separated by commas.
    """

    def __init__(self, world: WorldContext, spec: KafkaClientSpec) -> None:
        roles = [role for role in world.roles(KafkaBrokerNode) if spec.broker in ("", role.name)]
        self.bootstrap = ",".join(role.address for role in roles)
        self._names = {role.address: role.name for role in roles}

    def leader_of(self, metadata: ClusterMetadata, place: TopicPartition) -> str:
        """Return the name of the leader as the client knows it; the first broker if it knows none."""
        return self._names.get(metadata.leader_of(place) or "", next(iter(self._names.values())))
