"""The table of what runs on a node of each kind. The kinds: :mod:`engine.lab.scenario.kinds.node_kinds`."""

from __future__ import annotations

from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.kafka.kafka_consumer_node import KafkaConsumerNode
from engine.lab.kafka.kafka_controller_node import KafkaControllerNode
from engine.lab.kafka.kafka_producer_node import KafkaProducerNode
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.name_server_node import NameServerNode
from engine.lab.nodes.producer_node import ProducerNode
from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.nodes.store_nodes import DatabaseNode, RedisNode, ServiceNode
from engine.lab.nodes.xa_nodes import CoordinatorNode, ManagerNode, ResourceManagerNode
from engine.lab.raft.raft_client_node import RaftClientNode
from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec, KafkaConsumerSpec, KafkaControllerSpec, KafkaProducerSpec
from engine.lab.scenario.kinds.name_server import NameServerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.kinds.raft import RaftClientSpec, RaftPeerSpec
from engine.lab.scenario.kinds.stores import DatabaseSpec, RedisSpec, ServiceSpec
from engine.lab.scenario.kinds.xa import CoordinatorSpec, ManagerSpec, ResourceManagerSpec

#: Role -> class of the node.
NODE_CLASSES: dict[str, type[ScenarioNode]] = {
    BrokerSpec.role: BrokerNode,
    NameServerSpec.role: NameServerNode,
    ProducerSpec.role: ProducerNode,
    ConsumerSpec.role: ConsumerNode,
    CoordinatorSpec.role: CoordinatorNode,
    ManagerSpec.role: ManagerNode,
    ResourceManagerSpec.role: ResourceManagerNode,
    DatabaseSpec.role: DatabaseNode,
    RedisSpec.role: RedisNode,
    ServiceSpec.role: ServiceNode,
    KafkaBrokerSpec.role: KafkaBrokerNode,
    KafkaProducerSpec.role: KafkaProducerNode,
    KafkaConsumerSpec.role: KafkaConsumerNode,
    KafkaControllerSpec.role: KafkaControllerNode,
    RaftPeerSpec.role: RaftPeerNode,
    RaftClientSpec.role: RaftClientNode,
}
