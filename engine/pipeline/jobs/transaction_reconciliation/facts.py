"""Half, op, committed and given-up messages as *facts*: rows that say a little about a transaction and can be merged.

One message gives one row; merging all rows of a transaction gives one row that says everything about it. The merged
rows of two parts of the history merge to those of the whole, so a stream keeps them as its state and a batch makes them
in one go, by the same function (:func:`merge`).

A transaction is known by its broker and its unique id: a check-back stores the half message anew, at another offset
of the half queue and of the log, and only the unique id stays. An op message knows nothing but such an offset; until
the half message at it was read, it waits as a row of its own.

Expressions are SQL text here: a stream plans them for every micro-batch, and each one made by Python functions costs
a dozen calls into the JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.protocol.message_properties import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED,
)
from engine.protocol.names import (
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What a row of facts is about.
TRANSACTION = "transaction"
#: Op messages whose half message was not read (yet).
WAITING_OP = "waiting op"
#: Everything that was read of one broker.
BROKER = "broker"
#: Settled transactions that a stream does not remember one by one any more; ``identity`` is their status.
FORGOTTEN = "forgotten"

#: ``TransactionalMessageUtil.REMOVETAG``: the tags of an op message.
_REMOVE_TAG = "d"
#: Columns that :func:`facts_of` needs of messages; ``body`` too where op messages, which are tiny, are among them.
COLUMNS_NEEDED = (
    "topic",
    "broker_name",
    "queue_offset",
    "commit_log_offset",
    "unique_id",
    "keys",
    "tags",
    "properties",
    "born_timestamp",
    "store_timestamp",
    "born_host",
    "prepared_transaction_offset",
)

#: Column -> (type, how the values of two rows are merged). "place" is an offset in the commit log.
_FIELDS = {
    "topic": ("string", "max"),
    "producer_group": ("string", "max"),
    "key": ("string", "max"),
    "born": ("timestamp", "min"),
    "copies": ("bigint", "sum"),
    "checks": ("int", "max"),
    "first_half_offset": ("bigint", "min"),
    "last_half_offset": ("bigint", "max"),
    "first_half_place": ("bigint", "min"),
    "last_half_place": ("bigint", "max"),
    "half_stored": ("timestamp", "min"),
    "committed": ("bigint", "sum"),
    "prepared_place": ("bigint", "min"),
    "committed_place": ("bigint", "max"),
    "committed_stored": ("timestamp", "min"),
    "ops": ("bigint", "sum"),
    "op_place": ("bigint", "max"),
    "op_stored": ("timestamp", "min"),
    "given_up": ("bigint", "sum"),
    "given_up_place": ("bigint", "max"),
    "last_stored": ("timestamp", "max"),
    "transactions": ("bigint", "sum"),
    "forgotten_checks": ("bigint", "sum"),
}
_KEY = ("role", "broker_name", "identity")
#: The columns of facts: the key, all offsets that the half message had in the half queue, and what is merged.
FACT_COLUMNS = (*_KEY, "half_offsets", *_FIELDS)
_TYPES = {
    **dict.fromkeys(_KEY, "string"),
    "half_offsets": "array<bigint>",
    **{name: kind for name, (kind, _) in _FIELDS.items()},
}
#: The same as a schema for Spark.
FACT_SCHEMA = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())


# --- merging ---------------------------------------------------------------------------------------------------------

_MERGED = ", ".join(f"{how}({name}) AS {name}" for name, (_, how) in _FIELDS.items())


def _once(name: str) -> str:
    return f"if(coalesce(position, 0) = 0, {name}, 0) AS {name}" if _FIELDS[name][1] == "sum" else name


#: A merged row becomes one row per half offset that it knows; its sums go with the first one.
_ONE_ROW_PER_OFFSET = f"""
    SELECT broker_name, role, identity, half_offset,
           CASE WHEN half_offset IS NULL THEN role END AS own_role,
           CASE WHEN half_offset IS NULL THEN identity END AS own_identity,
           {", ".join(_once(name) for name in _FIELDS)}
    FROM {{facts}} LATERAL VIEW OUTER posexplode(half_offsets) AS position, half_offset
"""
#: Rows with the same half offset come together first, so that op messages learn the transaction that they mean.
_BY_OFFSET = f"""
    SELECT broker_name, half_offset,
           coalesce(max(CASE WHEN role = '{TRANSACTION}' THEN role END), max(role)) AS role,
           coalesce(max(CASE WHEN role = '{TRANSACTION}' THEN identity END), max(identity)) AS identity,
           {_MERGED}
    FROM ({_ONE_ROW_PER_OFFSET})
    GROUP BY broker_name, half_offset, own_role, own_identity
"""
#: Every row counts for its broker too; one that is its broker's already counts once.
_OWN_AND_BROKER = f"""
    SELECT new_role AS role, broker_name,
           if(new_role = '{BROKER}', '', identity) AS identity,
           if(new_role = '{BROKER}', NULL, half_offset) AS half_offset,
           {", ".join(_FIELDS)}
    FROM ({_BY_OFFSET})
    LATERAL VIEW explode(if(role = '{BROKER}', array(role), array(role, '{BROKER}'))) AS new_role
