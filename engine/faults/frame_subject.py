"""What a frame is about: its name, and the topics, groups and keys that it speaks of.

A reply says only which request it answers (by ``opaque``): what it is about, it has from that. RocketMQ has no such
class; its processors read the fields each for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from engine.protocol.body.bodies import LockBatchRequestBody
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.java_text import java_text
from engine.protocol.message.batch_codec import decode_batch
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.message_properties import (
    PROPERTY_KEYS,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_UNIQUE_KEY,
    decode_properties,
    split_keys,
)
from engine.protocol.request_code import RequestCode

REPLY = "reply"

#: Header fields that name a topic, a group, a message. SEND_MESSAGE_V2 has letters instead of names.
_TOPIC_FIELDS = ("topic", "originTopic")
_GROUP_FIELDS = ("consumerGroup", "producerGroup", "group")
_ID_FIELDS = ("transactionId", "msgId", "originMsgId")
_LETTERS = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
_LOCKS = (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ)


_REQUEST_NAMES = {code.value: code.name for code in RequestCode}


def request_name(code: int) -> str:
    """``PULL_MESSAGE``, or the number of a code that has no name here."""
    return _REQUEST_NAMES.get(code) or f"request {code}"


class FrameSubject:
    """Read from ``command`` when somebody asks.

    :param request: of a reply: what it answers, if that is known.
    :ivar name: ``PULL_MESSAGE``; ``reply to PULL_MESSAGE``; ``reply``, where its request is not known.
    """

    def __init__(self, command: RemotingCommand, request: FrameSubject | None = None) -> None:
        self.command = command
        self.request = request
        if not command.is_response:
            self.name = request_name(command.code)
        else:
            self.name = REPLY if request is None else f"{REPLY} to {request.name}"

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """Topics that it names."""
        if self._has_letters:  # most of all frames, by far
            topic = self.command.ext_fields.get("b")
            return (topic,) if topic else ()
        found = list(self._fields("b", _TOPIC_FIELDS))
        if not self.command.is_response and self.command.code in _LOCKS:
            found += [queue.topic for queue in self._lock_body.mq_set]
        elif self._is_check:
            found += [message.topic for message in self._messages]
        return self._told(found, "topics")

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Groups of producers and consumers that it names."""
        found = list(self._fields("a", _GROUP_FIELDS))
        if self.command.is_response:
            pass
        elif self.command.code in _LOCKS:
            found.append(self._lock_body.consumer_group)
        elif self.command.code == RequestCode.HEART_BEAT:
            found += self._heartbeat_groups()
        elif self._is_check:
            found += [message.properties.get(PROPERTY_PRODUCER_GROUP, "") for message in self._messages]
        return self._told(found, "groups")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Keys and unique ids of the messages that it carries or means."""
        fields = self.command.ext_fields
        found = list(self._fields("", _ID_FIELDS))
        found += _keys(fields.get("i" if self._has_letters else "properties", ""))
        for message in self._messages:
            found += [*message.keys, message.unique_id or ""]
        found += self._batch_keys()
        return self._told(found, "keys")

    def _fields(self, letter: str, names: tuple[str, ...]) -> Iterator[str]:
        fields = self.command.ext_fields
        wanted = (letter,) if self._has_letters and letter else names
        return (fields[name] for name in wanted if name in fields)

    @property
    def _has_letters(self) -> bool:
        return not self.command.is_response and self.command.code in _LETTERS

    def _told(self, found: list[str], part: str) -> tuple[str, ...]:
        """``found``, each once; a reply is about what its request was about, too."""
        asked: tuple[str, ...] = () if self.request is None else getattr(self.request, part)
        return tuple(dict.fromkeys(name for name in (*found, *asked) if name))

    @cached_property
    def _lock_body(self) -> LockBatchRequestBody:
        try:
            return LockBatchRequestBody.from_json(self.command.body)
        except ProtocolError:
            return LockBatchRequestBody("", "", ())

    @property
    def client_id(self) -> str:
        """Of a heartbeat: whose it is. A client that had to connect anew is known by it before the broker hears it."""
        return self._heartbeat.client_id if self.name == RequestCode.HEART_BEAT.name else ""

    @cached_property
    def _heartbeat(self) -> HeartbeatData:
        try:
            return HeartbeatData.from_json(self.command.body)
        except ProtocolError:
            return HeartbeatData("")

    def _heartbeat_groups(self) -> list[str]:
        heartbeat = self._heartbeat
        return [*heartbeat.producer_groups, *(consumer.group_name for consumer in heartbeat.consumers)]

    @property
    def _is_check(self) -> bool:
        return not self.command.is_response and self.command.code == RequestCode.CHECK_TRANSACTION_STATE

    @cached_property
    def _messages(self) -> Sequence[MessageExt]:
        """Those that the broker brings. A body that cannot be read has none: whoever the frame is for will say so."""
        asked = self.request.command.code if self.command.is_response and self.request is not None else None
        if not self._is_check and asked != RequestCode.PULL_MESSAGE:
            return ()
        try:
            return decode_messages(self.command.body, decompress=False)
        except ProtocolError:
            return ()

    def _batch_keys(self) -> list[str]:
        if self.command.is_response or self.command.code != RequestCode.SEND_BATCH_MESSAGE:
            return []
        try:
            batch = decode_batch(self.command.body)
            return [key for *_, properties in batch for key in _keys(java_text(properties))]
        except ProtocolError:
            return []


def _keys(properties_text: str) -> list[str]:
    if not properties_text:
        return []
    properties = decode_properties(properties_text)
    unique_id = properties.get(PROPERTY_UNIQUE_KEY)
    return [*split_keys(properties.get(PROPERTY_KEYS, "")), *([unique_id] if unique_id else [])]
