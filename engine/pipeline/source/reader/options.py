"""The options of ``spark.read.format("rocketmq")`` and ``spark.readStream.format("rocketmq")``.

Options have the same names as in Spark's Kafka source where both have the same thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.fields.field import EXACT_MAX, Field
from engine.pipeline.source.cluster.cluster import matches
from engine.pipeline.source.cluster.cluster_options import CLUSTER_OPTIONS, ClusterOptions
from engine.pipeline.source.cluster.errors import RocketMQError, wrong_option
from engine.pipeline.source.cluster.option_values import OptionValues, text_options
from engine.pipeline.source.cluster.queue_offsets import (
    EARLIEST,
    LATEST,
    Offsets,
    QueueKey,
    list_queues,
    parse_json,
    parse_label,
)
from engine.pipeline.source.decoding.schema import COLUMN_NAMES, KAFKA_COLUMN_NAMES, check_column
from engine.protocol.errors import IllegalName
from engine.protocol.java_trim import java_trim
from engine.protocol.message.message_properties import KEY_SEPARATOR
from engine.protocol.names import TOOLS_CONSUMER_GROUP, validate_group, validate_topic

_TIME_MAX_MS = 2**62
READ_OPTIONS: tuple[Field, ...] = (
    *CLUSTER_OPTIONS,
    *text_options("topic", "subscribe", "subscribePattern", "assign", "columns", "tags", "key"),
    *text_options("startingOffsets", "startingOffsetsByTimestamp", "endingOffsets", "endingOffsetsByTimestamp"),
    Field("startingTimestamp", "integer", 0, _TIME_MAX_MS, default=None),
    Field("endingTimestamp", "integer", 0, _TIME_MAX_MS, default=None),
    Field("includeSystemTopics", "switch", default=False),
    Field("maxOffsetsPerTrigger", "integer", 1, default=None),
    Field("maxBytesPerTrigger", "integer", 1, default=None),
    Field("minOffsetsPerTrigger", "integer", 1, default=None),
    Field("maxTriggerDelay", "text", default="15m"),
    Field("minPartitions", "integer", 1, 100_000, default=1),
    # A lost executor costs little, and a long queue is read by several.
    Field("maxRecordsPerPartition", "integer", 1, default=250_000),
    Field("failOnDataLoss", "switch", default=True),
    Field("kafkaNames", "switch", default=False),
    Field("includeHeaders", "switch", default=False),
    # Kafka's ``default.api.timeout.ms``. Brokers register at a name server every 30 s.
    Field("retryTimeoutMs", "integer", 0, 3_600_000, default=60_000),
    Field("consumerGroup", "text", default=TOOLS_CONSUMER_GROUP, check=validate_group),
    Field("commitGroup", "text", default=None, check=validate_group),
)
_TAG_SEPARATOR = "||"
#: Options of streams. A batch ignores them with a warning, as Kafka's source does: programs use one set for both.
STREAM_ONLY = (
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "retryTimeoutMs",
)
#: Option -> the one without which it means nothing, and the one with which it means nothing.
_NEEDED = {"includeSystemTopics": "subscribePattern"}
_NEEDED_IN_STREAMS = {"maxTriggerDelay": "minOffsetsPerTrigger"}
_EXCLUDED = {"minPartitions": "key", "maxRecordsPerPartition": "key"}


@dataclass(frozen=True, slots=True)
class Bound:
    """A position at which a read begins or ends.

    :ivar option: the option that sets it, or whose default it is.
    :ivar everywhere: EARLIEST, LATEST or a time, for the queues that ``offsets`` does not name.
    :ivar offsets: what the option gives queue by queue.
    :ivar are_times: whether the numbers from 0 on are times: the first message stored then or later.
    """

    option: str
    everywhere: int
    offsets: Offsets = field(default_factory=dict)
    are_times: bool = False


_WORDS = {"earliest": EARLIEST, "latest": LATEST}
#: Option -> what is allowed; of the others JSON.
_ALLOWED = {
    "startingOffsets": 'earliest, latest, or JSON such as {"Topic": {"broker-a:0": 5, "broker-a:1": -2}}',
    "endingOffsets": 'latest, or JSON such as {"Topic": {"broker-a:0": 5, "broker-a:1": -1}}',
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a read, checked as far as possible without the cluster.

    :ivar given: the options that are given, apart from switches that are off.
    :ivar topics: named topics; empty when ``pattern`` finds them.
    :ivar topic_option: the option that selects the topics.
    :ivar assigned: the queues to read; empty: all of the topics.
    :ivar starting: None for the default: a batch begins at the earliest message, a stream at the latest.
    :ivar ending: None if the option is not given: the latest message.
    :ivar tags: messages with other tags are left out; empty: nothing is.
    :ivar key: messages without this key are left out; None: nothing is.
    """

    given: frozenset[str]
    cluster: ClusterOptions
    topics: tuple[str, ...]
    topic_option: str
    pattern: str | None
    assigned: frozenset[QueueKey]
    include_system_topics: bool
    starting: Bound | None
    ending: Bound | None
    max_offsets_per_trigger: int | None
    max_bytes_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int
    max_records_per_partition: int
    fail_on_data_loss: bool
    retry_timeout_ms: int
    columns: tuple[str, ...]
    tags: tuple[str, ...]
    key: str | None
    consumer_group: str
    commit_group: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        """Parse the options. Raises :class:`RocketMQError` that names the option and what is allowed."""
        values = OptionValues(options, READ_OPTIONS)
        topic_option = _topic_option(values)
        assigned = _assigned(values)
        topics, pattern = _topics(values, topic_option, assigned)
        starting, ending = _bound(values, "starting", topics), _bound(values, "ending", topics)
        _check_order(starting, ending)
        most = values.read("maxOffsetsPerTrigger")
        given = frozenset(one.name for one in READ_OPTIONS if (values.text(one.name) or "false").lower() != "false")
        _check_pairs(given, _NEEDED, _EXCLUDED)
        return values.fill(
            cls,
            given=given,
            cluster=ClusterOptions.parse(values),
            topics=topics,
            topic_option=topic_option,
            pattern=pattern,
            assigned=assigned,
            starting=starting,
            ending=ending,
            min_offsets_per_trigger=values.read("minOffsetsPerTrigger", high=most or EXACT_MAX),
            max_trigger_delay_ms=values.duration_ms("maxTriggerDelay"),
            columns=_columns(values),
            tags=_tags(values),
            key=_key(values),
        )

    def check_for_stream(self) -> None:
        """Raise ``ROCKETMQ_WRONG_OPTION`` for options that mean nothing in a stream with the others."""
        _check_pairs(self.given, _NEEDED_IN_STREAMS, {})

    def check_schema(self, names: Sequence[str]) -> None:
        """Raise ``ROCKETMQ_WRONG_OPTION`` if an option names other columns than the user's schema."""
        option = next((name for name in ("columns", "kafkaNames") if name in self.given), None)
        if option is not None and tuple(names) != self.columns:
            raise wrong_option(option, f"schema(...) names other columns: {', '.join(names)}; give one of the two")

    def takes(self, queue: QueueKey) -> bool:
        """Return whether these options select a queue."""
        if self.pattern is not None:
            return matches(self.pattern, queue.topic, with_system_topics=self.include_system_topics)
        return queue in self.assigned if self.assigned else queue.topic in self.topics


