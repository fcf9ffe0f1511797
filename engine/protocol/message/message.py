"""A message as its sender sees it (RocketMQ: ``Message``) and as the broker stored it (``MessageExt``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.protocol.errors import ReservedProperty
from engine.protocol.message.message_id import encode_offset_message_id
from engine.protocol.message.message_properties import (
    KEY_SEPARATOR,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQUE_KEY,
    PROPERTY_WAIT_STORE_MSG_OK,
    RESERVED_PROPERTIES,
    read_delay_level,
    split_keys,
)


class _HasProperties:
    """The accessors of properties that sender and receiver share."""

    __slots__ = ()

    properties: dict[str, str]

    @property
    def tags(self) -> str | None:
        """Return the tag that subscriptions filter by."""
        return self.properties.get(PROPERTY_TAGS)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the words under which the message can be found in the index."""
        return tuple(split_keys(self.properties.get(PROPERTY_KEYS, "")))

    @property
    def delay_level(self) -> int:
        """The delay level: 1 to 18, or 0 for no delay or an unreadable property."""
        return max(0, read_delay_level(self.properties) or 0)

    @property
    def wait_store_msg_ok(self) -> bool:
        """False if the sender does not want to wait for flush and replication."""
        return self.properties.get(PROPERTY_WAIT_STORE_MSG_OK, "true").lower() != "false"

    @property
    def user_properties(self) -> dict[str, str]:
        """Return a copy of the user's own properties: those that may be passed to a new message."""
        return {name: value for name, value in self.properties.items() if name not in RESERVED_PROPERTIES}

    @property
    def unique_id(self) -> str | None:
        """Return the id that the sending client gave the message (``UNIQ_KEY``)."""
        return self.properties.get(PROPERTY_UNIQUE_KEY)


class Message(_HasProperties):
    """A message to be sent.

    :param topic: the topic to send to.
    :param body: its content, any bytes.
    :param tags: one word that subscriptions can filter by.
    :param keys: words for the index, as a tuple, or one string with words separated by spaces.
    :param properties: further name-value pairs (RocketMQ: ``putUserProperty``).
    :param flag: 32 bits that the broker stores but does not interpret.
    :param delay_level: 1 to 18 (1 s to 2 h by default), or 0 for immediate delivery.
    :param wait_store_msg_ok: False: do not wait for flush and replication.

    Raises :class:`~engine.protocol.errors.ReservedProperty` for properties with names that RocketMQ reserves.
    """

    __slots__ = ("body", "flag", "properties", "topic")

    def __init__(
        self,
        topic: str,
        body: bytes,
        tags: str | None = None,
        keys: str | Iterable[str] | None = None,
        properties: Mapping[str, str] | None = None,
        flag: int = 0,
        delay_level: int = 0,
        *,
        wait_store_msg_ok: bool = True,
    ) -> None:
        if properties:
            _refuse_reserved(properties)
        self.topic = topic
        self.body = body
        self.flag = flag
        self.properties: dict[str, str] = dict(properties or {})
        if tags:
            self.properties[PROPERTY_TAGS] = tags
        if keys:
            self.properties[PROPERTY_KEYS] = keys if isinstance(keys, str) else KEY_SEPARATOR.join(keys)
        if delay_level:
            self.properties[PROPERTY_DELAY_TIME_LEVEL] = str(delay_level)
        if not wait_store_msg_ok:
            self.properties[PROPERTY_WAIT_STORE_MSG_OK] = "false"

    def __repr__(self) -> str:
        return f"Message(topic={self.topic!r}, {len(self.body)} bytes, properties={self.properties!r})"


#: Reserved property -> the attribute that sets it instead.
_PARAMETERS = {
    PROPERTY_TAGS: "tags",
    PROPERTY_KEYS: "keys",
    PROPERTY_DELAY_TIME_LEVEL: "delay_level",
    PROPERTY_WAIT_STORE_MSG_OK: "wait_store_msg_ok",
}


def _refuse_reserved(properties: Mapping[str, str]) -> None:
    reserved = [name for name in properties if name in RESERVED_PROPERTIES]
    if reserved:
        parameters = [f"{name} is set by the parameter {_PARAMETERS[name]}" for name in reserved if name in _PARAMETERS]
        advice = "; ".join([*parameters, "of a received message copy user_properties"])
        raise ReservedProperty(
            f"properties may not be named {', '.join(reserved)}: RocketMQ uses these itself; {advice}"
        )


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class MessageExt(_HasProperties):
    """A stored message, with everything that the broker added.

    ``born_host`` and ``store_host`` are ``"ip:port"``; times are milliseconds since 1970; ``body`` is as stored
    (perhaps compressed) unless it was decoded with ``decompress=True``.

    :ivar consume_started_ms: when this client gave it to a listener (RocketMQ: the property CONSUME_START_TIME, which a
        sender could forge); None: not yet.
    :ivar is_swallowed: an idempotent listener acknowledged it as a duplicate, without working on it.
    :ivar unreadable: why this message could not be decoded; its body and its properties then are as they are stored, or
        empty. Consumers do not pass such a message to a listener. None: it was decoded.
    """

    topic: str
    body: bytes
    properties: dict[str, str]
    queue_id: int
    queue_offset: int
    commit_log_offset: int
    born_timestamp: int
    born_host: str
    store_timestamp: int
    store_host: str
    flag: int = 0
    sys_flag: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    store_size: int = 0
    body_crc: int = 0
    broker_name: str | None = None
    consume_started_ms: int | None = None
    is_swallowed: bool = False
    unreadable: str | None = None

    @property
    def offset_message_id(self) -> str:
        """Return the id that consists of the broker's address and the commit-log offset."""
        return encode_offset_message_id(self.store_host, self.commit_log_offset)

    @property
    def message_id(self) -> str:
        """Return the client's unique id, or else the offset id (RocketMQ: ``getMsgId()``)."""
        return self.unique_id or self.offset_message_id

    def __repr__(self) -> str:
        return (
            f"MessageExt({self.topic!r} queue {self.queue_id} offset {self.queue_offset}, "
            f"commit log {self.commit_log_offset}, {len(self.body)} bytes, properties={self.properties!r})"
        )
