"""Half, op, committed and given-up messages as *facts*: rows that each say something about a transaction and can be
merged.

One message gives one row; merging all rows of a transaction gives one row with everything about it. Merging the merged
rows of two parts of the history gives those of the whole, so a stream keeps them as its state.

A transaction is identified by its broker and its unique id: a check-back stores the half message again, at another
offset of the half queue and of the log, and only the unique id stays. An op message contains only such an offset; until
the half message at it was read, it waits as a row of its own.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from engine.pipeline.source.decoding.schema import PROPERTY_PREFIX
from engine.protocol.message.message_properties import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
)
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC

#: What a row of facts is about.
TRANSACTION = "transaction"
#: Op messages whose half message was not read (yet).
WAITING_OP = "waiting op"
#: Settled transactions that a stream no longer remembers individually; ``key`` is their status.
FORGOTTEN = "forgotten"

#: Properties that are read, and what is taken from them: senders may write anything.
_PROPERTIES = {
    PROPERTY_REAL_TOPIC: "{} AS real_topic",
    PROPERTY_PRODUCER_GROUP: "{} AS producer_group",
    PROPERTY_TRANSACTION_PREPARED: "lower({}) = 'true' AS is_prepared",
    PROPERTY_TRANSACTION_CHECK_TIMES: "greatest(try_cast({} AS INT), 0) AS check_times",
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET: "try_cast({} AS BIGINT) AS put_off_offset",
}
#: Columns of messages that :func:`parts_of` needs; ``body`` too if op messages, which are tiny, are among them.
COLUMNS_NEEDED = (
    "topic",
    "broker_name",
    "queue_offset",
    "commit_log_offset",
    "unique_id",
    "keys",
    "tags",
    *(PROPERTY_PREFIX + name for name in _PROPERTIES),
    "born_timestamp",
    "store_timestamp",
    "born_host",
    "prepared_transaction_offset",
)
#: The part of a message in a transaction, null if it has none. ``TransactionalMessageUtil.REMOVETAG`` is d. A committed
#: message keeps the properties of its half message. So do its copies in retry and dead-letter topics (``%``), but those
#: are not further commits.
_PART = f"""
    CASE WHEN topic = '{TRANSACTION_HALF_TOPIC}' THEN 'half'
         WHEN topic = '{TRANSACTION_OP_HALF_TOPIC}' THEN IF(tags = 'd', 'op', NULL)
         WHEN topic = '{TRANSACTION_CHECK_MAX_TIME_TOPIC}' THEN 'given up'
         WHEN topic = real_topic AND is_prepared AND NOT startswith(topic, '%') THEN 'committed'
    END
