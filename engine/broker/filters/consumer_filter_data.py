"""The expression with which a group filters one topic (RocketMQ: ``ConsumerFilterData``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.filter.bloom_filter import BloomFilterData
from engine.filter.compiler import compile_expression, word_count
from engine.protocol.enums import ExpressionType
from engine.protocol.json_form.json_fields import get_integer, get_object, get_text

if TYPE_CHECKING:
    from engine.filter.expression import Expression


@dataclass(slots=True)
class ConsumerFilterData:
    """One entry of ``consumerFilter.json``.

    :ivar compiled: the compiled form of ``expression``.
    :ivar born_time: when (ms) bit maps of new messages began to use this expression.
    :ivar dead_time: when the group went offline (ms); 0 while it is online.
    :ivar client_version: version of the subscription that brought the expression (ms).
    :ivar bloom: the group's bits; None for an expression that came with a single pull.
    :ivar words: length of the expression in words.
    """

    consumer_group: str
    topic: str
    expression: str
    compiled: Expression
    born_time: int
    client_version: int
    dead_time: int = 0
    expression_type: str = ExpressionType.SQL92
    bloom: BloomFilterData | None = None
    words: int = field(init=False)

    def __post_init__(self) -> None:
        self.words = word_count(self.expression)

    @property
    def is_dead(self) -> bool:
        """Return True while the group is not online."""
        return self.dead_time >= self.born_time

    def was_known_at(self, store_timestamp: int) -> bool:
        """Return True if the bit maps of messages stored at that time (ms) use this expression."""
        return store_timestamp > self.born_time

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of the file."""
        return {
            "bloomFilterData": self.bloom.to_dict() if self.bloom is not None else None,
            "bornTime": self.born_time,
            "clientVersion": self.client_version,
            "consumerGroup": self.consumer_group,
            "dead": self.is_dead,
            "deadTime": self.dead_time,
            "expression": self.expression,
            "expressionType": str(self.expression_type),
            "topic": self.topic,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> ConsumerFilterData:
        """Read the JSON object. Raises ``MalformedBody``, and ``FilterSyntaxError`` for its expression."""
        expression = get_text(fields, "expression")
        return cls(
            consumer_group=get_text(fields, "consumerGroup"),
            topic=get_text(fields, "topic"),
            expression=expression,
            compiled=compile_expression(expression),
            born_time=get_integer(fields, "bornTime"),
            client_version=get_integer(fields, "clientVersion", 0),
            dead_time=get_integer(fields, "deadTime", 0),
            bloom=BloomFilterData.from_dict(get_object(fields, "bloomFilterData")),
        )
