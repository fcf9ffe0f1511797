"""JSON bodies of the remaining commands (RocketMQ: ``LockBatchRequestBody``, ``LockBatchResponseBody``, others of the
packages ``common.protocol.body`` and ``common.admin``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.body.data_version import DataVersion
from engine.protocol.body.json_body import JsonBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.body.topic_route_data import BrokerData
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_fields import as_object, as_text, get_integer, get_object, get_text
from engine.protocol.json_form.json_text import ObjectKeyMap


@dataclass(frozen=True, slots=True)
class LockBatchRequestBody(JsonBody, what="a lock request", items_max={"mq_set": 65_536}, is_unchangeable=True):
    """The body of LOCK_BATCH_MQ and UNLOCK_BATCH_MQ: a client, its group and the queues to lock or unlock."""

    consumer_group: str
    client_id: str
    mq_set: tuple[MessageQueue, ...]


@dataclass(frozen=True, slots=True)
class LockBatchResponseBody(
    JsonBody, what="a lock reply", wire_names={"lock_ok_mq_set": "lockOKMQSet"}, is_unchangeable=True
):
    """The queues that were locked for the client."""

    lock_ok_mq_set: tuple[MessageQueue, ...]


@dataclass(frozen=True, slots=True)
class GetConsumerListByGroupResponseBody(JsonBody, what="a consumer list", is_unchangeable=True):
    """The client ids of a group's connected members."""

    consumer_id_list: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckClientRequestBody(JsonBody, what="a client check"):
    """The body of CHECK_CLIENT_CONFIG, which checks whether a client may use a subscription."""

    client_id: str
    group: str
    subscription_data: SubscriptionData

    @classmethod
    def from_dict(cls, value: object) -> CheckClientRequestBody:
        """Read the JSON object of the wire; the ids may be missing. Raises :class:`MalformedBody`."""
        fields = as_object(value)
        subscription = SubscriptionData.from_dict(get_object(fields, "subscriptionData"))
        return cls(get_text(fields, "clientId", ""), get_text(fields, "group", ""), subscription)


@dataclass(slots=True)
class TopicConfigSerializeWrapper(JsonBody):
    """The topics of a broker; also the content of ``topics.json``."""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


@dataclass(slots=True)
class RegisterBrokerBody(JsonBody, what="a broker registration"):
    """The body with which a broker registers at the name server: its topics."""

    topic_config_serialize_wrapper: TopicConfigSerializeWrapper
    filter_server_list: tuple[str, ...] = field(default=(), init=False)


@dataclass(slots=True)
class ClusterInfo(JsonBody, what="a cluster description"):
    """The reply of code 106: all brokers, and the brokers of each cluster."""

    broker_addr_table: dict[str, BrokerData]
    cluster_addr_table: dict[str, list[str]]

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of the wire, with each cluster's brokers sorted."""
        clusters = {name: sorted(brokers) for name, brokers in self.cluster_addr_table.items()}
        return JsonBody.to_dict(self) | {"clusterAddrTable": clusters}

    @classmethod
    def from_dict(cls, value: object) -> ClusterInfo:
        """Read the JSON object of the wire. Raises :class:`MalformedBody`."""
        fields = as_object(value)
        brokers = {name: BrokerData.from_dict(data) for name, data in get_object(fields, "brokerAddrTable").items()}
        clusters: dict[str, list[str]] = {}
        for name, members in get_object(fields, "clusterAddrTable").items():
            if not isinstance(members, list):
                raise MalformedBody(f"cluster {name!r} must list its brokers")
            clusters[name] = [as_text(member) for member in members]
        return cls(brokers, clusters)


@dataclass(frozen=True, slots=True)
class TopicList(JsonBody, what="a topic list"):
    """The topic names in the reply of code 206."""

    topic_list: tuple[str, ...]
    broker_addr: str | None = None


@dataclass(frozen=True, slots=True)
class ClientConnection(JsonBody):
    """One connected client (RocketMQ: ``Connection``)."""

    client_id: str
    client_addr: str
    language: str
    version: int


@dataclass(slots=True)
class ConsumerConnection(JsonBody):
    """A group's members in the reply of code 203."""

    connection_set: list[ClientConnection]
    subscription_table: dict[str, SubscriptionData]
    consume_type: str
    message_model: str
    consume_from_where: str


@dataclass(slots=True)
class ProducerConnection(JsonBody):
    """A group's producers in the reply of code 204."""

    connection_set: list[ClientConnection]


@dataclass(frozen=True, slots=True)
class TopicOffset(JsonBody):
    """One queue in the reply of code 202. ``last_update_timestamp`` is in ms, 0 if the queue is empty."""

    min_offset: int
    max_offset: int
    last_update_timestamp: int


@dataclass(slots=True)
class TopicStatsTable(JsonBody):
    """The reply of code 202: offsets of each queue of a topic."""

    offset_table: dict[MessageQueue, TopicOffset]


@dataclass(frozen=True, slots=True)
class OffsetWrapper(JsonBody):
    """One queue in the reply of code 208. ``last_timestamp`` is the store time (ms) of the last consumed message."""

    broker_offset: int
    consumer_offset: int
    last_timestamp: int


@dataclass(frozen=True, slots=True)
class AwaitedOffsetWrapper(OffsetWrapper):
    """A queue in the reply of code 208 whose reset offset no member has taken up yet. RocketMQ's tools ignore the
    field.
    """

    reset_awaited: bool = True


@dataclass(slots=True)
class ConsumeStats(JsonBody):
    """The reply of code 208. ``message_model`` is only set for a broadcasting group; RocketMQ's tools ignore it."""

    offset_table: dict[MessageQueue, OffsetWrapper]
    consume_tps: float
    message_model: str | None = None

    @property
    def total_diff(self) -> int:
        """Return the number of messages in all queues that are not consumed yet."""
        return sum(offset.broker_offset - offset.consumer_offset for offset in self.offset_table.values())


@dataclass(slots=True)
class KVTable(JsonBody):
    """Names and values as text, in the reply of code 28."""

    table: dict[str, str]


@dataclass(slots=True)
class ResetOffsetBody(JsonBody, what="a reset body"):
    """The new offset of every queue, sent to the clients of a group (code 220)."""

    offset_table: dict[MessageQueue, int]

    @classmethod
    def from_dict(cls, value: object) -> ResetOffsetBody:
        """Read the JSON object of the wire. Raises :class:`MalformedBody`."""
        return cls(offsets_of(as_object(value).get("offsetTable"), "offsetTable"))


def offsets_of(value: object, what: str) -> dict[MessageQueue, int]:
    """Return the offsets by queue of a map with queues as JSON keys. Raises :class:`MalformedBody` that names
    ``what``.
    """
    if value is None or value == {}:
        return {}
    if not isinstance(value, ObjectKeyMap):
        raise MalformedBody(f"{what} must have message queues as keys")
    return {MessageQueue.from_dict(key): get_integer({"offset": offset}, "offset") for key, offset in value.pairs}
