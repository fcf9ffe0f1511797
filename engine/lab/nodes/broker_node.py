"""A node that is a broker, with its disk."""

from __future__ import annotations

from typing import Any

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.faults.fault_injector import FaultInjector
from engine.faults.faulty_network import FaultyNetwork
from engine.lab.nodes.scenario_node import ScenarioDiskNode, WorldContext
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.settings import LAB_COMMIT_LOG_FILE_BYTES, of_class
from engine.lab.scenario.switches import apply_to_broker
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.body.topic_config import TopicConfig
from engine.replication.ha.ha_config import HaRole as ReplicationRole
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig

#: Port on which a master serves its slaves (``haListenPort``).
HA_PORT = 10_912


class BrokerNode(ScenarioDiskNode):
    """A broker's node.

    :ivar broker: None while the process does not run.
    :ivar injector: applies rules to single frames. They belong to the machine, like its settings.
    """

    spec: BrokerSpec

    engine_name = "broker"
    broker: Broker | None = None

    def __init__(self, world: WorldContext, spec: BrokerSpec) -> None:
        super().__init__(world, spec)
        self.injector = FaultInjector(self.runtime.clock, self._client_at)

    def _client_at(self, remote_address: str) -> str:
        return "" if self.broker is None else self.broker.client_id_at(remote_address)

    async def _start(self) -> None:
        self.injector.clock = self.runtime.clock
        self.runtime.network = FaultyNetwork(self.runtime.network, self.injector)
        config = BrokerConfig(
            broker_name=self.spec.slave_of or self.name,
            host=self.runtime.identity.host_ip,
            name_server_addresses=(self.world.name_server_address,),
            **of_class(BrokerConfig, self.settings) | self._part_in_replication(),
        )
        store_settings: dict[str, Any] = {"mapped_file_size_commit_log": LAB_COMMIT_LOG_FILE_BYTES}
        store_settings |= of_class(MessageStoreConfig, self.settings)
        flush = FlushDiskType(self.spec.flush)
        broker = Broker(self.runtime, config, MessageStoreConfig(flush_disk_type=flush, **store_settings))
        if self.incarnation == 0 and not self.spec.slave_of:
            self._create_topics_and_groups(broker)
        apply_to_broker(broker, self.switched_off)
        self.broker = broker
        await broker.start()

    def apply_switches(self) -> None:
        if self.broker is not None:
            apply_to_broker(self.broker, self.switched_off)

    def _part_in_replication(self) -> dict[str, Any]:
        """Return the settings of replication. A slave is the first, second, ... of its master; a master without slaves
        does not listen for any.
        """
        brokers = self.world.scenario.of_kind(BrokerSpec)
        if self.spec.slave_of:
            siblings = [node.name for node in brokers if node.slave_of == self.spec.slave_of]
            return {"broker_role": ReplicationRole.SLAVE, "broker_id": 1 + siblings.index(self.name)}
        has_slaves = any(node.slave_of == self.name for node in brokers)
        return {"ha_listen_port": HA_PORT} if has_slaves else {}

    def _create_topics_and_groups(self, broker: Broker) -> None:
        """Create what an administrator created before the story begins."""
        scenario = self.world.scenario
        topics = [TopicConfig(topic.name, topic.queues, topic.queues) for topic in self.world.topics(of_kafka=False)]
        for config in topics:
            broker.topic_config_manager.check(config)
        broker.topic_config_manager.table.put_now({config.topic_name: config for config in topics})
        groups = [
            SubscriptionGroupConfig(
                group.name, retry_queue_nums=group.retry_queues, retry_max_times=group.retry_max_times
            )
            for group in scenario.groups
        ]
        for group_config in groups:
            broker.subscription_group_manager.check(group_config)
        broker.subscription_group_manager.table.put_now({group.group_name: group for group in groups})

    async def change_queue_count(self, topic: str, queues: int) -> None:
        """Change the number of queues as an administrator's UPDATE_AND_CREATE_TOPIC does."""
        if self.broker is not None:
            await self.broker.topic_config_manager.update_topic_config(TopicConfig(topic, queues, queues))
