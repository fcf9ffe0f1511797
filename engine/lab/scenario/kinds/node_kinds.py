"""The table of all kinds of nodes. What runs on a node of each kind: :mod:`engine.lab.world.node_classes`."""

from __future__ import annotations

from engine.lab.scenario.kinds.broker import BROKER
from engine.lab.scenario.kinds.consumer import CONSUMER
from engine.lab.scenario.kinds.kafka import KAFKA_BROKER, KAFKA_CONSUMER, KAFKA_CONTROLLER, KAFKA_PRODUCER
from engine.lab.scenario.kinds.name_server import NAME_SERVER
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.producer import PRODUCER
from engine.lab.scenario.kinds.raft import RAFT_CLIENT, RAFT_PEER
from engine.lab.scenario.kinds.stores import DATABASE, REDIS, SERVICE
from engine.lab.scenario.kinds.xa import COORDINATOR, MANAGER, RESOURCE_MANAGER

#: Role -> kind.
NODE_KINDS: dict[str, NodeKind] = {
    kind.role: kind
    for kind in (
        BROKER,
        NAME_SERVER,
        PRODUCER,
        CONSUMER,
        COORDINATOR,
        MANAGER,
        RESOURCE_MANAGER,
        DATABASE,
        REDIS,
        SERVICE,
        KAFKA_BROKER,
        KAFKA_PRODUCER,
        KAFKA_CONSUMER,
        KAFKA_CONTROLLER,
        RAFT_PEER,
        RAFT_CLIENT,
    )
}
