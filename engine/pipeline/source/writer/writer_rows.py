"""Rows of a DataFrame as messages to send: the allowed columns and values.

It works on whole Arrow record batches; every refusal names the column, the row within its partition, and what is
allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.protocol.message.message_properties import (
    KEY_SEPARATOR,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_SEPARATOR,
    PROPERTY_TAGS,
    RESERVED_PROPERTIES,
    is_carriable,
)
from engine.protocol.names import RETRY_GROUP_TOPIC_PREFIX

#: Identifies the row and micro-batch of a message; :mod:`engine.pipeline.source.writer.writer_replay` reads it.
PROPERTY_SPARK_TRANSACTION = "SPARK_TXN"
DELAY_LEVEL_MAX = 18
#: Enough to recognise a row among those of one partition of one micro-batch: 64 bits.
_FINGERPRINT_BYTES = 8

_TEXT, _WHOLE_NUMBER = frozenset({"string"}), frozenset({"smallint", "int", "bigint"})
#: Column -> name of its allowed types, and Spark's names for them.
_ALLOWED: dict[str, tuple[str, frozenset[str]]] = {
    "topic": ("string", _TEXT),
    "body": ("binary or string", _TEXT | {"binary"}),
    "keys": ("array<string>, or string with words separated by spaces", _TEXT | {"array<string>"}),
    "tags": ("string", _TEXT),
    "properties": ("map<string,string>", frozenset({"map<string,string>"})),
    "sharding_key": ("string", _TEXT),
    "queue_id": ("int", _WHOLE_NUMBER),
    "broker_name": ("string", _TEXT),
    "delay_level": ("int", _WHOLE_NUMBER),
}
#: The collation of a text has no effect here.
_COLLATION = re.compile(r" collate \w+")
COLUMN_NAMES: tuple[str, ...] = tuple(_ALLOWED)


@dataclass(slots=True)
class OutgoingRow:
    """One message before its destination is known.

    :ivar number: number of the row within its partition, from 0.
    :ivar properties: without unique id and transaction.
    :ivar fingerprint: 16 hex digits; rows with the same content and destination have the same.
    """

    number: int
    topic: str
    body: bytes
    properties: dict[str, str]
    sharding_key: str | None
    broker_name: str | None
    queue_id: int | None
    is_delayed: bool
    fingerprint: str


def wrong_column(text: str) -> RocketMQError:
    """Return the error for a column that cannot be written."""
    return RocketMQError("ROCKETMQ_WRONG_ROW", text)


def wrong_row(number: int, text: str) -> RocketMQError:
    """Return the error for a row that cannot become a message; ``number`` counts the rows of its partition from 0."""
    return RocketMQError("ROCKETMQ_WRONG_ROW", f"row {number} of its partition: {text}")


def check_columns(schema: StructType, topic: str | None) -> None:
    """Raise :class:`RocketMQError` unless a DataFrame of this schema can be written.

    :param topic: the option ``topic``.
    """
    for field in schema.fields:
        if field.name not in _ALLOWED:
            raise wrong_column(f"column {field.name!r} cannot be written; allowed: {', '.join(COLUMN_NAMES)}")
        kind, (allowed, types) = field.dataType.simpleString(), _ALLOWED[field.name]
        if _COLLATION.sub("", kind) not in types:
            raise wrong_column(f"column {field.name!r} is {kind}; allowed: {allowed}")
    names = schema.fieldNames()
    if "body" not in names:
        raise wrong_column(f"there is no column 'body'; the columns are {', '.join(names)}")
    if topic is None and "topic" not in names:
        raise wrong_column("nothing says where the messages go; give the option 'topic' or a column 'topic'")
    if "broker_name" in names and "queue_id" not in names:
        raise wrong_column("a column 'broker_name' needs a column 'queue_id'")


class RowReader:
    """Make messages from one partition's record batches.

    :param topic: topic for rows without one of their own.
    :param copies_messages: the rows are messages that were read from a topic: RocketMQ's own properties are left out,
        and what a broker accepts but no producer allows (an empty body, a blank text) is accepted as well.
    """

    def __init__(self, topic: str | None, *, copies_messages: bool) -> None:
        self._topic = topic
        self._copies_messages = copies_messages
        self._next_number = 0

    def read(self, batch: pa.RecordBatch) -> Iterator[OutgoingRow]:
        """Yield the rows of one record batch, in order. Raises :class:`RocketMQError` for the first wrong one."""
        for row in self.read_each(batch):
            if isinstance(row, RocketMQError):
                raise row
            yield row

    def read_each(self, batch: pa.RecordBatch) -> Iterator[OutgoingRow | RocketMQError]:
        """Yield the rows, with an error in the place of each wrong one."""
        names = batch.schema.names
        absent = [None] * batch.num_rows
        cells = [batch.column(names.index(name)).to_pylist() if name in names else absent for name in COLUMN_NAMES]
        for values in zip(*cells, strict=True):
            row: OutgoingRow | RocketMQError
            try:
                row = self._row(*values)
            except RocketMQError as error:
                row = error
            self._next_number += 1
            yield row

    def _row(
        self,
        topic: str | None,
        body: bytes | str | None,
        keys: list[str | None] | str | None,
        tags: str | None,
        properties: list[tuple[str, str | None]] | None,
        sharding_key: str | None,
        queue_id: int | None,
        broker_name: str | None,
        delay_level: int | None,
    ) -> OutgoingRow:
        topic = topic or self._topic
        if not topic:
            raise self._wrong("topic", "is null and there is no option 'topic'")
        if body is None or (not body and not self._copies_messages):
            raise self._wrong("body", "is null or empty; RocketMQ wants at least one byte")
        content = body.encode() if isinstance(body, str) else body
        own = self._properties(topic, properties)
        if words := self._keys(keys):
            own[PROPERTY_KEYS] = words
        if tags:
            own[PROPERTY_TAGS] = self._text("tags", tags)
        if delay_level is not None and not 0 <= delay_level <= DELAY_LEVEL_MAX:
            raise self._wrong("delay_level", f"is {delay_level}; allowed: 0 (none) to {DELAY_LEVEL_MAX}")
        if delay_level:
            own[PROPERTY_DELAY_TIME_LEVEL] = str(delay_level)
        if queue_id is not None and sharding_key is not None:
            raise self._wrong("queue_id", "and 'sharding_key' are both given; give one of them")
        return OutgoingRow(
            number=self._next_number,
            topic=topic,
            body=content,
            properties=own,
            sharding_key=sharding_key,
            broker_name=broker_name,
            queue_id=queue_id,
            is_delayed=bool(delay_level),
            fingerprint=_fingerprint(topic, content, own, _place(sharding_key, queue_id, broker_name)),
        )

    def _properties(self, topic: str, properties: list[tuple[str, str | None]] | None) -> dict[str, str]:
        own: dict[str, str] = {}
        # In a retry topic it is the topic that the group's listeners see.
        allowed = PROPERTY_RETRY_TOPIC if topic.startswith(RETRY_GROUP_TOPIC_PREFIX) else ""
        for name, value in properties or ():
            if name != allowed and (name in RESERVED_PROPERTIES or name == PROPERTY_SPARK_TRANSACTION):
                if self._copies_messages:
                    continue
                raise self._wrong(
                    "properties",
                    f"has the name {name!r}, which RocketMQ or this writer uses itself; leave it out, or give the "
                    "option copiesMessages=true if the rows were read from a topic",
                )
            own[self._text("properties", name)] = self._text("properties", value)
        return own

    def _keys(self, keys: list[str | None] | str | None) -> str:
        if keys is None:
            return ""
        words = keys.split(KEY_SEPARATOR) if isinstance(keys, str) else keys
        for word in words:
            if isinstance(keys, list) and word is not None and KEY_SEPARATOR in word:
                raise self._wrong("keys", f"has {word!r}; a key holds no space, which separates keys")
        return KEY_SEPARATOR.join([self._text("keys", word) for word in words if word != ""])

    def _text(self, column: str, text: str | None) -> str:
        if text and self._copies_messages and PROPERTY_SEPARATOR not in text:
            return text
        if text is None or not is_carriable(text):
            raise self._wrong(column, f"has {text!r}; allowed: text that is not blank, without \\x01 and \\x02")
        return text

    def _wrong(self, column: str, text: str) -> RocketMQError:
        return wrong_row(self._next_number, f"{column!r} {text}")


def _place(sharding_key: str | None, queue_id: int | None, broker_name: str | None) -> str:
    """Return the requested destination of a row, for its fingerprint; empty if any queue will do. Quotes keep a text
    distinct from None.
    """
    if sharding_key is None and queue_id is None and broker_name is None:
        return ""
    return f"\x02{sharding_key!r}\x01{queue_id}\x01{broker_name!r}\x02"


def _fingerprint(topic: str, body: bytes, properties: Mapping[str, Any], place: str) -> str:
    # The separators and the length keep apart rows that would be alike when joined.
    head = f"{place}{topic}\x01{len(body)}\x01" + "\x02".join(
        f"{name}\x01{properties[name]}" for name in sorted(properties)
    )
    return blake2b(head.encode() + body, digest_size=_FINGERPRINT_BYTES).hexdigest()
