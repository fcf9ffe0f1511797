"""JSON bodies of the remaining commands (RocketMQ: package ``common.protocol.body``, ``common.admin``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.protocol.data_version import DataVersion
from engine.protocol.errors import MalformedBody
from engine.protocol.json_fields import as_object, as_text, get_integer, get_list, get_object, get_text
from engine.protocol.json_text import ObjectKeyMap, dumps_json, loads_json_object
from engine.protocol.message_queue import MessageQueue
from engine.protocol.subscription_data import SubscriptionData
from engine.protocol.topic_config import TopicConfig
from engine.protocol.topic_route_data import BrokerData

_MAX_QUEUES_PER_LOCK = 65_536


@dataclass(frozen=True, slots=True)
class LockBatchRequestBody:
    """LOCK_BATCH_MQ and UNLOCK_BATCH_MQ: which client of which group wants which queues."""

    consumer_group: str
    client_id: str
    mq_set: tuple[MessageQueue, ...]

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(
            {
                "clientId": self.client_id,
                "consumerGroup": self.consumer_group,
                "mqSet": [queue.to_dict() for queue in self.mq_set],
            }
        )

    @classmethod
    def from_json(cls, body: bytes) -> LockBatchRequestBody:
        """Read the body. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a lock request")
        return cls(
            consumer_group=get_text(fields, "consumerGroup"),
            client_id=get_text(fields, "clientId"),
            mq_set=get_list(fields, "mqSet", MessageQueue.from_dict, at_most=_MAX_QUEUES_PER_LOCK),
        )


@dataclass(frozen=True, slots=True)
class LockBatchResponseBody:
    """The queues that were locked for the client."""

    lock_ok_mq_set: tuple[MessageQueue, ...]

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json({"lockOKMQSet": [queue.to_dict() for queue in self.lock_ok_mq_set]})

    @classmethod
    def from_json(cls, body: bytes) -> LockBatchResponseBody:
        """Read the body. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a lock reply")
        return cls(get_list(fields, "lockOKMQSet", MessageQueue.from_dict))


@dataclass(frozen=True, slots=True)
class GetConsumerListByGroupResponseBody:
    """The client ids of a group's members that are connected."""

    consumer_id_list: tuple[str, ...]

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json({"consumerIdList": list(self.consumer_id_list)})

    @classmethod
    def from_json(cls, body: bytes) -> GetConsumerListByGroupResponseBody:
        """Read the body. Raises :class:`MalformedBody`."""
        return cls(get_list(loads_json_object(body, "a consumer list"), "consumerIdList", as_text))