"""
_MERGE = f"""
    SELECT {", ".join(_KEY)}, array_sort(collect_set(half_offset)) AS half_offsets, {_MERGED}
    FROM ({_OWN_AND_BROKER})
    GROUP BY {", ".join(_KEY)}
"""


def merge(facts: DataFrame) -> DataFrame:
    """One row per transaction, per broker, per half message that only op messages know, and per forgotten status.

    ``facts`` may hold rows merged before and new ones in any mixture and order. Two shuffles and no join.
    """
    return facts.sparkSession.sql(_MERGE, facts=facts)


# --- one message, one row --------------------------------------------------------------------------------------------

_HALF, _OP, _GIVEN_UP, _COMMITTED = "half", "op", "given up", "committed"

#: What a message is to a transaction; null: nothing. A committed message keeps the properties of its half message. So
#: do its copies in retry and dead-letter topics (``%``), but those are no further commits.
_KIND = f"""
    CASE WHEN topic = '{TRANSACTION_HALF_TOPIC}' THEN '{_HALF}'
         WHEN topic = '{TRANSACTION_OP_HALF_TOPIC}' AND tags = '{_REMOVE_TAG}' THEN '{_OP}'
         WHEN topic = '{TRANSACTION_CHECK_MAX_TIME_TOPIC}' THEN '{_GIVEN_UP}'
         WHEN topic = properties['{PROPERTY_REAL_TOPIC}'] AND NOT startswith(topic, '%')
              AND lower(properties['{PROPERTY_TRANSACTION_PREPARED}']) = 'true' THEN '{_COMMITTED}'
    END
"""
#: An op message names one half message in RocketMQ 4, several with commas in RocketMQ 5.
_DECIDED = "filter(transform(split(string(body), ','), t -> try_cast(t AS bigint)), n -> n IS NOT NULL)"
#: The unique id; for a sender that gives none, what stays when a half message is stored again.
_IDENTITY = "coalesce(unique_id, concat_ws('/', born_host, string(unix_millis(born_timestamp)), get(keys, 0)))"

#: Columns of messages of any kind. An op message is the broker's own: it says nothing of the sender.
_OF_ALL = {
    "role": f"if(kind = '{_OP}', '{WAITING_OP}', '{TRANSACTION}')",
    "broker_name": "broker_name",
    "identity": f"if(kind = '{_OP}', string(half_offset), {_IDENTITY})",
    "half_offsets": f"if(kind IN ('{_HALF}', '{_OP}'), array(half_offset), array())",
    "topic": f"if(kind = '{_OP}', NULL, properties['{PROPERTY_REAL_TOPIC}'])",
    "producer_group": f"if(kind = '{_OP}', NULL, properties['{PROPERTY_PRODUCER_GROUP}'])",
    "key": f"if(kind = '{_OP}', NULL, get(keys, 0))",
    "born": f"if(kind = '{_OP}', NULL, born_timestamp)",
    "last_stored": "store_timestamp",
}
#: Columns that one kind of message says something about.
_OF_KIND = {
    _HALF: {
        "copies": "1",
        "checks": f"coalesce(try_cast(properties['{PROPERTY_TRANSACTION_CHECK_TIMES}'] AS int), 0)",
        "first_half_offset": "queue_offset",
        "last_half_offset": "queue_offset",
        "first_half_place": "commit_log_offset",
        "last_half_place": "commit_log_offset",
        "half_stored": "store_timestamp",
    },
    _OP: {"ops": "1", "op_place": "commit_log_offset", "op_stored": "store_timestamp"},
    _GIVEN_UP: {"given_up": "1", "given_up_place": "commit_log_offset"},
    _COMMITTED: {
        "committed": "1",
        "prepared_place": "prepared_transaction_offset",
        "committed_place": "commit_log_offset",
        "committed_stored": "store_timestamp",
    },
}


def facts_of(messages: DataFrame) -> DataFrame:
    """One row of facts per message that has to do with a transaction; others give none.

    :param messages: of the half, op and discard topics and of the real topics, all in one or any part of it; with
        :data:`COLUMNS_NEEDED`, and ``body`` where op messages are among them.
    """
    decided = _DECIDED if "body" in messages.columns else "cast(NULL AS array<bigint>)"
    told = messages.selectExpr("*", f"{_KIND} AS kind").where("kind IS NOT NULL")
    told = told.selectExpr("*", f"explode(if(kind = '{_OP}', {decided}, array(queue_offset))) AS half_offset")
    return told.selectExpr(*(f"cast({_value(name)} AS {kind}) AS {name}" for name, kind in _TYPES.items()))


def _value(name: str) -> str:
    """The expression for a column of facts."""
    if name in _OF_ALL:
        return _OF_ALL[name]
    nothing = "0" if _FIELDS[name][1] == "sum" else "NULL"
    for kind, values in _OF_KIND.items():
        if name in values:
            return f"if(kind = '{kind}', {values[name]}, {nothing})"
    return nothing
