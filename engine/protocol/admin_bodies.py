"""JSON bodies that only tools ask for (RocketMQ: package ``common.protocol.body``, ``common.admin``).

Some of RocketMQ's classes print getters that are no fields (``QueueTimeSpan`` prints every time as text too); what
they add can be computed from what is here, and no reader needs it, so it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.protocol.bodies import ConsumeStats, offset_map, offsets_of
from engine.protocol.json_text import dumps_json, loads_json_object
from engine.protocol.message_queue import MessageQueue
from engine.protocol.subscription_data import SubscriptionData

OffsetTable = Mapping[MessageQueue, int]


@dataclass(frozen=True, slots=True)
class ResetOffsetBodyForC:
    """What a C++ client is sent with code 220: a list, because it cannot read objects as keys."""

    offset_table: OffsetTable

    def to_json(self) -> bytes:
        """The body."""
        rows = [queue.to_dict() | {"offset": offset} for queue, offset in sorted(self.offset_table.items())]
        return dumps_json({"offsetTable": rows})


@dataclass(frozen=True, slots=True)
class GetConsumerStatusBody:
    """The reply of 221 has ``message_queue_table`` (a member's offsets), that of 223 ``consumer_table`` (by client)."""

    message_queue_table: OffsetTable
    consumer_table: Mapping[str, OffsetTable]

    def to_json(self) -> bytes:
        """The body, with objects as keys."""
        clients = {client_id: offset_map(offsets) for client_id, offsets in self.consumer_table.items()}
        return dumps_json({"consumerTable": clients, "messageQueueTable": offset_map(self.message_queue_table)})

    @classmethod
    def from_json(cls, body: bytes) -> GetConsumerStatusBody:
        """Read the reply of 221. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a consumer status")
        return cls(offsets_of(fields.get("messageQueueTable"), "messageQueueTable"), {})


@dataclass(frozen=True, slots=True)
class ProducerInfo:
    """One connected producer; ``last_update_ms`` is its last heartbeat."""

    client_id: str
    remote_ip: str
    language: str
    version: int
    last_update_ms: int

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire."""
        return {
            "clientId": self.client_id,
            "language": self.language,
            "lastUpdateTimestamp": self.last_update_ms,
            "remoteIP": self.remote_ip,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True)
class ProducerTableInfo:
    """The reply of 328: producer group -> its members."""

    data: Mapping[str, Sequence[ProducerInfo]]

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json({"data": {group: [info.to_dict() for info in infos] for group, infos in self.data.items()}})


@dataclass(frozen=True, slots=True)
class QueueTimeSpan:
    """One queue in the reply of 303. Store times in ms, -1 where there is no message: of the oldest message, of the
    newest, of the last one consumed (of the oldest when none was); ``delay_time_ms``: the age of the next to consume.
    """

    queue: MessageQueue
    min_timestamp: int
    max_timestamp: int
    consume_timestamp: int
    delay_time_ms: int

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire."""
        return {
            "consumeTimeStamp": self.consume_timestamp,
            "delayTime": self.delay_time_ms,
            "maxTimeStamp": self.max_timestamp,
            "messageQueue": self.queue.to_dict(),
            "minTimeStamp": self.min_timestamp,
        }


@dataclass(frozen=True, slots=True)
class ConsumeQueueData:
    """One entry of a consume queue in the reply of 321; ``size_bytes`` and ``commit_log_offset`` of its message.

    The rest is of an entry that points into the consume-queue extension: its unit as JSON, its bit map as text, whether
    the group may want the message by them, and what is wrong with the address.
    """

    commit_log_offset: int
    size_bytes: int
    tags_code: int
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire; what is None is left out, as fastjson does."""
        fields: dict[str, object] = {
            "bitMap": self.bit_map,
            "eval": self.eval,
            "extendDataJson": self.extend_data_json,
            "msg": self.msg,
            "physicOffset": self.commit_log_offset,
            "physicSize": self.size_bytes,
            "tagsCode": self.tags_code,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class QueryConsumeQueueResponseBody:
    """The reply of 321. ``filter_data`` is text for people; None when no group was named."""

    subscription_data: SubscriptionData | None
    filter_data: str | None
    queue_data: Sequence[ConsumeQueueData]
    max_queue_index: int
    min_queue_index: int

    def to_json(self) -> bytes:
        """The body; what is None is left out, as fastjson does."""
        fields: dict[str, object] = {
            "maxQueueIndex": self.max_queue_index,
            "minQueueIndex": self.min_queue_index,
            "queueData": [entry.to_dict() for entry in self.queue_data],
        }
        if self.subscription_data is not None:
            fields["subscriptionData"] = self.subscription_data.to_dict()
        if self.filter_data is not None:
            fields["filterData"] = self.filter_data
        return dumps_json(fields)


@dataclass(frozen=True, slots=True)
class BrokerStatsItem:
    """What a counter did in one span: its sum, its rate per second, and how much it grew per request."""

    sum: int
    tps: float
    average_per_time: float

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire."""
        return {"avgpt": self.average_per_time, "sum": self.sum, "tps": self.tps}


@dataclass(frozen=True, slots=True)
class BrokerStatsData:
    """The reply of 315: the last minute, hour and day."""

    minute: BrokerStatsItem
    hour: BrokerStatsItem
    day: BrokerStatsItem

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(
            {"statsDay": self.day.to_dict(), "statsHour": self.hour.to_dict(), "statsMinute": self.minute.to_dict()}
        )


@dataclass(frozen=True, slots=True)
class ConsumeStatsList:
    """The reply of 317: per group, its topics."""

    groups: Mapping[str, Sequence[ConsumeStats]]
    broker_addr: str

    def to_json(self) -> bytes:
        """The body: RocketMQ sends a list of maps with one group each."""
        return dumps_json(
            {
                "brokerAddr": self.broker_addr,
                "consumeStatsList": [{name: [one.to_dict() for one in stats]} for name, stats in self.groups.items()],
                "totalDiff": sum(one.total_diff for stats in self.groups.values() for one in stats),
            }
        )
