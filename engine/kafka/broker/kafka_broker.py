"""A broker: it listens, and answers each connection's requests one after the other (Kafka: ``KafkaServer``,
``SocketServer``).

Alone it leads every partition; in a cluster the controller decides which ones it leads. Simplified: topics are created
when the broker starts; members of a group choose their partitions themselves.
"""

from __future__ import annotations

from engine.kafka.broker.group_offsets import OFFSETS, GroupOffsets
from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.kafka.broker.partitions import Partitions
from engine.kafka.broker.request_handlers import RequestHandlers
from engine.kafka.broker.transaction_coordinator import TransactionCoordinator
from engine.kafka.broker.transaction_handlers import TransactionHandlers
from engine.kafka.replication.replica_manager import ClusterAddresses, ReplicaManager
from engine.kafka.replication.replication_config import ReplicationConfig
from engine.kafka.wire.api_key import VERSIONS, ApiKey
from engine.kafka.wire.server_connection import ServerConnection
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Runtime
from engine.runtime.started_parts import StartedParts

#: Requests that only a controller answers.
_OF_CONTROLLERS = (ApiKey.ALTER_PARTITION, ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT)
_SPOKEN = tuple(key for key in VERSIONS if key not in _OF_CONTROLLERS)


class KafkaBroker:
    """Run a broker: ``await start(...)``, ``await shutdown()``.

    :ivar partitions, offsets: the partitions and the committed offsets it stores.
    :ivar replicas: None if the broker is alone.
    :ivar transactions: None if the broker is part of a cluster.
    """

    def __init__(
        self,
        runtime: Runtime,
        config: KafkaBrokerConfig,
        cluster: ClusterAddresses | None = None,
        replication: ReplicationConfig | None = None,
    ) -> None:
        self.config = config
        self.tasks = BackgroundTasks(f"{runtime.node_name}/kafka")
        self.partitions = Partitions(runtime.disk, runtime.clock, config, self.tasks)
        self.offsets = GroupOffsets(runtime.disk, runtime.clock, self.tasks)
        self.replicas: ReplicaManager | None = None
        if cluster is not None:
            self.replicas = ReplicaManager(
                runtime,
                config.node_id,
                cluster,
                replication or ReplicationConfig(),
                {**self.partitions.logs, OFFSETS: self.offsets.log},
                self.partitions.purgatory,
                self.tasks,
            )
        self.transactions: TransactionCoordinator | None = None
        if cluster is None:
            self.transactions = TransactionCoordinator(
                runtime.disk, runtime.clock, self.partitions, self.tasks, flushes=config.flush_before_answer
            )
        transactions = TransactionHandlers(self.transactions, self.partitions, runtime.clock, config.node_id)
        self.handlers = RequestHandlers(
            config, self.partitions, self.offsets, runtime.clock, transactions, self.replicas
        )
        self._runtime = runtime
        self._parts = StartedParts(f"{runtime.node_name}/kafka")

    async def start(self, host: str, port: int) -> str:
        """Open the partitions and listen; return ``"host:port"``.

        Raises ``FolderLocked``, ``DiskFault``, ``AddressInUse``.
        """
        async with self._parts.starting():
            self._parts.add(self._runtime.disk.lock_folder().release)
            self.partitions.load()
            self.offsets.load()
            # Not earlier: what was not read must not be written.
            self._parts.add(self._close_files)
            self._parts.add(self.tasks.stop)
            if self.transactions is not None:
                await self.transactions.start()
            if self.replicas is not None:
                self.replicas.load()
            listener = await self._runtime.network.listen(
                host, port, lambda: ServerConnection(self.tasks, self.handlers.answer, _SPOKEN)
            )
            self._parts.add(listener.close)
            bound_host, _, bound_port = listener.address.rpartition(":")
            self.handlers.address = (bound_host, int(bound_port))
            self.tasks.every(self.config.retention_check_interval_ms, self.partitions.delete_old, "retention")
            if self.replicas is not None:
                self.replicas.start()
        return listener.address

    async def shutdown(self) -> None:
        """Close connections and files in order."""
        await self._parts.end()

    def _close_files(self) -> None:
        if self.replicas is not None:
            self.replicas.stop()
        self.partitions.close()
        self.offsets.log.close()
        if self.transactions is not None:
            self.transactions.close()
