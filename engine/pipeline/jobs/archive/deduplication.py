"""Deduplication: which messages of a batch are new, and which are copies of one in the batch or in the archive.

Only keys are shuffled and compared, never bodies; what the driver sends to all executors is bounded by one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.errors import WrongArgument
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The kinds of a message: the first of its key, one with the same key and body, one with the same key but another body.
KEPT, COPY, CHANGED = "kept", "copy", "changed"

_PLACE = ("topic", "broker_name", "queue_id", "queue_offset")
_KEY = ("topic", "business_key")
BY_PROPERTY = "property:"


def check_key_rule(rule: str) -> None:
    """Check the name of a rule. Raises :class:`~engine.pipeline.errors.WrongArgument` if it is unknown."""
    names_property = rule.startswith(BY_PROPERTY) and rule != BY_PROPERTY
    if rule not in ("keys", "unique_id") and not names_property:
        raise WrongArgument(Text("job.error.no_key", rule=rule))


def business_key(rule: str) -> Column:
    """Return a text that all copies of one message share: the rule's name and value, else the unique id, else the
    place.
    """
    if rule == "keys":
        value, label = F.concat_ws(" ", "keys"), "keys:"
    elif rule == "unique_id":
        value, label = F.lit(""), ""
    else:
        value, label = F.element_at("properties", F.lit(rule.removeprefix(BY_PROPERTY))), f"{rule}:"
    return F.coalesce(
        F.when(value != "", F.concat(F.lit(label), value)),
        F.when(F.col("unique_id") != "", F.concat(F.lit("unique_id:"), F.col("unique_id"))),
        # The store time too: a topic that is deleted and created again counts from 0 again.
        F.concat_ws(
            ":",
            F.lit("place"),
            "broker_name",
            F.col("queue_id").cast("string"),
            F.col("queue_offset").cast("string"),
            F.unix_millis("store_timestamp").cast("string"),
        ),
    )


def with_keys(messages: DataFrame, rule: str) -> DataFrame:
    """Return messages with the archive's columns: ``business_key``, ``body_hash`` and ``day`` (of store time, UTC)."""
    return messages.withColumns(
        {"business_key": business_key(rule), "body_hash": F.xxhash64("body"), "day": F.to_date("store_timestamp")}
    )


def with_kinds(messages: DataFrame, archived: DataFrame | None) -> DataFrame:
    """Return a batch with the column ``kind``.

    :param messages: result of :func:`with_keys`; read more than once, so it should be persisted.
    :param archived: topic, business_key and body_hash of archived messages; None if there are no such.

    Of several messages with one key in a batch, the one stored first is kept.
    """
    keys = messages.select(*_PLACE, "business_key", "body_hash", "store_timestamp")
    order = Window.partitionBy(*_KEY).orderBy("store_timestamp", "broker_name", "queue_id", "queue_offset")
    ranked = keys.select(
        *_PLACE,
        "business_key",
        "body_hash",
        F.row_number().over(order).alias("rank"),
        F.first("body_hash").over(order).alias("first_hash"),
    )
    if archived is None:
        copies = ranked.where("rank > 1")
    else:
        # The archive is large, the batch is not: each executor gets the batch's keys and goes once through its files.
        wanted = F.broadcast(keys.select(*_KEY).distinct())
        known = (
            archived.join(wanted, list(_KEY), "left_semi").groupBy(*_KEY).agg(F.min("body_hash").alias("known_hash"))
        )
        copies = ranked.join(F.broadcast(known), list(_KEY), "left").where("rank > 1 or known_hash is not null")
        copies = copies.withColumn("first_hash", F.coalesce("known_hash", "first_hash"))
    kind = F.when(F.col("body_hash") == F.col("first_hash"), COPY).otherwise(CHANGED)
    verdicts = F.broadcast(copies.select(*_PLACE, kind.alias("kind")))
    judged = messages.join(verdicts, list(_PLACE), "left")
    return judged.withColumn("kind", F.coalesce("kind", F.lit(KEPT)))
