"""One message as it lies in a broker's commit log, with what the checkers compare."""

from __future__ import annotations

import struct
from typing import NamedTuple

from engine.protocol.errors import MalformedMessage
from engine.protocol.message_codec import decode_stored_message
from engine.protocol.message_properties import PROPERTY_REAL_TOPIC
from engine.protocol.names import SCHEDULE_TOPIC
from engine.store.dispatch_request import belongs_in_consume_queue
from engine.store.stored_record import parse_record

#: (topic, queue id, queue offset): where a message lies for consumers.
Place = tuple[str, int, int]


class LoggedMessage(NamedTuple):
    """See the module.

    ``destination`` is where it is meant to go: the real topic of one that waits at a delay level, else its topic.
    ``unique_key`` is the same in all copies of a message that is retried.
    """

    broker: str
    topic: str
    queue_id: int
    queue_offset: int
    commit_log_offset: int
    size_bytes: int
    tags_code: int
    is_in_queue: bool
    destination: str
    tags: str
    key: str
    unique_key: str
    reconsume_times: int
    store_timestamp: int

    @property
    def end_offset(self) -> int:
        """Commit-log offset behind it."""
        return self.commit_log_offset + self.size_bytes

    @property
    def first_key(self) -> str:
        """The key that the clients of the lab know it by."""
        return self.key.partition(" ")[0]

    @property
    def place(self) -> Place:
        """Where consumers find it."""
        return self.topic, self.queue_id, self.queue_offset

    @property
    def element(self) -> dict[str, str | int]:
        """What a violation about it marks."""
        return {
            "node": self.broker,
            "topic": self.topic,
            "queue": self.queue_id,
            "offset": self.queue_offset,
            "message": self.first_key,
        }


def read_logged_message(
    broker: str, record: bytes, commit_log_offset: int, delay_levels_ms: tuple[int, ...]
) -> LoggedMessage | None:
    """The message in ``record``, or None when it is not whole."""
    request = parse_record(record, 0, commit_log_offset, delay_levels_ms)
    if request is None:
        return None
    try:
        message = decode_stored_message(record)
    except (MalformedMessage, struct.error):
        return None
    is_waiting = message.topic == SCHEDULE_TOPIC
    return LoggedMessage(
        broker=broker,
        topic=message.topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        commit_log_offset=commit_log_offset,
        size_bytes=message.store_size,
        tags_code=request.tags_code,
        is_in_queue=belongs_in_consume_queue(message.sys_flag),
        # A message that was delivered keeps the property for ever, as in RocketMQ.
        destination=message.properties.get(PROPERTY_REAL_TOPIC, "") if is_waiting else message.topic,
        tags=message.tags or "",
        key=" ".join(message.keys),
        unique_key=message.unique_id or f"{broker}@{commit_log_offset}",
        reconsume_times=message.reconsume_times,
        store_timestamp=message.store_timestamp,
    )
