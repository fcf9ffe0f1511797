"""The route of a topic: the brokers that have its queues (RocketMQ: ``TopicRouteData``, ``QueueData``,
``BrokerData``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.protocol.body.json_body import JsonBody
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_fields import as_object, get_integer, get_list, get_object, get_text

#: The broker id of a master; slaves have greater ones.
MASTER_ID = 0
#: How many queues a topic may have, on all brokers together: a client makes an object for each. The widest topic that
#: RocketMQ creates itself has 1,024 on a broker; its clients accept any number and run out of memory.
TOPIC_QUEUES_MAX = 65_536


@dataclass(slots=True)
class QueueData(JsonBody):
    """A topic's queues on one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0

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
class BrokerData(JsonBody):
    """The addresses of one broker name: broker id (0 is the master) -> ``"ip:port"``."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)

    @property
    def master_address(self) -> str | None:
        """Return the master's address, or None when only slaves are up."""
        return self.broker_addrs.get(MASTER_ID)

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
class TopicRouteData(JsonBody, what="a topic route"):
    """The route of a topic: the reply of code 105."""

    queue_datas: list[QueueData] = field(default_factory=list)
    broker_datas: list[BrokerData] = field(default_factory=list)
    order_topic_conf: str | None = None
    filter_server_table: dict[str, object] = field(default_factory=dict, init=False)

    @classmethod
    def from_dict(cls, value: object) -> TopicRouteData:
        """Read the JSON object of the wire. Raises :class:`MalformedBody`."""
        fields = as_object(value)
        conf = fields.get("orderTopicConf")
        queue_datas = list(get_list(fields, "queueDatas", QueueData.from_dict))
        check_queue_nums((data.broker_name, data.read_queue_nums) for data in queue_datas)
        check_queue_nums((data.broker_name, data.write_queue_nums) for data in queue_datas)
        return cls(
            queue_datas=queue_datas,
            broker_datas=list(get_list(fields, "brokerDatas", BrokerData.from_dict)),
            order_topic_conf=conf if isinstance(conf, str) else None,
        )


def check_queue_nums(counts: Iterable[tuple[str, int]]) -> None:
    """Raise :class:`MalformedBody` unless each broker name has a valid number of queues, and their sum is allowed."""
    total = 0
    for broker_name, count in counts:
        total += count
        if count < 0 or total > TOPIC_QUEUES_MAX:
            raise MalformedBody(
                f"{count} queues on broker {broker_name!r:.80}, {total} in all: a topic has 0 to {TOPIC_QUEUES_MAX}"
            )