def _check_pairs(given: frozenset[str], needed: Mapping[str, str], excluded: Mapping[str, str]) -> None:
    for name, other in needed.items():
        if name in given and other not in given:
            raise wrong_option(name, f"has no effect without {other}; give both or neither")
    for name, other in excluded.items():
        if name in given and other in given:
            raise wrong_option(name, f"has no effect with {other}; give one of the two")


def _topic_option(values: OptionValues) -> str:
    given = [name for name in ("topic", "subscribe", "subscribePattern", "assign") if values.text(name) is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "is missing"
        raise wrong_option(
            given[1] if given else "topic",
            f"{said}; give exactly one of topic, subscribe (a,b), subscribePattern, assign",
        )
    return given[0]


def _topics(values: OptionValues, option: str, assigned: frozenset[QueueKey]) -> tuple[tuple[str, ...], str | None]:
    pattern = values.text("subscribePattern")
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise wrong_option("subscribePattern", f"{pattern!r} is not a regular expression: {error}") from None
        return (), pattern
    topics = tuple(sorted({queue.topic for queue in assigned})) if option == "assign" else values.words(option)
    if option == "topic" and len(topics) > 1:
        raise wrong_option("topic", f"{values.text('topic')!r} names several; use subscribe for that")
    for topic in topics:
        try:
            validate_topic(topic)
        except IllegalName as error:
            raise wrong_option(option, str(error)) from None
    if not topics:
        raise wrong_option(option, f"{values.text(option)!r} names no topic")
    return topics, None


def _assigned(values: OptionValues) -> frozenset[QueueKey]:
    text = values.text("assign")
    if text is None:
        return frozenset()
    try:
        labels = json.loads(text).items()
        return frozenset(parse_label(topic, label) for topic, of_topic in labels for label in of_topic)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise wrong_option(
            "assign", f'{text[:200]!r} is not allowed; allowed: JSON such as {{"Topic": ["broker-a:0", "broker-a:1"]}}'
        ) from None


def _bound(values: OptionValues, which: str, topics: tuple[str, ...]) -> Bound | None:
    """Return the bound that is set by one of the options for the start, or for the end."""
    names = (f"{which}Offsets", f"{which}OffsetsByTimestamp", f"{which}Timestamp")
    given = [name for name in names if values.text(name) is not None]
    if len(given) > 1:
        raise wrong_option(given[0], f"{' and '.join(given)} are given; give one of them")
    if not given:
        return None
    name = given[0]
    text = values.required(name, "")
    if name == names[2]:
        return Bound(name, values.read(name), are_times=True)
    if name == names[0] and text.lower() in _WORDS:
        if which == "ending" and text.lower() == "earliest":
            raise wrong_option(name, "earliest would leave nothing to read; allowed: latest or JSON")
        return Bound(name, _WORDS[text.lower()])
    fallback = EARLIEST if which == "starting" else LATEST
    bound = Bound(name, fallback, _per_queue(name, text), are_times=name == names[1])
    strangers = [queue for queue in bound.offsets if topics and queue.topic not in topics]
    if bound.are_times and not all(0 <= time_ms <= _TIME_MAX_MS for time_ms in bound.offsets.values()):
        raise wrong_option(name, f"{text!r} is not allowed; allowed: milliseconds since 1970 for each queue")
    if which == "ending" and EARLIEST in bound.offsets.values():
        raise wrong_option(name, "-2 would leave nothing to read of its queue; allowed: offsets, or -1")
    if strangers:
        raise wrong_option(name, f"{list_queues(strangers)} is not among the topics that are read: {', '.join(topics)}")
    return bound


def check_starting_offsets(text: str, topics: tuple[str, ...]) -> None:
    """Raise ``ROCKETMQ_WRONG_OPTION`` if a read of these topics cannot start there."""
    _bound(OptionValues({"startingOffsets": text}, READ_OPTIONS), "starting", topics)


def _per_queue(name: str, text: str) -> dict[QueueKey, int]:
    try:
        return parse_json(text)
    except ValueError as error:
        raise wrong_option(name, f"{error}; allowed: {_ALLOWED.get(name, 'JSON')}") from None


def _check_order(starting: Bound | None, ending: Bound | None) -> None:
    """Refuse a start after the end, as far as the options alone show it."""
    if starting is None or ending is None or starting.are_times != ending.are_times:
        return
    if 0 <= ending.everywhere < starting.everywhere:
        raise start_after_end(starting, ending, str(starting.everywhere), str(ending.everywhere))
    kind = "time" if starting.are_times else "offset"
    for queue, start in sorted(starting.offsets.items()):
        end = ending.offsets.get(queue, ending.everywhere)
        if 0 <= end < start:
            raise start_after_end(starting, ending, f"{queue}: {kind} {start}", f"{kind} {end}")


def start_after_end(starting: Bound, ending: Bound, start: str, end: str) -> RocketMQError:
    """Return the error for a read that would begin after its end, which names both."""
    return wrong_option(
        starting.option, f"{start} is after the end, {end} by option {ending.option!r}; allowed: the end or before"
    )


def _columns(values: OptionValues) -> tuple[str, ...]:
    columns = values.words("columns")
    for column in columns:
        check_column("columns", column)
    has_kafka_names, has_headers = values.read("kafkaNames"), values.read("includeHeaders")
    if has_headers and not has_kafka_names:
        raise wrong_option("includeHeaders", "needs kafkaNames=true; the column properties has what headers have")
    if not has_kafka_names:
        return columns or COLUMN_NAMES
    if columns:
        raise wrong_option("kafkaNames", "columns are given as well; give one of the two")
    return (*KAFKA_COLUMN_NAMES, "headers") if has_headers else KAFKA_COLUMN_NAMES


def _tags(values: OptionValues) -> tuple[str, ...]:
    """Return the tags of an expression ``A || B``; ``*`` stands for all messages."""
    text = values.text("tags")
    if text is None or text == "*":
        return ()
    tags = tuple(dict.fromkeys(map(java_trim, text.split(_TAG_SEPARATOR))))
    if not all(is_pushable_tag(tag) for tag in tags):
        raise wrong_option("tags", f"{text!r} is not allowed; write tags as 'A || B', or * for all messages")
    return tags


def _key(values: OptionValues) -> str | None:
    key = values.text("key")
    if key is not None and KEY_SEPARATOR in key:
        raise wrong_option("key", f"{key!r} is not allowed; a key holds no space, which separates keys")
    return key


def is_pushable_tag(tag: str) -> bool:
    """Return whether a broker's filter can match exactly this tag."""
    return bool(tag) and tag == java_trim(tag) and tag != "*" and _TAG_SEPARATOR not in tag
