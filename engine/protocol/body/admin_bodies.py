"""JSON bodies that only tools request (RocketMQ: package ``common.protocol.body``, ``common.admin``).

Some of RocketMQ's classes also print getters that are not fields (``QueueTimeSpan`` prints every time as text, too).
They can be computed from the fields here and no reader needs them, so they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.protocol.body.bodies import ConsumeStats, offsets_of
from engine.protocol.body.json_body import JsonBody, object_key_map
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.json_form.json_fields import as_object

OffsetTable = Mapping[MessageQueue, int]


@dataclass(frozen=True, slots=True)
class ResetOffsetBodyForC(JsonBody):
    """The body that a C++ client receives with code 220: a list, because it cannot read objects as keys."""

    offset_table: OffsetTable

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of the wire."""
        rows = [queue.to_dict() | {"offset": offset} for queue, offset in sorted(self.offset_table.items())]
        return {"offsetTable": rows}


@dataclass(frozen=True, slots=True)
class GetConsumerStatusBody(JsonBody, what="a consumer status"):
    """The replies of codes 221 and 223: 221 fills ``message_queue_table`` (one member's offsets), 223
    ``consumer_table`` (offsets by client).
    """

    message_queue_table: OffsetTable
    consumer_table: Mapping[str, OffsetTable]

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of the wire."""
        clients = {client_id: object_key_map(offsets) for client_id, offsets in self.consumer_table.items()}
        return {"consumerTable": clients, "messageQueueTable": object_key_map(self.message_queue_table)}

    @classmethod
    def from_dict(cls, value: object) -> GetConsumerStatusBody:
        """Read the reply of code 221. Raises ``MalformedBody``."""
        return cls(offsets_of(as_object(value).get("messageQueueTable"), "messageQueueTable"), {})


@dataclass(frozen=True, slots=True)
class ProducerInfo(JsonBody, wire_names={"last_update_ms": "lastUpdateTimestamp", "remote_ip": "remoteIP"}):
    """A connected producer. ``last_update_ms`` is the time of its last heartbeat."""

    client_id: str
    remote_ip: str
    language: str
    version: int
    last_update_ms: int


@dataclass(frozen=True, slots=True)
class ProducerTableInfo(JsonBody):
    """The reply of code 328: producer group -> its members."""

    data: Mapping[str, Sequence[ProducerInfo]]


@dataclass(frozen=True, slots=True)
class QueueTimeSpan(
    JsonBody,
    wire_names={
        "queue": "messageQueue",
        "min_timestamp": "minTimeStamp",
        "max_timestamp": "maxTimeStamp",
        "consume_timestamp": "consumeTimeStamp",
        "delay_time_ms": "delayTime",
    },
):
    """One queue in the reply of code 303, with store times in ms, -1 where there is no message.

    The times are those of the oldest message, of the newest, and of the last one consumed (of the oldest if none was).
    ``delay_time_ms`` is the age of the next message to consume.
    """

    queue: MessageQueue
    min_timestamp: int
    max_timestamp: int
    consume_timestamp: int
    delay_time_ms: int


@dataclass(frozen=True, slots=True)
class ConsumeQueueData(JsonBody, wire_names={"commit_log_offset": "physicOffset", "size_bytes": "physicSize"}):
    """One consume-queue entry in the reply of code 321, with ``size_bytes`` and ``commit_log_offset`` of its message.

    The other fields apply to an entry that points into the consume-queue extension: its unit as JSON, its bit map as
    text, whether they let the group's filter match the message, and what is wrong with the address.
    """

    commit_log_offset: int
    size_bytes: int
    tags_code: int
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


@dataclass(frozen=True, slots=True)
class QueryConsumeQueueResponseBody(JsonBody):
    """The reply of code 321. ``filter_data`` is human-readable text; None if no group was named."""

    subscription_data: SubscriptionData | None
    filter_data: str | None
    queue_data: Sequence[ConsumeQueueData]
    max_queue_index: int
    min_queue_index: int


@dataclass(frozen=True, slots=True)
class BrokerStatsItem(JsonBody, wire_names={"average_per_time": "avgpt"}):
    """The values of one counter in one time span: its sum, its rate per second, and its average growth per request."""

    sum: int
    tps: float
    average_per_time: float


@dataclass(frozen=True, slots=True)
class BrokerStatsData(JsonBody, wire_names={"minute": "statsMinute", "hour": "statsHour", "day": "statsDay"}):
    """The reply of code 315: a counter's last minute, hour and day."""

    minute: BrokerStatsItem
    hour: BrokerStatsItem
    day: BrokerStatsItem


@dataclass(frozen=True, slots=True)
class ConsumeStatsList(JsonBody):
    """The reply of code 317: consume statistics per group and topic."""

    groups: Mapping[str, Sequence[ConsumeStats]]
    broker_addr: str

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of the wire: RocketMQ sends a list of maps with one group each."""
        return {
            "brokerAddr": self.broker_addr,
            "consumeStatsList": [{name: [one.to_dict() for one in stats]} for name, stats in self.groups.items()],
            "totalDiff": sum(one.total_diff for stats in self.groups.values() for one in stats),
        }
