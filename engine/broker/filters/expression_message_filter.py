"""The broker's side of filtering by expression (RocketMQ: ``ExpressionMessageFilter``,
``ExpressionForRetryMessageFilter``, ``MessageEvaluationContext``).

For tags, hash codes alone decide. For an expression, there are two steps: the bit map, if the message has one, may
exclude the message; otherwise its properties are read and the expression is evaluated. A bit map only covers groups
that were known when the message arrived.
"""

from __future__ import annotations

from engine.broker.filters.consumer_filter_data import ConsumerFilterData
from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.foundation.broker_config import BrokerConfig
from engine.filter.bloom_filter import BloomFilter, may_want
from engine.filter.compiler import LENGTH_MAX
from engine.filter.errors import FilterSyntaxError
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.enums import ExpressionType
from engine.protocol.message.message_codec import stored_properties_text
from engine.protocol.message.message_properties import PROPERTY_RETRY_TOPIC, decode_properties
from engine.protocol.names import RETRY_GROUP_TOPIC_PREFIX
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.store.queues.consume_queue_ext import ConsumeQueueExtUnit
from engine.store.reading.message_filter import MessageFilter


class TagMessageFilter:
    """A filter that compares hash codes only.

    A tag with the same hash code passes; the client compares the text again.
    """

    __slots__ = ("_codes",)

    def __init__(self, subscription: SubscriptionData) -> None:
        self._codes = frozenset(subscription.code_set)

    @property
    def reads_message(self) -> bool:
        return False

    @property
    def effort(self) -> int:
        return 0

    def matches_consume_queue(self, tags_code: int, unit: ConsumeQueueExtUnit | None) -> bool:
        return tags_code in self._codes

    def matches_commit_log(self, record: bytes) -> bool:
        return True


class ExpressionMessageFilter:
    """A filter that passes messages for which the expression of ``data`` is true."""

    __slots__ = ("_bloom_filter", "_data")

    def __init__(self, data: ConsumerFilterData, bloom_filter: BloomFilter) -> None:
        self._data = data
        self._bloom_filter = bloom_filter

    def __eq__(self, other: object) -> bool:
        """Return True for filters with equal expressions: all pulls of a group filter alike."""
        return isinstance(other, ExpressionMessageFilter) and self._data is other._data

    def __hash__(self) -> int:
        return id(self._data)

    @property
    def reads_message(self) -> bool:
        return True

    @property
    def effort(self) -> int:
        return len(self._data.expression)

    def matches_consume_queue(self, tags_code: int, unit: ConsumeQueueExtUnit | None) -> bool:
        data = self._data
        if (
            unit is None
            or data.bloom is None
            or not data.was_known_at(unit.store_timestamp)
            or not self._bloom_filter.is_map(unit.bit_map)
            or not self._bloom_filter.is_valid(data.bloom)
        ):
            return True
        return may_want(unit.bit_map, data.bloom)

    def matches_commit_log(self, record: bytes) -> bool:
        return self._data.compiled.matches(properties_of(record))


class RetryMessageFilter:
    """The filter of a retry topic if ``filterSupportRetry`` is on: the group's expression for the message's original
    topic.

    It is off by default: then retries are not filtered, and a message that matched once is redelivered even if the
    group has changed its expression.
    """

    __slots__ = ("_filters", "_group")

    def __init__(self, group: str, filters: ConsumerFilterManager) -> None:
        self._group = group
        self._filters = filters

    @property
    def reads_message(self) -> bool:
        return True

    @property
    def effort(self) -> int:
        """Return the maximum length of an expression: the message decides which one applies."""
        return LENGTH_MAX

    def matches_consume_queue(self, tags_code: int, unit: ConsumeQueueExtUnit | None) -> bool:
        """Return True always: bit maps are made for the topic in which a message is stored."""
        return True

    def matches_commit_log(self, record: bytes) -> bool:
        """Return True if the group does not filter the original topic, or its expression there is true."""
        properties = properties_of(record)
        data = self._filters.get(properties.get(PROPERTY_RETRY_TOPIC, ""), self._group)
        return data is None or data.compiled.matches(properties)


def message_filter_for(
    subscription: SubscriptionData,
    data: ConsumerFilterData | None,
    filters: ConsumerFilterManager,
    *,
    filter_support_retry: bool,
) -> MessageFilter | None:
    """Return the filter of a pull with ``subscription``; None: it matches everything.

    :param data: its expression; None for a subscription by tags.
    """
    if data is not None:
        return ExpressionMessageFilter(data, filters.bloom_filter)
    if filter_support_retry and subscription.topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
        return RetryMessageFilter(subscription.topic.removeprefix(RETRY_GROUP_TOPIC_PREFIX), filters)
    return TagMessageFilter(subscription) if subscription.code_set else None


def check_filtered_by(config: BrokerConfig, expression_type: str) -> None:
    """Raise :class:`RequestRefused` for a subscription other than by tags that this broker does not support."""
    if not config.enable_property_filter:
        remark = f"this broker does not filter by {expression_type[:40]} (enablePropertyFilter=false)"
        raise RequestRefused(remark)
    if expression_type != ExpressionType.SQL92:
        allowed = ", ".join(ExpressionType)
        remark = f"there is no filter type {expression_type[:40]!r}; allowed: {allowed}"
        raise RequestRefused(remark, ResponseCode.SUBSCRIPTION_PARSE_FAILED)


def filter_data_of(
    config: BrokerConfig, filters: ConsumerFilterManager, group: str, subscription: SubscriptionData, connection: str
) -> ConsumerFilterData:
    """Return the expression of ``subscription``, which arrived on ``connection``, ready for use.

    Raises :class:`RequestRefused`.
    """
    check_filtered_by(config, subscription.expression_type)
    try:
        return filters.build(group, subscription, connection)
    except FilterSyntaxError as error:
        raise RequestRefused(str(error), ResponseCode.SUBSCRIPTION_PARSE_FAILED) from error


def properties_of(record: bytes) -> dict[str, str]:
    """Return the properties of a stored message without decoding the rest."""
    return decode_properties(stored_properties_text(record))
