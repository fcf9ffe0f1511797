"""One message as stored in a broker's commit log, with the fields that the checkers compare."""

from __future__ import annotations

from typing import NamedTuple

from engine.protocol.errors import ProtocolError
from engine.protocol.message.message_codec import stored_properties_text
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.message.message_properties import (
    PROPERTY_REAL_TOPIC,
    PROPERTY_RESENT_DEAD_LETTER,
    PROPERTY_TAGS,
    decode_properties,
)
from engine.protocol.message.record_layout import HOST_FLAGS, fields_at
from engine.protocol.names import SCHEDULE_TOPIC
from engine.store.log.stored_record import parse_record
from engine.store.queues.dispatch_request import belongs_in_consume_queue

_RECONSUME_TIMES = fields_at("reconsume_times")

#: (topic, queue id, queue offset): where consumers find a message.
LogPlace = tuple[str, int, int]


class LoggedMessage(NamedTuple):
    """A message in a commit log.

    ``destination`` is the topic for which it is meant: the real topic of one that waits at a delay level, else its
    topic. ``unique_key`` is the same in all copies of a message that is retried. ``resends``: log offset of the dead
    letter for which it was resent by hand, -1 for others; its retries have the same value. ``properties_text`` is as it
    is stored.
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
    resends: int = -1
    properties_text: str = ""

    @property
    def properties(self) -> dict[str, str]:
        """Return the properties from their text."""
        return decode_properties(self.properties_text)

    @property
    def end_offset(self) -> int:
        """Return the commit-log offset after the message."""
        return self.commit_log_offset + self.size_bytes

    @property
    def first_key(self) -> str:
        """Return the key by which the clients of the lab identify the message."""
        return self.key.partition(" ")[0]

    @property
    def place(self) -> LogPlace:
        """Return the topic, queue and offset at which consumers find the message."""
        return self.topic, self.queue_id, self.queue_offset

    @property
    def element(self) -> dict[str, str | int]:
        """Return the element for a violation about the message."""
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
    """Return the message in ``record``; None if it is incomplete."""
    request = parse_record(record, 0, commit_log_offset, delay_levels_ms)
    if request is None:
        return None
    topic = request.topic
    properties_text = stored_properties_text(record)
    properties = decode_properties(properties_text)
    return LoggedMessage(
        broker,
        topic,
        request.queue_id,
        request.queue_offset,
        commit_log_offset,
        request.size_bytes,
        request.tags_code,
        belongs_in_consume_queue(request.sys_flag),
        # A delivered message keeps the property forever, as in RocketMQ.
        properties.get(PROPERTY_REAL_TOPIC, "") if topic == SCHEDULE_TOPIC else topic,
        properties.get(PROPERTY_TAGS, ""),
        request.keys,
        request.unique_key or f"{broker}@{commit_log_offset}",
        int(_RECONSUME_TIMES[request.sys_flag & HOST_FLAGS].unpack_from(record)[0]),
        request.store_timestamp,
        _resent_dead_letter(properties.get(PROPERTY_RESENT_DEAD_LETTER)),
        properties_text,
    )


def _resent_dead_letter(offset_message_id: str | None) -> int:
    if offset_message_id is None:
        return -1
    try:
        return decode_offset_message_id(offset_message_id)[1]
    except ProtocolError:  # any client may write such a property
        return -1
