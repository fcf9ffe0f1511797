"""Consumption of messages: what was reported about each message, and what that says about queues and groups.

The trace identifies messages by unique id, in no order. Spark brings all events of a message together, without
repetitions, and adds up what they say: sets of offsets, and counts. Adding a result twice changes none of the sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.delivery_audit.latencies import ROUNDED_LATENCY
from engine.pipeline.jobs.delivery_audit.offset_sets import bits_of, word_of
from engine.pipeline.jobs.delivery_audit.trace_events import EVENT_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_IS_CALL = "kind = 'called' AND message IS NOT NULL"
#: Unique ids of one client begin alike, so they are sorted by a hash first: most comparisons then need no text.
_MESSAGE = ("id_hash", "unique_id")
_OF_MESSAGE = f"OVER (PARTITION BY {', '.join(_MESSAGE)})"
_CONSUMERS = f"collect_set(IF(kind = 'called' AND is_ok, client_group, NULL)) {_OF_MESSAGE} AS consumers"
_OF_GROUP = f"OVER (PARTITION BY {', '.join(_MESSAGE)}, client_group)"
#: What the events of a message say together. Copies of a message (with one unique id) count as one message, the one
#: stored first: a consumer's record does not say which copy it received.
_TOGETHER = (
    f"max(IF(kind = 'stored', place, NULL)) {_OF_MESSAGE} AS message",
    f"count_if(kind = 'called' AND is_ok AND NOT is_swallowed) {_OF_GROUP} AS times",
    f"bool_or(kind = 'called' AND NOT is_ok) {_OF_GROUP} AS has_failed",
)
#: What is kept of an event to count it.
_FACTS = (
    "kind",
    "client_group",
    "coalesce(message.topic, place.topic) AS topic",
    "message.queue",
    "message.queue_offset",
    f"{word_of('message.queue_offset')} AS word",
    "place.client",
    "place.at_ms",
    "is_ok",
    "times",
    "has_failed",
    "records",
    f"IF({_IS_CALL} AND is_ok AND NOT is_swallowed AND NOT is_counted, place.at_ms - message.at_ms, NULL) latency_ms",
    "IF(kind = 'acknowledged', unique_id, NULL) AS unique_id",
)
_OF_TOPIC = ("kind", "client_group", "topic")


@dataclass(frozen=True, slots=True)
class JudgedTime:
    """What is judged at one moment.

    :ivar until_ms: messages stored by then should have been consumed, and acknowledged ones be stored.
    :ivar acknowledged_since_ms: earlier acknowledgements may concern messages that were not read.
    """

    until_ms: int
    acknowledged_since_ms: int = 0


def history_of(events: DataFrame) -> DataFrame:
    """Return the events without repetitions, each with what the others of its message and its group say.

    A record that was sent twice counts once. ``place`` is when and where an event happened and who reported it,
    ``message`` that of the stored message, null if it was not read.
    """
    place = F.min(F.struct("at_ms", "topic", "queue", "queue_offset", "client")).alias("place")
    hashed = events.repartition("unique_id").withColumn("id_hash", F.xxhash64("unique_id"))
    once = hashed.groupBy(*_MESSAGE, "client_group", "kind", "call")
    merged = once.agg(
        place,
        F.expr("bool_or(is_ok) AS is_ok"),
        F.expr("bool_and(is_swallowed) AS is_swallowed"),
        F.expr("bool_or(is_counted) AS is_counted"),
        F.expr("count(*) AS records"),
    )
    return merged.selectExpr("*", *_TOGETHER)


def facts_of(history: DataFrame, judged: JudgedTime) -> DataFrame:
    """Return what counts of a history, one row per event: calls, the judged messages, acknowledged messages that are
    not stored, and records that cannot be read.
    """
    is_lost = f"place.at_ms BETWEEN {judged.acknowledged_since_ms} AND {judged.until_ms} AND message IS NULL"
    counts = f"""
        CASE kind WHEN 'called' THEN message IS NOT NULL
                  WHEN 'stored' THEN place.at_ms <= {judged.until_ms}
                  WHEN 'acknowledged' THEN {is_lost}
                  ELSE true END
    """
    return history.where(counts).selectExpr(*_FACTS)


def counted(facts: DataFrame) -> DataFrame:
    """Return facts counted by two sets of keys, in one query as each has its price in a stream of small batches:

    - ``word``: 64 offsets of a queue. Those of "stored" are judged; those of "called" a group consumed, worked on more
      than once or failed to consume, by the reports of one client. It is null where there are no offsets.
    - ``rounded_ms``: calls that ended this long after their message was stored; -1: other events.
    """
    of_queue, of_topic = [*_OF_TOPIC, "queue", "client", "word"], [*_OF_TOPIC, "rounded_ms"]
    facts = facts.selectExpr("*", ROUNDED_LATENCY).fillna(-1, "rounded_ms")
    return facts.groupingSets([of_queue, of_topic], *of_queue, "rounded_ms").agg(
        F.expr(bits_of("queue_offset", "is_ok")).alias("ok"),
        F.expr(bits_of("queue_offset", "times > 1")).alias("twice"),
        F.expr(bits_of("queue_offset", "has_failed")).alias("failed"),
        # The owner of a queue. A client that gets a failed message again need not own it.
        F.expr("min(queue_offset) FILTER (WHERE NOT has_failed) AS first_offset"),
        F.expr("max(queue_offset) FILTER (WHERE NOT has_failed) AS last_offset"),
        F.expr("min(at_ms) FILTER (WHERE NOT has_failed) AS first_ms"),
        F.expr("max(at_ms) FILTER (WHERE NOT has_failed) AS last_ms"),
        F.expr("sum(records) AS records"),
        F.expr("count(*) AS events"),
        F.expr("greatest(max(latency_ms), 0L) AS longest_ms"),
    )


def lost_messages(facts: DataFrame) -> DataFrame:
    """Return the acknowledged messages that are not stored."""
    return facts.where("kind = 'acknowledged'").select("topic", "unique_id", "client", "at_ms")


def unsettled(history: DataFrame, judged: JudgedTime, expected: Iterable[tuple[str, str]], forget_ms: int) -> DataFrame:
    """Return the events of messages about which later events matter.

    :param expected: (group, topic): a message is settled once all groups of its topic have consumed it.
    :param forget_ms: messages stored before it are settled in any case.
    """
    is_done = (F.col("message.at_ms") <= judged.until_ms) & _consumed_by_all(expected)
    is_kept = F.expr(f"kind IN ('stored', 'called') AND message.at_ms > {forget_ms}") & ~is_done
    # Records about messages that have not been read, or never will be, because they may be of other topics.
    is_early = F.expr(f"message IS NULL AND kind IN ('called', 'acknowledged') AND place.at_ms > {judged.until_ms}")
    kept = history.selectExpr("*", _CONSUMERS).where(F.when(F.col("message").isNull(), is_early).otherwise(is_kept))
    flat = kept.withColumn("is_counted", F.expr(_IS_CALL)).select("*", "place.*")
    return flat.select(*EVENT_COLUMNS)


def _consumed_by_all(expected: Iterable[tuple[str, str]]) -> Column:
    """Return whether a message has been consumed by all groups of its topic; False if there are no groups."""
    groups: dict[str, list[str]] = {}
    for group, topic in expected:
        groups.setdefault(topic, []).append(group)
    result = F.lit(False)
    for topic, names in groups.items():
        have_all = F.size(F.array_except(F.array(*map(F.lit, names)), "consumers")) == 0
        result = result | ((F.col("message.topic") == topic) & have_all)
    return result
