"""Verdicts on merged facts: the status of each transaction, and what must not have happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast, coalesce, col, expr, lit, when

from engine.pipeline.jobs.transaction_reconciliation.facts import FIELDS, FORGOTTEN, KEY, TRANSACTION, WAITING_OP
from engine.pipeline.jobs.transaction_reconciliation.words import UNSETTLED, Status, TransactionAnomaly

#: A commit lacks an op message if one stored this much later exists: answers are handled concurrently, and RocketMQ 5
#: collects op messages for seconds.
OP_GRACE_MS = 10_000


@dataclass(frozen=True, slots=True)
class OpQueue:
    """The state of the op queue: the known decisions.

    :ivar is_readable: False: no op messages were read (a real RocketMQ 4 refuses them to every client).
    :ivar check_offsets: broker -> position of its check service in the half queue: a half message before it was
        decided, or stored again. It is used when op messages cannot be read.
    """

    is_readable: bool = True
    check_offsets: Mapping[str, int] = field(default_factory=dict)


_IS_FORGOTTEN = f"role = '{FORGOTTEN}'"
_IS_UNREAD = f"{_IS_FORGOTTEN} AND key = '{Status.NOT_READ}'"
#: Bounds of one broker: the half messages between them, and op messages up to one, were all read.
_BOUNDS = {
    "first_offset": "min(first_half_offset)",
    "last_offset": "max(last_half_offset)",
    "first_place": "min(first_half_place)",
    "last_place": "max(last_half_place)",
    "ops_until_ms": "unix_millis(max(last_op_stored))",
    "oldest_ms": "unix_millis(min(half_stored))",
    "newest_ms": "unix_millis(max(last_stored))",
    "newest_half_ms": "unix_millis(max(last_half_stored))",
    "forgotten_offset": f"max(last_half_offset) FILTER (WHERE {_IS_FORGOTTEN})",
    "forgotten_place": f"max(last_half_place) FILTER (WHERE {_IS_FORGOTTEN})",
    # Of half messages that were forgotten although their topic was not read.
    "unread_offset": f"max(last_half_offset) FILTER (WHERE {_IS_UNREAD})",
    "unread_places": (
        f"map_from_entries(collect_list(struct(coalesce(topic, ''), last_half_place)) FILTER (WHERE {_IS_UNREAD}))"
    ),
}
#: The status if all topics were read.
_SEEN = f"""
    CASE WHEN committed > 0 THEN '{Status.COMMITTED}'
         WHEN ops > 0 THEN '{Status.ROLLED_BACK}'
         WHEN given_up > 0 AND given_up_place > coalesce(last_half_place, -1) THEN '{Status.GIVEN_UP}'
         WHEN ops_readable THEN '{Status.OPEN}'
         WHEN last_half_offset < check_offset THEN '{Status.ROLLED_BACK}'
         ELSE '{Status.NOT_COMMITTED}'
    END
"""
#: Whether the broker will not revisit a transaction, so that no further copy follows. Its check service skips a copy
#: that an op message names, and one that was put off whose original place is named. If op messages cannot be read, the
#: position in the half queue decides.
_IS_LEFT = """
    copies = 0
    OR ops_readable AND coalesce(named_offset >= least(last_half_offset, first_put_off_offset), false)
    OR NOT ops_readable AND coalesce(last_half_offset < check_offset, true)
