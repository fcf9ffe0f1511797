"""The subject of a frame: its name, and the topics, groups and keys in it.

A reply only names the request that it answers (by ``opaque``), so it has the subject of that request. RocketMQ has no
such class; its processors each read the fields themselves.
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

#: Header fields that name a topic, a group or a message. SEND_MESSAGE_V2 has letters instead of names.
_TOPIC_FIELDS = ("topic", "originTopic")
_GROUP_FIELDS = ("consumerGroup", "producerGroup", "group")
_ID_FIELDS = ("transactionId", "msgId", "originMsgId")
_LETTERS = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
_LOCKS = (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ)


_REQUEST_NAMES = {code.value: code.name for code in RequestCode}


def request_name(code: int) -> str:
    """Return ``PULL_MESSAGE`` and the like, or the number of a code without a name."""
    return _REQUEST_NAMES.get(code) or f"request {code}"


class FrameSubject:
    """The subject of ``command``, read when needed.

    :param request: for a reply, the subject of its request, if known.
    :ivar name: ``PULL_MESSAGE``; ``reply to PULL_MESSAGE``; ``reply``, if its request is not known.
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
        """Return the topics that the frame names."""
        if self._has_letters:  # by far the most frequent frames
            topic = self.command.ext_fields.get("b")
            return (topic,) if topic else ()
        found = list(self._fields("b", _TOPIC_FIELDS))
        if not self.command.is_response and self.command.code in _LOCKS:
            found += [queue.topic for queue in self._lock_body.mq_set]
        elif self._is_check:
            found += [message.topic for message in self._messages]
        return self._with_request(found, "topics")

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of producers and consumers that the frame names."""
        found = list(self._fields("a", _GROUP_FIELDS))
        if self.command.is_response:
            pass
        elif self.command.code in _LOCKS:
            found.append(self._lock_body.consumer_group)
        elif self.command.code == RequestCode.HEART_BEAT:
            found += self._heartbeat_groups()
        elif self._is_check:
            found += [message.properties.get(PROPERTY_PRODUCER_GROUP, "") for message in self._messages]
        return self._with_request(found, "groups")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Return keys and unique ids of the messages that the frame contains or refers to."""
        fields = self.command.ext_fields
        found = list(self._fields("", _ID_FIELDS))
        found += _keys(fields.get("i" if self._has_letters else "properties", ""))
        for message in self._messages:
            found += [*message.keys, message.unique_id or ""]
        found += self._batch_keys()
        return self._with_request(found, "keys")

    def _fields(self, letter: str, names: tuple[str, ...]) -> Iterator[str]:
        fields = self.command.ext_fields
        wanted = (letter,) if self._has_letters and letter else names
        return (fields[name] for name in wanted if name in fields)

    @property
    def _has_letters(self) -> bool:
        return not self.command.is_response and self.command.code in _LETTERS

    def _with_request(self, found: list[str], part: str) -> tuple[str, ...]:
        """Return ``found`` without duplicates; a reply also has the subjects of its request."""
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
        """Return the client of a heartbeat. It identifies a client that has reconnected before the broker
        receives it.
        """
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
        """Return the messages that the broker sends. An unreadable body has none; the receiver of the frame reports the
        error.
        """
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
