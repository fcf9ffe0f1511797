"""The nodes of a lab world: what all have, and the parts of each role."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.picture.world.broker import DownBroker, WorldBroker
from app.picture.world.consumer import Consumer
from app.picture.world.kafka import KafkaBroker, KafkaConsumer, KafkaController, KafkaProducer
from app.picture.world.page_cache import PageCache
from app.picture.world.producer import Producer
from app.picture.world.raft import RaftClient, RaftPeer
from app.picture.world.two_phase_commit import CoordinatorNode, ManagerNode, ResourceManagerNode
from app.picture.world.work import DatabaseNode, RedisNode, ServiceNode


class NodeProcess(TypedDict):
    """What all nodes have."""

    #: "running", "paused", "crashed" and others.
    status: str
    #: Whether it ever ran.
    has_run: bool
    is_starting: bool
    #: Number of its process.
    incarnation: int
    #: By how much its clock is ahead of the world's.
    skew_ms: int
    #: Names of its held tasks.
    held: list[str]
    #: Why it is down; None without a reason.
    failure: str | None
    ip: str
    #: Its parts in a transaction over several nodes: "TC", "TM", "RM"; None without one.
    xa_roles: list[str] | None
    #: None where memory is unlimited.
    page_cache: PageCache | None


class NameServer(TypedDict):
    """What a name server knows; nothing without a process."""

    address: NotRequired[str]
    #: Broker name -> broker id -> address.
    brokers: NotRequired[dict[str, dict[str, str]]]
    #: Topic -> names of the brokers that have it.
    routes: NotRequired[dict[str, list[str]]]


class NameServerPicture(NodeProcess, NameServer):
    """A name server."""

    role: Literal["name_server"]


class DownBrokerPicture(NodeProcess, DownBroker):
    """A broker without a process that listens."""

    role: Literal["broker"]


class BrokerPicture(NodeProcess, WorldBroker):
    """A broker."""

    role: Literal["broker"]


class ProducerPicture(NodeProcess, Producer):
    """A producer."""

    role: Literal["producer"]


class ConsumerPicture(NodeProcess, Consumer):
    """A consumer."""

    role: Literal["consumer"]


class CoordinatorPicture(NodeProcess, CoordinatorNode):
    """A coordinator of two-phase commits."""

    role: Literal["transaction_coordinator"]


class ManagerPicture(NodeProcess, ManagerNode):
    """A transaction manager."""

    role: Literal["transaction_manager"]


class ResourceManagerPicture(NodeProcess, ResourceManagerNode):
    """A resource manager."""

    role: Literal["resource_manager"]


class DatabasePicture(NodeProcess, DatabaseNode):
    """A database."""

    role: Literal["database"]


class RedisPicture(NodeProcess, RedisNode):
    """A Redis."""

    role: Literal["redis"]


class ServicePicture(NodeProcess, ServiceNode):
    """A service."""

    role: Literal["service"]


class KafkaBrokerPicture(NodeProcess, KafkaBroker):
    """A Kafka broker."""

    role: Literal["kafka_broker"]


class KafkaProducerPicture(NodeProcess, KafkaProducer):
    """A Kafka producer."""

    role: Literal["kafka_producer"]


class KafkaConsumerPicture(NodeProcess, KafkaConsumer):
    """A Kafka consumer."""

    role: Literal["kafka_consumer"]


class KafkaControllerPicture(NodeProcess, KafkaController):
    """A Kafka controller."""

    role: Literal["kafka_controller"]


class DownKafkaControllerPicture(NodeProcess):
    """A Kafka controller without a process."""

    role: Literal["kafka_controller"]


class RaftPeerPicture(NodeProcess, RaftPeer):
    """A peer of a Raft group."""

    role: Literal["raft_peer"]


class RaftClientPicture(NodeProcess, RaftClient):
    """A client of a Raft group."""

    role: Literal["raft_client"]


#: A node of any role.
NodePicture = (
    NameServerPicture
    | BrokerPicture
    | DownBrokerPicture
    | ProducerPicture
    | ConsumerPicture
    | CoordinatorPicture
    | ManagerPicture
    | ResourceManagerPicture
    | DatabasePicture
    | RedisPicture
    | ServicePicture
    | KafkaBrokerPicture
    | KafkaProducerPicture
    | KafkaConsumerPicture
    | KafkaControllerPicture
    | DownKafkaControllerPicture
    | RaftPeerPicture
    | RaftClientPicture
)
