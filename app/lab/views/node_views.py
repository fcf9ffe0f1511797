"""The table of the views of nodes: what a node's card on the stage shows, by the kind of node.

The kinds: :mod:`engine.lab.scenario.kinds.node_kinds`. How they are drawn: ``static/parts/nodes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from app.lab.foundation.bounds import ROUTES_SHOWN
from app.lab.views.broker_view import BrokerView
from app.lab.views.client_view import consumer_view, producer_view
from app.lab.views.dead_letters_view import dead_letters_view
from app.lab.views.kafka.kafka_view import (
    kafka_broker_view,
    kafka_consumer_view,
    kafka_controller_view,
    kafka_producer_view,
)
from app.lab.views.life_view import LifeView
from app.lab.views.money.xa_nodes_view import coordinator_view, manager_view, resource_manager_view
from app.lab.views.raft.raft_view import raft_client_view, raft_peer_view
from app.lab.views.work_view import DatabaseView, Owners, redis_view, service_view
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

if TYPE_CHECKING:
    from app.picture.world.broker import DownBroker, WorldBroker
    from app.picture.world.node import NameServer

_Node = TypeVar("_Node", bound=ScenarioNode)


@dataclass(frozen=True, slots=True)
class NodeView:
    """The view of one node, over all its processes.

    :ivar build: returns what the view of this kind has besides that of all nodes.
    :ivar shows_owners: whether it shows which consumer works on a record, which changes without an action of the node.
    """

    build: Callable[[Owners], Mapping[str, object]]
    shows_owners: bool = False


NodeViewMaker = Callable[[ScenarioNode, LifeView], NodeView]


class _BrokerNodeView:
    """The view of a broker: part of it is read again only when something changed."""

    def __init__(self, role: BrokerNode, lives: LifeView) -> None:
        self._role = role
        self._lives = lives
        self._known: BrokerView | None = None

    def build(self, owners: Owners) -> DownBroker | WorldBroker:
        role, broker = self._role, self._role.broker
        if broker is None or not broker.address:
            self._known = None
            return {"switched_off": list(role.switched_off)}
        known = self._known
        if known is None or known.broker is not broker:
            known = self._known = BrokerView(broker)
        copies = self._lives.copies_of(role.name)
        return {
            **known.build(),
            "switched_off": list(role.switched_off),
            "flush": role.spec.flush,
            "dead_letters": None if copies is None else dead_letters_view(broker, copies, self._lives),
        }


#: An entry of the table: class of the node, and what makes its view.
_Entry = tuple[type[ScenarioNode], NodeViewMaker]


def view_of_kind(kind: type[_Node], make: Callable[[_Node, LifeView], NodeView]) -> _Entry:
    """Return the entry of the table for a kind of node with a view of its own."""

    def checked(role: ScenarioNode, lives: LifeView) -> NodeView:
        assert isinstance(role, kind), f"{role.name} is a {role.role}"
        return make(role, lives)

    return kind, checked


def plain_view(kind: type[_Node], build: Callable[[_Node], Mapping[str, object]]) -> _Entry:
    """Return the entry of the table for a kind of node whose view needs nothing but the node."""
    return view_of_kind(kind, lambda role, lives: NodeView(lambda owners: build(role)))


def _name_server(role: NameServerNode) -> NameServer:
    """Return which brokers it knows (broker id -> address), and which brokers have which topic."""
    server = role.name_server
    if server is None:
        return {}
    table = server.route_info_manager
    brokers = {
        name: {str(number): address for number, address in data.broker_addrs.items()}
        for name, data in table.all_cluster_info().broker_addr_table.items()
    }
    routes: dict[str, list[str]] = {}
    for topic in table.all_topics()[:ROUTES_SHOWN]:
        route = table.pickup_topic_route_data(topic)
        if route is not None:
            routes[topic] = [queue_data.broker_name for queue_data in route.queue_datas]
    return {"address": role.address, "brokers": brokers, "routes": routes}


#: Class of the node -> its view.
NODE_VIEWS: dict[type[ScenarioNode], NodeViewMaker] = dict(
    (
        plain_view(NameServerNode, _name_server),
        view_of_kind(BrokerNode, lambda role, lives: NodeView(_BrokerNodeView(role, lives).build)),
        plain_view(ProducerNode, producer_view),
        plain_view(ConsumerNode, consumer_view),
        plain_view(CoordinatorNode, coordinator_view),
        plain_view(ManagerNode, manager_view),
        plain_view(ResourceManagerNode, resource_manager_view),
        view_of_kind(DatabaseNode, lambda role, lives: NodeView(DatabaseView(role).build, shows_owners=True)),
        view_of_kind(RedisNode, lambda role, lives: NodeView(partial(redis_view, role), shows_owners=True)),
        plain_view(ServiceNode, service_view),
        plain_view(KafkaBrokerNode, kafka_broker_view),
        plain_view(KafkaProducerNode, kafka_producer_view),
        plain_view(KafkaConsumerNode, kafka_consumer_view),
        plain_view(KafkaControllerNode, kafka_controller_view),
        plain_view(RaftPeerNode, raft_peer_view),
        plain_view(RaftClientNode, raft_client_view),
    )
)
