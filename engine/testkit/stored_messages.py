"""The messages of a topic as a test asks for them, and the description by which it selects some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from engine.broker.broker import Broker
from engine.broker.transactions.half_message import HALF_QUEUE_ID, decided_offset, first_copy
from engine.protocol.errors import ProtocolError
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message import MessageExt
from engine.protocol.names import TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.protocol.system_flags import COMPRESSION_TYPE_MASK, MESSAGE_COMPRESSED
from engine.testkit.errors import TestKitError
from engine.texts import Text

#: The messages of a topic that one question reads. A test has dozens; the broker stands still while it reads.
MESSAGES_MAX = 20_000
_ENTRIES_PER_READ = 1_000


@dataclass(frozen=True, slots=True)
class Selection:
    """A filter of messages. Fields that are None match everything.

    :ivar key: one of its keys.
    :ivar body: the whole body; a ``str`` means its UTF-8 bytes.
    :ivar properties: user properties that it must have; it may have more.
    """

    key: str | None = None
    tag: str | None = None
    body: bytes | str | None = None
    properties: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse what no message has: ``key=17`` would match none, and the tables show its key as 17."""
        given: dict[str, object] = {**(self.properties or {}), "key": self.key, "tag": self.tag, "body": self.body}
        for name, value in given.items():
            if not (value is None or isinstance(value, str) or (name == "body" and isinstance(value, bytes))):
                raise TestKitError(f"{name}={value!r} is not a text; write {name}={str(value)!r}")

    def misses(self, message: MessageExt) -> tuple[str, ...]:
        """Return the names of the parts in which ``message`` differs."""
        differs = {
            "key": self.key is not None and self.key not in message.keys,
            "tag": self.tag is not None and self.tag != message.tags,
            "body": self.body is not None and self.body_bytes != message.body,
            "properties": any(message.properties.get(name) != value for name, value in (self.properties or {}).items()),
        }
        return tuple(name for name, is_missed in differs.items() if is_missed)

    @property
    def body_bytes(self) -> bytes | None:
        """Return the wanted body as bytes."""
        return self.body.encode() if isinstance(self.body, str) else self.body

    @property
    def wanted(self) -> dict[str, object]:
        """Return the parts that matter."""
        parts = {"key": self.key, "tag": self.tag, "body": self.body_bytes, "properties": self.properties}
        return {name: value for name, value in parts.items() if value is not None}

    def __str__(self) -> str:
        return " with " + ", ".join(f"{name} {value!r}" for name, value in self.wanted.items()) if self.wanted else ""


def messages_of(broker: Broker, topic: str) -> list[MessageExt]:
    """Return the visible messages of ``topic``, in the order in which they were stored; bodies are decompressed.

    Raises :class:`TestKitError` if there are too many to read in one go.
    """
    store = broker.store
    queues = [(queue_id, queue) for of, queue_id, queue in store.consume_queues() if of == topic]
    if sum(queue.max_offset - queue.min_offset for _, queue in queues) > MESSAGES_MAX:
        raise TestKitError(Text("testkit.too_many_messages", topic=topic, limit=MESSAGES_MAX))
    found = [message for queue_id, _ in queues for message in _in_queue(broker, topic, queue_id)]
    return sorted((_readable(message) for message in found), key=lambda message: message.commit_log_offset)


def _in_queue(broker: Broker, topic: str, queue_id: int) -> Iterator[MessageExt]:
    store = broker.store
    offset = max(0, store.min_offset(topic, queue_id))
    read = partial(store.consume_queue_entries, topic, queue_id, count=_ENTRIES_PER_READ)
    while entries := read(start=offset):
        offset += len(entries)
        yield from (message for place, _, _ in entries if (message := store.message_at(place)) is not None)


def _readable(message: MessageExt) -> MessageExt:
    if message.sys_flag & MESSAGE_COMPRESSED:
        try:
            message.body = decompress_body(message.body, message.sys_flag)
        except ProtocolError as error:
            message.unreadable = str(error)
        else:
            message.sys_flag &= ~(MESSAGE_COMPRESSED | COMPRESSION_TYPE_MASK)
    return message


def count_of(broker: Broker, topic: str) -> int:
    """Return how many messages ``topic`` has."""
    queues = [queue for of, _, queue in broker.store.consume_queues() if of == topic]
    return sum(max(0, queue.max_offset - queue.min_offset) for queue in queues)


def undecided_half_messages(broker: Broker) -> list[MessageExt]:
    """Return the newest copy of each half message that was neither committed, nor rolled back, nor given up."""
    ops = _in_queue(broker, TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID)
    decided = dict.fromkeys(decided_offset(op) for op in ops)
    first_open = broker.transactional_message_service.half_offset
    halves = _in_queue(broker, TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID)
    newest = {first_copy(half): half for half in halves if half.queue_offset >= first_open}
    return [_readable(half) for half in newest.values() if half.queue_offset not in decided]
