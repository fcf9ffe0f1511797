"""One queue of a topic on one broker (RocketMQ: ``MessageQueue``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.body.json_body import JsonBody
from engine.protocol.errors import MalformedBody


@dataclass(frozen=True, slots=True, order=True)
class MessageQueue(JsonBody):
    """A message queue, ordered as in RocketMQ: topic, broker name, queue id. Rebalancing depends on that order."""

    topic: str
    broker_name: str
    queue_id: int

    @classmethod
    def from_dict(cls, value: object) -> MessageQueue:
        """Read the JSON object of the wire. Raises :class:`MalformedBody`."""
        if not isinstance(value, dict):
            raise MalformedBody(f"a message queue must be a JSON object, got {type(value).__name__}")
        topic, broker_name, queue_id = value.get("topic"), value.get("brokerName"), value.get("queueId")
        if not isinstance(topic, str) or not isinstance(broker_name, str):
            raise MalformedBody("a message queue needs the strings topic and brokerName")
        if isinstance(queue_id, str) and queue_id.isascii() and queue_id.isdigit():
            queue_id = int(queue_id)  # C++ clients quote numbers
        if not isinstance(queue_id, int) or isinstance(queue_id, bool) or not 0 <= queue_id < 1 << 31:
            raise MalformedBody(f"a message queue needs a queueId from 0 to 2147483647, got {queue_id!r}")
        return cls(topic, broker_name, queue_id)

    def __str__(self) -> str:
        return f"{self.topic}@{self.broker_name}:{self.queue_id}"
