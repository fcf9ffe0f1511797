"""Which brokers hold a topic's queues (RocketMQ: ``TopicRouteData``, ``QueueData``, ``BrokerData``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.errors import MalformedBody
from engine.protocol.json_fields import as_object, get_integer, get_list, get_object, get_text
from engine.protocol.json_text import dumps_json, loads_json_object

#: The broker id of a master; slaves have greater ones.
MASTER_ID = 0


@dataclass(slots=True)
class QueueData:
    """A topic's queues on one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire."""
        return {
            "brokerName": self.broker_name,
            "perm": self.perm,
            "readQueueNums": self.read_queue_nums,
            "topicSysFlag": self.topic_sys_flag,
            "writeQueueNums": self.write_queue_nums,
        }

    @classmethod
    def from_dict(cls, value: object) -> QueueData:
        """Read the JSON object of the wire."""
        fields = as_object(value)
        return cls(
            broker_name=get_text(fields, "brokerName"),
            read_queue_nums=get_integer(fields, "readQueueNums"),
            write_queue_nums=get_integer(fields, "writeQueueNums"),
            perm=get_integer(fields, "perm"),
            # Older brokers spell the field topicSynFlag.
            topic_sys_flag=get_integer(fields, "topicSysFlag", get_integer(fields, "topicSynFlag", 0)),
        )


@dataclass(slots=True)
class BrokerData:
    """The addresses behind one broker name: broker id (0 is the master) -> ``"ip:port"``."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)

    @property
    def master_address(self) -> str | None:
        """The master's address, or None when only slaves are up."""
        return self.broker_addrs.get(MASTER_ID)

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire; ids become standard string keys, which every client reads."""
        return {
            "brokerAddrs": {str(broker_id): self.broker_addrs[broker_id] for broker_id in sorted(self.broker_addrs)},
            "brokerName": self.broker_name,
            "cluster": self.cluster,
        }

    @classmethod
    def from_dict(cls, value: object) -> BrokerData:
        """Read the JSON object of the wire."""
        fields = as_object(value)
        addresses: dict[int, str] = {}
        for broker_id, address in get_object(fields, "brokerAddrs").items():
            if not broker_id.isdigit() or not isinstance(address, str):
                raise MalformedBody(f"brokerAddrs maps numbers to addresses, got {broker_id!r}: {address!r}")
            addresses[int(broker_id)] = address
        return cls(get_text(fields, "cluster", ""), get_text(fields, "brokerName"), addresses)


@dataclass(slots=True)
class TopicRouteData:
    """The reply of code 105."""

    queue_datas: list[QueueData] = field(default_factory=list)
    broker_datas: list[BrokerData] = field(default_factory=list)
    order_topic_conf: str | None = None

    def to_json(self) -> bytes:
        """The body."""
        fields: dict[str, object] = {
            "brokerDatas": [data.to_dict() for data in self.broker_datas],
            "filterServerTable": {},
            "queueDatas": [data.to_dict() for data in self.queue_datas],
        }
        if self.order_topic_conf is not None:
            fields["orderTopicConf"] = self.order_topic_conf
        return dumps_json(fields)

    @classmethod
    def from_json(cls, body: bytes) -> TopicRouteData:
        """Read the body, with fastjson's unquoted keys too. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a topic route")
        conf = fields.get("orderTopicConf")
        return cls(
            queue_datas=list(get_list(fields, "queueDatas", QueueData.from_dict)),
            broker_datas=list(get_list(fields, "brokerDatas", BrokerData.from_dict)),
            order_topic_conf=conf if isinstance(conf, str) else None,
        )
