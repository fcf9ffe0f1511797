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
_OF_MESSAGE = "OVER (PARTITION BY unique_id)"
_CONSUMERS = f"collect_set(IF(kind = 'called' AND is_ok, client_group, NULL)) {_OF_MESSAGE} AS consumers"
_OF_GROUP = "OVER (PARTITION BY unique_id, client_group)"
#: What the events of a message say together. Copies of a message (with one unique id) count as one message, the one
#: stored first: a consumer's record does not say which copy it received.
_TOGETHER = (
    f"max(IF(kind = 'stored', place, NULL)) {_OF_MESSAGE} AS message",
    f"count_if(kind = 'called' AND is_ok AND NOT is_swallowed) {_OF_GROUP} AS times",
    f"bool_or(kind = 'called' AND NOT is_ok) {_OF_GROUP} AS has_failed",
)


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
    once = events.repartition("unique_id").groupBy("unique_id", "client_group", "kind", "call")
    merged = once.agg(
        place,
        F.expr("bool_or(is_ok) AS is_ok"),
        F.expr("bool_and(is_swallowed) AS is_swallowed"),
        F.expr("bool_or(is_counted) AS is_counted"),
        F.expr("count(*) AS records"),
    )
    return merged.selectExpr("*", *_TOGETHER)


def reports_of(history: DataFrame, judged: JudgedTime) -> DataFrame:
    """Return all that the audit needs of a history, in rows (kind, group, topic, queue, client, and four numbers):

    - "stored", "called": 64 offsets of a queue as bits: the judged ones, or those that a group consumed, worked on more
      than once and failed to consume;
    - "owner": the first and the last offset, and their times, that a client reported of a queue;
    - "latency": how many calls ended how long after their message was stored, and the longest latency among them;
    - "acknowledged": the number of acknowledged messages that are not stored;
    - "unreadable": the number of records that cannot be read.

    This is one query, as each has its price in a stream of small batches.
    """
    nothing = [F.expr("bigint(NULL)")] * 3
    offsets = history.where(f"{_IS_CALL} OR kind = 'stored' AND place.at_ms <= {judged.until_ms}")
    words = offsets.groupBy(*_keys("kind", "message.queue"), F.expr(word_of("message.queue_offset"))).agg(
        *(F.expr(bits_of("message.queue_offset", kind)) for kind in ("is_ok", "times > 1", "has_failed"))
    )
    # A client that gets a failed message again need not own its queue.
    own = history.where(f"{_IS_CALL} AND NOT has_failed AND place.client <> ''")
    owners = own.groupBy(*_keys("'owner'", "message.queue", "place.client")).agg(
        *(F.expr(f"{how}({of})") for of in ("message.queue_offset", "place.at_ms") for how in ("min", "max"))
    )
    fresh = history.where(f"{_IS_CALL} AND is_ok AND NOT is_swallowed AND NOT is_counted")
    latencies = fresh.selectExpr("*", "place.at_ms - message.at_ms AS latency_ms").selectExpr("*", ROUNDED_LATENCY)
    latency = latencies.groupBy(*_keys("'latency'"), "rounded_ms").agg(
        F.expr("count(*)"), F.expr("greatest(max(latency_ms), 0L)"), nothing[0]
    )
    unreadable = history.where("kind = 'unreadable'").groupBy(*_keys("kind")).agg(F.expr("sum(records)"), *nothing)
    lost = not_stored(history, judged)
    lost = lost.groupBy(F.lit("acknowledged"), F.lit(""), "topic", F.lit(""), F.lit("")).agg(F.count("*"), *nothing)
    return words.union(owners).union(latency).union(unreadable).union(lost)


def _keys(kind: str, queue: str = "''", client: str = "''") -> list[Column]:
    return [F.expr(key) for key in (kind, "client_group", "message.topic", queue, client)]


def not_stored(history: DataFrame, judged: JudgedTime) -> DataFrame:
    """Return the acknowledged messages that are not stored."""
    lost = history.where("kind = 'acknowledged' AND message IS NULL")
    lost = lost.where(f"place.at_ms BETWEEN {judged.acknowledged_since_ms} AND {judged.until_ms}")
    return lost.selectExpr(
        "place.topic AS topic", "unique_id", "place.client AS producer_group", "place.at_ms AS at_ms"
    )


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