@dataclass(frozen=True, slots=True)
class CheckClientRequestBody:
    """CHECK_CLIENT_CONFIG: may this client use this subscription?"""

    client_id: str
    group: str
    subscription_data: SubscriptionData

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(
            {"clientId": self.client_id, "group": self.group, "subscriptionData": self.subscription_data.to_dict()}
        )

    @classmethod
    def from_json(cls, body: bytes) -> CheckClientRequestBody:
        """Read the body. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a client check")
        subscription = SubscriptionData.from_dict(get_object(fields, "subscriptionData"))
        return cls(get_text(fields, "clientId", ""), get_text(fields, "group", ""), subscription)


@dataclass(slots=True)
class TopicConfigSerializeWrapper:
    """All topics of a broker; also the content of ``topics.json``."""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire and of the file."""
        return {
            "dataVersion": self.data_version.to_dict(),
            "topicConfigTable": {name: config.to_dict() for name, config in self.topic_config_table.items()},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> TopicConfigSerializeWrapper:
        """Read the JSON object. Raises :class:`MalformedBody`."""
        table = {
            name: TopicConfig.from_dict(as_object(config))
            for name, config in get_object(fields, "topicConfigTable").items()
        }
        return cls(table, DataVersion.from_dict(get_object(fields, "dataVersion")))


@dataclass(slots=True)
class RegisterBrokerBody:
    """What a broker tells the name server: its topics."""

    topic_config_serialize_wrapper: TopicConfigSerializeWrapper

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(
            {
                "filterServerList": [],
                "topicConfigSerializeWrapper": self.topic_config_serialize_wrapper.to_dict(),
            }
        )

    @classmethod
    def from_json(cls, body: bytes) -> RegisterBrokerBody:
        """Read the body. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a broker registration")
        return cls(TopicConfigSerializeWrapper.from_dict(get_object(fields, "topicConfigSerializeWrapper")))


@dataclass(slots=True)
class ClusterInfo:
    """The reply of code 106: all brokers, and which cluster has which."""

    broker_addr_table: dict[str, BrokerData]
    cluster_addr_table: dict[str, list[str]]

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(
            {
                "brokerAddrTable": {name: data.to_dict() for name, data in self.broker_addr_table.items()},
                "clusterAddrTable": {name: sorted(brokers) for name, brokers in self.cluster_addr_table.items()},
            }
        )

    @classmethod
    def from_json(cls, body: bytes) -> ClusterInfo:
        """Read the body. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a cluster description")
        brokers = {name: BrokerData.from_dict(data) for name, data in get_object(fields, "brokerAddrTable").items()}
        clusters: dict[str, list[str]] = {}
        for name, members in get_object(fields, "clusterAddrTable").items():
            if not isinstance(members, list):
                raise MalformedBody(f"cluster {name!r} must list its brokers")
            clusters[name] = [as_text(member) for member in members]
        return cls(brokers, clusters)


@dataclass(frozen=True, slots=True)
class TopicList:
    """The reply of code 206."""

    topic_list: tuple[str, ...]
    broker_addr: str | None = None

    def to_json(self) -> bytes:
        """The body."""
        fields: dict[str, object] = {"topicList": list(self.topic_list)}
        if self.broker_addr is not None:
            fields["brokerAddr"] = self.broker_addr
        return dumps_json(fields)

    @classmethod
    def from_json(cls, body: bytes) -> TopicList:
        """Read the body. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a topic list")
        return cls(get_list(fields, "topicList", as_text), get_text(fields, "brokerAddr", "") or None)


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """One connected client (RocketMQ: ``Connection``)."""

    client_id: str
    client_addr: str
    language: str
    version: int

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire."""
        return {
            "clientAddr": self.client_addr,
            "clientId": self.client_id,
            "language": self.language,
            "version": self.version,
        }


@dataclass(slots=True)
class ConsumerConnection:
    """The reply of code 203."""

    connection_set: list[ClientConnection]
    subscription_table: dict[str, SubscriptionData]
    consume_type: str
    message_model: str
    consume_from_where: str

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(
            {
                "connectionSet": [connection.to_dict() for connection in self.connection_set],
                "consumeFromWhere": str(self.consume_from_where),
                "consumeType": str(self.consume_type),
                "messageModel": str(self.message_model),
                "subscriptionTable": {topic: data.to_dict() for topic, data in self.subscription_table.items()},
            }
        )


@dataclass(slots=True)
class ProducerConnection:
    """The reply of code 204."""

    connection_set: list[ClientConnection]

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json({"connectionSet": [connection.to_dict() for connection in self.connection_set]})


@dataclass(frozen=True, slots=True)
class TopicOffset:
    """One queue in the reply of code 202; ``last_update_timestamp`` in ms, 0 when empty."""

    min_offset: int
    max_offset: int
    last_update_timestamp: int


@dataclass(slots=True)
class TopicStatsTable:
    """The reply of code 202."""

    offset_table: dict[MessageQueue, TopicOffset]

    def to_json(self) -> bytes:
        """The body, with objects as keys."""
        pairs: list[tuple[dict[str, object], object]] = [
            (
                queue.to_dict(),
                {
                    "lastUpdateTimestamp": offset.last_update_timestamp,
                    "maxOffset": offset.max_offset,
                    "minOffset": offset.min_offset,
                },
            )
            for queue, offset in sorted(self.offset_table.items())
        ]
        return dumps_json({"offsetTable": ObjectKeyMap(pairs)})


@dataclass(frozen=True, slots=True)
class OffsetWrapper:
    """One queue in the reply of code 208; ``last_timestamp``: store time (ms) of the last consumed message."""

    broker_offset: int
    consumer_offset: int
    last_timestamp: int


@dataclass(slots=True)
class ConsumeStats:
    """The reply of code 208."""

    offset_table: dict[MessageQueue, OffsetWrapper]
    consume_tps: float

    @property
    def total_diff(self) -> int:
        """Messages of all queues that are not consumed yet."""
        return sum(offset.broker_offset - offset.consumer_offset for offset in self.offset_table.values())

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire, with objects as keys."""
        pairs: list[tuple[dict[str, object], object]] = [
            (
                queue.to_dict(),
                {
                    "brokerOffset": offset.broker_offset,
                    "consumerOffset": offset.consumer_offset,
                    "lastTimestamp": offset.last_timestamp,
                },
            )
            for queue, offset in sorted(self.offset_table.items())
        ]
        return {"consumeTps": self.consume_tps, "offsetTable": ObjectKeyMap(pairs)}

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(self.to_dict())


@dataclass(slots=True)
class KVTable:
    """Names and values as text: the reply of code 28."""

    table: dict[str, str]

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json({"table": self.table})


@dataclass(slots=True)
class ResetOffsetBody:
    """The new offset of every queue, sent to the clients of a group (code 220)."""

    offset_table: dict[MessageQueue, int]

    def to_json(self) -> bytes:
        """The body, with objects as keys."""
        return dumps_json({"offsetTable": offset_map(self.offset_table)})

    @classmethod
    def from_json(cls, body: bytes) -> ResetOffsetBody:
        """Read the body. Raises :class:`MalformedBody`."""
        return cls(offsets_of(loads_json_object(body, "a reset body").get("offsetTable"), "offsetTable"))


def offset_map(offsets: Mapping[MessageQueue, int]) -> ObjectKeyMap:
    """Offsets by queue, with queues as JSON keys."""
    return ObjectKeyMap([(queue.to_dict(), offset) for queue, offset in sorted(offsets.items())])


def offsets_of(value: object, what: str) -> dict[MessageQueue, int]:
    """The inverse of :func:`offset_map`. Raises :class:`MalformedBody` that names ``what``."""
    if value is None or value == {}:
        return {}
    if not isinstance(value, ObjectKeyMap):
        raise MalformedBody(f"{what} must have message queues as keys")
    return {MessageQueue.from_dict(key): get_integer({"offset": offset}, "offset") for key, offset in value.pairs}