"""
#: An op message names one half message in RocketMQ 4, and several separated by commas in RocketMQ 5.
_NAMED = "filter(transform(split(string(body), ','), text -> try_cast(text AS BIGINT)), offset -> offset >= 0)"
#: The unique id; if a sender gives no id, fields that stay the same when a half message is stored again.
_IDENTITY = "coalesce(unique_id, concat_ws('/', born_host, unix_millis(born_timestamp), key))"
KEY = ("role", "broker_name", "identity")


def _of(part: str, column: str) -> str:
    return f"CASE part WHEN '{part}' THEN {column} END"


#: Column -> (its value in the facts of a message, how the values of two rows are merged). "place" is an offset in the
#: commit log, "offset" one in the half queue: ``half_offsets`` are all that the half message had;
#: ``first_put_off_offset`` is the original one before it was put off, according to its copy; ``named_offset`` is the
#: newest one that an op message names.
FIELDS = {
    "half_offsets": (_of("half", "array(queue_offset)"), "array_distinct(flatten(collect_list({})))"),
    "topic": ("real_topic", "max({})"),
    "producer_group": ("producer_group", "max({})"),
    "key": ("key", "max({})"),
    "born": ("IF(part = 'op', NULL, born_timestamp)", "min({})"),
    "copies": ("bigint(part = 'half')", "sum({})"),
    "checks": (_of("half", "check_times"), "max({})"),
    "first_half_offset": (_of("half", "queue_offset"), "min({})"),
    "last_half_offset": (_of("half", "queue_offset"), "max({})"),
    "first_half_place": (_of("half", "commit_log_offset"), "min({})"),
    "last_half_place": (_of("half", "commit_log_offset"), "max({})"),
    "first_put_off_offset": (
        "IF(part = 'half' AND put_off_offset BETWEEN 0 AND queue_offset - 1, put_off_offset, NULL)",
        "max({})",
    ),
    "half_stored": (_of("half", "store_timestamp"), "min({})"),
    "last_half_stored": (_of("half", "store_timestamp"), "max({})"),
    "committed": ("bigint(part = 'committed')", "sum({})"),
    "prepared_place": (_of("committed", "prepared_transaction_offset"), "min({})"),
    "committed_stored": (_of("committed", "store_timestamp"), "min({})"),
    "last_committed_stored": (_of("committed", "store_timestamp"), "max({})"),
    "ops": ("bigint(part = 'op')", "sum({})"),
    "named_offset": ("named_offset", "max({})"),
    "op_stored": (_of("op", "store_timestamp"), "min({})"),
    "last_op_stored": (_of("op", "store_timestamp"), "max({})"),
    "given_up": ("bigint(part = 'given up')", "sum({})"),
    "given_up_place": (_of("given up", "commit_log_offset"), "max({})"),
    "last_stored": ("store_timestamp", "max({})"),
    "transactions": ("0L", "sum({})"),
    "forgotten_checks": ("0L", "sum({})"),
}
FACT_COLUMNS = (*KEY, *FIELDS)


def parts_of(messages: DataFrame) -> DataFrame:
    """Return the messages that are part of a transaction, an op message once for each half message that it names.

    :param messages: messages of the half, op and discard topics and of the real topics, or any part of them; with
        :data:`COLUMNS_NEEDED`, and ``body`` if op messages are among them.
    """
    body = "body" if "body" in messages.columns else "NULL AS body"
    plain = (name for name in COLUMNS_NEEDED if not name.startswith(PROPERTY_PREFIX) and name != "keys")
    properties = (taken.format(f"`{PROPERTY_PREFIX}{name}`") for name, taken in _PROPERTIES.items())
    parts = messages.selectExpr(*plain, *properties, "get(keys, 0) AS key", body).selectExpr("*", f"{_PART} AS part")
    parts = parts.where("part IS NOT NULL").selectExpr("*", f"explode_outer({_of('op', _NAMED)}) AS named_offset")
    return parts.where("part <> 'op' OR named_offset IS NOT NULL").drop("topic", "tags", "is_prepared", "body")


def facts_of(parts: DataFrame) -> DataFrame:
    """Return one row of facts per part of a transaction."""
    return parts.selectExpr(
        f"IF(part = 'op', '{WAITING_OP}', '{TRANSACTION}') AS role",
        "broker_name",
        f"IF(part = 'op', string(named_offset), {_IDENTITY}) AS identity",
        *(f"{value} AS {name}" for name, (value, _) in FIELDS.items()),
    )


def merge(facts: DataFrame) -> DataFrame:
    """Return one row per transaction, per half message that only op messages name, and per forgotten status.

    :param facts: merged and new rows in any mixture and order.
    """
    owners = facts.selectExpr("broker_name", "identity AS owner", "explode(half_offsets) AS named_offset")
    is_op = f"role = '{WAITING_OP}'"
    # Op messages whose half message is there become facts of its transaction.
    ops = (
        facts.where(is_op)
        .join(owners, ["broker_name", "named_offset"], "left")
        .selectExpr(
            f"IF(owner IS NULL, role, '{TRANSACTION}') AS role",
            "broker_name",
            "coalesce(owner, identity) AS identity",
            *FIELDS,
        )
    )
    known = facts.where(f"NOT {is_op}").unionByName(ops)
    return known.groupBy(*KEY).agg(*(expr(f"{how.format(name)} AS {name}") for name, (_, how) in FIELDS.items()))
