"""The first step of the audit, in Spark: from messages to a summary of each producer in each queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.delivery_audit.latencies import ROUNDED_LATENCY, Latencies
from engine.pipeline.jobs.delivery_audit.offset_sets import add_word, bits_of, word_of
from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY
from engine.protocol.number_set import NumberSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Producer name for messages without a number.
UNNUMBERED = ""
#: The columns of messages that are needed.
COLUMNS = (
    "topic",
    "broker_name",
    "queue_id",
    "queue_offset",
    "properties",
    "born_timestamp",
    "store_timestamp",
    "unique_id",
)
#: Most time spans of a plot.
TIME_SPANS_MAX = 128
#: 18 digits always fit; anything else was not written by the numbering.
_NUMBER = rf"""
    CASE WHEN properties['{PRODUCER_ID_PROPERTY}'] IS NOT NULL
          AND properties['{SEQUENCE_NUMBER_PROPERTY}'] RLIKE '^[0-9]{{1,18}}\\z'
         THEN bigint(properties['{SEQUENCE_NUMBER_PROPERTY}'])
         ELSE -1L
    END AS number
"""
_NARROW = (
    "topic",
    "concat_ws(':', broker_name, queue_id) AS queue",
    "queue_offset",
    f"IF(number < 0, '{UNNUMBERED}', properties['{PRODUCER_ID_PROPERTY}']) AS producer",
    "number",
    "unix_millis(store_timestamp) AS stored_ms",
    "unix_millis(store_timestamp) - unix_millis(born_timestamp) AS latency_ms",
    "unique_id",
)
_SEGMENT = ("topic", "queue", "producer")
#: The highest number of the producer before a message in its queue.
_BEFORE = f"""
    max(number) OVER (PARTITION BY {", ".join(_SEGMENT)} ORDER BY queue_offset
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
"""
#: The number of a message that is not higher than all before it.
_OUT_OF_ORDER = "IF(number <= before, number, NULL) AS out_of_order"
#: The bits of numbers that are out of order and either among the rising ones or there more than once.
_REPEATED = """
    bit_or(bits) FILTER (WHERE out_of_order IS NOT NULL)
    & coalesce(bit_or(bits) FILTER (WHERE out_of_order IS NULL), 0L)
    | coalesce(bit_or(bits) FILTER (WHERE out_of_order IS NOT NULL AND copies > 1), 0L)
"""
#: After this many words of a segment it is checked whether its numbers are sparse.
_WORDS_PER_CHECK = 4_096


def narrow(messages: DataFrame, *more: str) -> DataFrame:
    """Return what the audit needs of messages with :data:`COLUMNS`, and the columns ``more``: ``queue`` is
    ``"broker:queue id"``, ``producer`` is :data:`UNNUMBERED` and ``number`` -1 for a message without a number.
    """
    return messages.selectExpr("*", _NUMBER).selectExpr(*_NARROW, *more)


@dataclass(slots=True)
class QueueSegment:
    """The messages of one producer in one queue, in one batch.

    :ivar producer: :data:`UNNUMBERED` for messages without a number; all numbers are -1 then.
    :ivar first_number: the number of the first message.
    :ivar highest: the highest number in it.
    :ivar settled: the highest number stored until the moment up to which is judged; -1: no such number.
    :ivar repeated: numbers that occur in it more than once.
    :ivar descending: numbers that come after a higher one.
    :ivar is_sparse: the numbers are so far apart that they were not kept; the three sets are empty then.
    """

    topic: str
    queue: str
    producer: str
    first_offset: int
    last_offset: int
    first_number: int
    highest: int
    settled: int
    count: int
    late: int
    oldest_ms: int
    newest_ms: int
    numbers: NumberSet = field(default_factory=NumberSet)
    repeated: NumberSet = field(default_factory=NumberSet)
    descending: NumberSet = field(default_factory=NumberSet)
    is_sparse: bool = False
    _words: int = 0

    def join(self, other: QueueSegment) -> None:
        """Add messages of the same producer and queue with other numbers; ``other`` has no sets yet."""
        if other.first_offset < self.first_offset:
            self.first_offset, self.first_number = other.first_offset, other.first_number
        self.last_offset = max(self.last_offset, other.last_offset)
        self.highest = max(self.highest, other.highest)
        self.settled = max(self.settled, other.settled)
        self.count += other.count
        self.late += other.late
        self.oldest_ms = min(self.oldest_ms, other.oldest_ms)
        self.newest_ms = max(self.newest_ms, other.newest_ms)

    def add_words(self, word: int, numbers: int, repeated: int | None, descending: int | None) -> None:
        """Add numbers, 64 at a time."""
        if self.is_sparse:
            return
        add_word(self.numbers, word, numbers)
        add_word(self.repeated, word, repeated)
        add_word(self.descending, word, descending)
        self._words += 1
        if self._words % _WORDS_PER_CHECK == 0 and self.numbers.is_sparse:
            self.is_sparse = True
            self.numbers, self.repeated, self.descending = NumberSet(), NumberSet(), NumberSet()


def segments_of(messages: DataFrame, late_ms: int, judge_until_ms: int) -> list[QueueSegment]:
    """Return a summary of ``messages`` as :func:`narrow` returns them, in any order.

    :param late_ms: a message stored later than this after its birth is late.
    :param judge_until_ms: numbers below the highest one stored until then are judged.
    """
    # All of this needs the messages of a segment in one place, so Spark moves and sorts them once.
    placed = messages.selectExpr(*_SEGMENT, "number", "queue_offset", "stored_ms", "latency_ms", _BEFORE)
    # Numbers that rise differ, so their words need no look at the single number; only the others can repeat one.
    words_and_others = placed.groupBy(*_SEGMENT, F.expr(word_of("number")).alias("word"), F.expr(_OUT_OF_ORDER)).agg(
        F.expr(bits_of("number")).alias("bits"),
        F.expr("bool_or(number < before) AS is_descending"),
        F.expr("min(queue_offset) AS first_offset"),
        F.expr("max(queue_offset) AS last_offset"),
        F.expr("min_by(number, queue_offset) AS first_number"),
        F.expr("max(number) AS highest"),
        F.expr(f"max(number) FILTER (WHERE stored_ms <= {judge_until_ms}) AS settled"),
        F.expr("count(*) AS copies"),
        F.expr(f"count_if(latency_ms > {late_ms}) AS late"),
        F.expr("min(stored_ms) AS oldest_ms"),
        F.expr("max(stored_ms) AS newest_ms"),
    )
    words = words_and_others.groupBy(*_SEGMENT, "word").agg(
        F.expr("bit_or(bits)"),
        F.expr(_REPEATED),
        F.expr("bit_or(bits) FILTER (WHERE is_descending)"),
        F.expr("min(first_offset)"),
        F.expr("max(last_offset)"),
        F.expr("min_by(first_number, first_offset)"),
        F.expr("max(highest)"),
        F.expr("coalesce(max(settled), -1L)"),
        F.expr("sum(copies)"),
        F.expr("sum(late)"),
        F.expr("min(oldest_ms)"),
        F.expr("max(newest_ms)"),
    )
    segments: dict[tuple[str, str, str], QueueSegment] = {}
    # One by one, as numbers that are far apart may be too many for the driver.
    for topic, queue, producer, word, numbers, repeated, descending, *counts in words.toLocalIterator(True):
        part = QueueSegment(topic, queue, producer, *counts)
        segment = segments.setdefault((topic, queue, producer), part)
        if segment is not part:
            segment.join(part)
        if producer != UNNUMBERED:
            segment.add_words(word, numbers, repeated, descending)
    return list(segments.values())


@dataclass(frozen=True, slots=True)
class LatencySpans:
    """Latency from birth to store, over time.

    :ivar spans: topic -> number of the span (store time // ``width_ms``) -> latencies of the messages stored in it.
    """

    width_ms: int
    spans: dict[str, dict[int, Latencies]]


def latency_spans(messages: DataFrame, segments: Iterable[QueueSegment], topics: tuple[str, ...]) -> LatencySpans:
    """Return the latency of messages of ``topics`` whose summary is ``segments``."""
    audited = [segment for segment in segments if segment.topic in topics]
    oldest_ms = min((segment.oldest_ms for segment in audited), default=0)
    newest_ms = max((segment.newest_ms for segment in audited), default=0)
    width_ms = 1_000
    while newest_ms // width_ms - oldest_ms // width_ms >= TIME_SPANS_MAX:
        width_ms *= 2
    rounded = messages.where(F.col("topic").isin(*topics)).selectExpr(
        "topic", f"stored_ms div {width_ms} AS span", ROUNDED_LATENCY, "latency_ms"
    )
    counted = rounded.groupBy("topic", "span", "rounded_ms").agg(
        F.expr("count(*)"), F.expr("greatest(max(latency_ms), 0L)")
    )
    spans: dict[str, dict[int, Latencies]] = {}
    for topic, number, *counts in counted.collect():
        spans.setdefault(topic, {}).setdefault(number, Latencies()).add(*counts)
    return LatencySpans(width_ms, spans)