"""
_IS_WAITING = f"role = '{WAITING_OP}'"
_WAITS = f"{_IS_WAITING} AND named_offset BETWEEN first_offset AND last_offset"
_LOST_HALF = f"role = '{TRANSACTION}' AND copies = 0 AND prepared_place BETWEEN first_place AND last_place"
_WAS_FORGOTTEN = "coalesce(prepared_place <= forgotten_place, false)"
_OP_WAS_FORGOTTEN = "coalesce(named_offset <= forgotten_offset, false)"
_FINDINGS = {
    TransactionAnomaly.COMMITTED_TWICE: "committed > 1",
    # A topic that is read only since a restart: its commits are not late, they were not seen before. An op message does
    # not name its topic.
    TransactionAnomaly.DECIDED_LATE: f"""
        {_LOST_HALF} AND {_WAS_FORGOTTEN} AND NOT coalesce(prepared_place <= unread_places[coalesce(topic, '')], false)
        OR {_WAITS} AND {_OP_WAS_FORGOTTEN} AND NOT coalesce(named_offset <= unread_offset, false)
    """,
    TransactionAnomaly.COMMITTED_WITHOUT_HALF: f"{_LOST_HALF} AND NOT {_WAS_FORGOTTEN}",
    TransactionAnomaly.COMMITTED_AND_ROLLED_BACK: "ops_readable AND copies > 0 AND committed > 0 AND ops > committed",
    TransactionAnomaly.ROLLED_BACK_TWICE: f"ops_readable AND role = '{TRANSACTION}' AND committed = 0 AND ops > 1",
    # Its op message may name a copy from before everything that was read, as the commit then does.
    TransactionAnomaly.COMMITTED_WITHOUT_OP: f"""
        ops_readable AND committed > ops AND copies > 0 AND prepared_place >= first_place
        AND unix_millis(last_committed_stored) < ops_until_ms - {OP_GRACE_MS}
    """,
    TransactionAnomaly.OP_WITHOUT_HALF: f"ops_readable AND {_WAITS} AND NOT {_OP_WAS_FORGOTTEN}",
}
#: Column -> what is said of each row: the status (null for op messages that wait), the findings, whether no decision is
#: pending, whether the broker will not revisit it, and how many transactions it counts for.
_VERDICT = {
    "status": f"""
        CASE role WHEN '{FORGOTTEN}' THEN key
                  WHEN '{TRANSACTION}' THEN IF(is_unread, '{Status.NOT_READ}', {_SEEN})
        END
    """,
    "findings": f"""
        IF(is_unread OR {_IS_FORGOTTEN}, array(), array_compact(array(
            {", ".join(f"IF({rule}, '{kind}', NULL)" for kind, rule in _FINDINGS.items())}
        )))
    """,
    "is_settled": f"{_IS_WAITING} OR {_SEEN} NOT IN {tuple(map(str, UNSETTLED))}",
    "is_left": _IS_LEFT,
    # For other rows only a commit was read: their half message was counted before it was forgotten, is before
    # everything that was read, or never existed.
    "counted": f"""
        CASE role WHEN '{FORGOTTEN}' THEN transactions
                  WHEN '{TRANSACTION}' THEN bigint(copies > 0 OR given_up > 0)
                  ELSE 0
        END
    """,
}
_IS_OVER = f"NOT {_IS_FORGOTTEN} AND is_settled AND is_left AND is_kept IS NULL AND size(findings) = 0"
#: What becomes of the columns of a row that is forgotten. Topics that were not read are kept apart, see
#: ``unread_places``. An op message has no status.
_FORGOTTEN = {
    "role": f"'{FORGOTTEN}'",
    "identity": f"IF(status = '{Status.NOT_READ}', concat(status, ': ', coalesce(topic, '')), coalesce(status, ''))",
    "key": "status",
    "half_offsets": "NULL",
    "transactions": "counted",
    "forgotten_checks": "bigint(coalesce(checks, 0))",
}


def bounds_of(merged: DataFrame) -> Any:
    """Return the bounds of each broker as an Arrow table: its name, and the columns of ``_BOUNDS``."""
    return merged.groupBy("broker_name").agg(*(expr(f"{text} AS {name}") for name, text in _BOUNDS.items())).toArrow()


def halves_until_ms(bounds: Any) -> int:
    """Return a time before which all half messages of all brokers were read.

    Brokers that never stored one do not count; one that has stopped storing them holds the time back.
    """
    return pc.min(bounds["newest_half_ms"]).as_py() or 0


def judge(merged: DataFrame, bounds: Any, op_queue: OpQueue, topics: tuple[str, ...] | None = None) -> DataFrame:
    """Return ``merged`` with the columns of ``_VERDICT``.

    Half, op and real topics are not read at one instant. What the end of one of them may hide is not judged: a commit
    whose half message, or whose op message, would come after the last one read.

    :param topics: topics whose messages are read; None: all. Transactions for others are only counted.
    """
    checked = pa.array(map(op_queue.check_offsets.get, bounds["broker_name"].to_pylist()), pa.int64())
    limits = merged.sparkSession.createDataFrame(bounds.append_column("check_offset", checked))
    # Commits in retry topics cannot be distinguished from what consumers sent back.
    is_read = lit(True) if topics is None else coalesce(col("topic").isin(*topics), lit(False))
    is_unread = (col("role") == TRANSACTION) & (coalesce(col("topic").startswith("%"), lit(False)) | ~is_read)
    readable = lit(op_queue.is_readable).alias("ops_readable")
    rows = merged.join(broadcast(limits), "broker_name").select("*", readable, is_unread.alias("is_unread"))
    return rows.selectExpr("*", *(f"{text} AS {name}" for name, text in _VERDICT.items()))


def forget(
    merged: DataFrame,
    keep_ms: int,
    op_queue: OpQueue | None = None,
    kept_keys: Sequence[str] = (),
    topics: tuple[str, ...] | None = None,
) -> DataFrame:
    """Return ``merged`` with transactions that were settled longer than ``keep_ms`` ago as facts of their status, which
    bounds a stream's memory once they are merged.

    Open transactions stay, and so do those that the broker may revisit, those with findings, and those with
    ``kept_keys``. The clock is the newest message of the broker, not ours.

    :param topics: as in :func:`judge`.
    """
    kept = pa.table({"key": pa.array(dict.fromkeys(kept_keys), pa.string())})
    keys = merged.sparkSession.createDataFrame(kept).withColumn("is_kept", lit(True))
    judged = judge(merged, bounds_of(merged), op_queue or OpQueue(), topics).join(broadcast(keys), "key", "left")
    is_over = expr(_IS_OVER) & (col("newest_ms") - expr("unix_millis(last_stored)") > keep_ms)
    return judged.select(
        *(when(is_over, expr(_FORGOTTEN.get(name, name))).otherwise(col(name)).alias(name) for name in (*KEY, *FIELDS))
    )
