"""What merged facts say: the status of each transaction, and what must not have happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from engine.pipeline.jobs.transaction_reconciliation.facts import (
    BROKER,
    FACT_COLUMNS,
    FORGOTTEN,
    TRANSACTION,
    WAITING_OP,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Status(StrEnum):
    """What became of a half message."""

    OPEN = "open"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    GIVEN_UP = "given up"
    #: The op queue cannot be read: not committed is all that is known.
    NOT_COMMITTED = "rolled back or open"


#: Not decided: somebody still has to.
UNSETTLED = (Status.OPEN, Status.NOT_COMMITTED, Status.GIVEN_UP)


class Finding(StrEnum):
    """What must not have happened, although RocketMQ does not prevent it. The worst come first."""

    COMMITTED_AND_ROLLED_BACK = "committed and rolled back"
    COMMITTED_TWICE = "committed more than once"
    DECIDED_LATE = "decided again after it was settled"
    COMMITTED_WITHOUT_HALF = "committed without a half message"
    COMMITTED_WITHOUT_OP = "committed without an op message"
    OP_WITHOUT_HALF = "op message without a half message"
    ROLLED_BACK_TWICE = "rolled back more than once"


@dataclass(frozen=True, slots=True)
class OpQueue:
    """What is known of the decisions.

    :ivar is_readable: False: no op messages were read (a real RocketMQ 4 refuses them to everybody).
    :ivar check_offsets: by broker, how far its check service has come in the half queue: a half message before that
        was decided, or stored anew. It stands in for op messages that cannot be read.
    """

    is_readable: bool = True
    check_offsets: Mapping[str, int] = field(default_factory=dict)


#: Between which half messages of each broker, and until which op message, everything was read.
_BOUNDS = f"""
    SELECT broker_name AS of_broker,
           min(if(role = '{BROKER}', first_half_offset, NULL)) AS first_offset,
           max(if(role = '{BROKER}', last_half_offset, NULL)) AS last_offset,
           min(if(role = '{BROKER}', first_half_place, NULL)) AS first_place,
           max(if(role = '{BROKER}', last_half_place, NULL)) AS last_place,
           max(if(role = '{BROKER}', op_place, NULL)) AS ops_until,
           max(if(role = '{BROKER}', last_stored, NULL)) AS newest,
           coalesce(max(if(role = '{FORGOTTEN}', last_half_offset, NULL)), -1) AS forgotten_offset,
           coalesce(max(if(role = '{FORGOTTEN}', last_half_place, NULL)), -1) AS forgotten_place
    FROM {{merged}} GROUP BY broker_name
"""
_JUDGED = f"""
    SELECT {{columns}}, newest, {{status}} AS status, {{findings}} AS findings
    FROM {{merged}} JOIN (SELECT /*+ BROADCAST */ * FROM ({_BOUNDS})) AS bounds ON broker_name = of_broker
    WHERE role IN ('{TRANSACTION}', '{WAITING_OP}')
"""


def judge(merged: DataFrame, op_queue: OpQueue | None = None, topics: tuple[str, ...] = ()) -> DataFrame:
    """Transactions and waiting op messages with ``status`` (null for the latter) and ``findings`` (array).

    Half, op and real topics are not read at one instant. What the end of one of them may hide is not judged: a commit
    whose half message would lie behind the last one read, or whose op message would.

    :param merged: what :func:`~engine.pipeline.jobs.transaction_reconciliation.facts.merge` made.
    :param topics: only transactions for these; () for all.
    """
    judged = _judged(merged, op_queue or OpQueue()).drop("newest")
    if topics:
        # An op message that nobody knows says no topic.
        judged = judged.where(judged["topic"].isin(*topics) | (judged["role"] == WAITING_OP))
    return judged


def forget(merged: DataFrame, keep_ms: int, op_queue: OpQueue | None = None) -> DataFrame:
    """``merged`` with what is settled for longer than ``keep_ms`` summed up by status: what bounds a stream's memory.

    Open transactions stay, and those with findings. The clock is the newest message of the broker, not ours.
    """
    unsettled = ", ".join(f"'{status}'" for status in UNSETTLED)
    is_settled = f"(role = '{WAITING_OP}' OR status NOT IN ({unsettled})) AND size(findings) = 0"
    is_over = f"{is_settled} AND unix_millis(newest) - unix_millis(last_stored) > {keep_ms}"
    # An op message that waits for a half message which never comes is dropped, a transaction counted.
    new_roles = f"if({is_over}, if(role = '{WAITING_OP}', array(), array('{FORGOTTEN}')), array(role))"
    judged = _judged(merged, op_queue or OpQueue()).selectExpr("*", f"explode({new_roles}) AS new_role")
    values = {
        "role": "new_role",
        "identity": f"if(new_role = '{FORGOTTEN}', status, identity)",
        "half_offsets": f"if(new_role = '{FORGOTTEN}', array(), half_offsets)",
        "transactions": f"if(new_role = '{FORGOTTEN}', 1L, transactions)",
        "forgotten_checks": f"if(new_role = '{FORGOTTEN}', bigint(coalesce(checks, 0)), forgotten_checks)",
    }
    told = judged.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in FACT_COLUMNS))
    return told.unionByName(merged.where(f"role IN ('{BROKER}', '{FORGOTTEN}')"))


# --- the rules -------------------------------------------------------------------------------------------------------


def _judged(merged: DataFrame, queue: OpQueue) -> DataFrame:
    query = _JUDGED.format(
        columns=", ".join(FACT_COLUMNS), status=_status(queue), findings=_findings(queue), merged="{merged}"
    )
    return merged.sparkSession.sql(query, merged=merged)


def _status(queue: OpQueue) -> str:
    if queue.is_readable:
        undecided = f"'{Status.OPEN}'"
    else:
        behind_check = [
            f"(broker_name = {_quoted(broker_name)} AND last_half_offset < {offset})"
            for broker_name, offset in queue.check_offsets.items()
        ]
        is_behind = " OR ".join(behind_check) or "false"
        undecided = f"if({is_behind}, '{Status.ROLLED_BACK}', '{Status.NOT_COMMITTED}')"
    return f"""
        CASE WHEN role = '{WAITING_OP}' THEN NULL
             WHEN committed > 0 THEN '{Status.COMMITTED}'
             WHEN ops > 0 THEN '{Status.ROLLED_BACK}'
             WHEN given_up > 0 AND given_up_place > coalesce(last_half_place, -1) THEN '{Status.GIVEN_UP}'
             ELSE {undecided}
        END
    """


def _findings(queue: OpQueue) -> str:
    waits = f"role = '{WAITING_OP}' AND get(half_offsets, 0) BETWEEN first_offset AND last_offset"
    lost_half = f"role = '{TRANSACTION}' AND copies = 0 AND prepared_place BETWEEN first_place AND last_place"
    late = (
        f"({lost_half} AND prepared_place <= forgotten_place) OR ({waits} AND get(half_offsets, 0) <= forgotten_offset)"
    )
    rules = {
        Finding.COMMITTED_TWICE: "committed > 1",
        Finding.DECIDED_LATE: late,
        Finding.COMMITTED_WITHOUT_HALF: f"{lost_half} AND prepared_place > forgotten_place",
    }
    if queue.is_readable:
        rules |= {
            Finding.COMMITTED_AND_ROLLED_BACK: "copies > 0 AND committed > 0 AND ops > committed",
            Finding.ROLLED_BACK_TWICE: f"role = '{TRANSACTION}' AND committed = 0 AND ops > 1",
            Finding.COMMITTED_WITHOUT_OP: "copies > 0 AND committed > ops AND committed_place < ops_until",
            Finding.OP_WITHOUT_HALF: f"{waits} AND get(half_offsets, 0) > forgotten_offset",
        }
    found = ", ".join(f"if({rule}, '{finding}', NULL)" for finding, rule in rules.items())
    return f"array_compact(array({found}))"


def _quoted(text: str) -> str:
    """A string literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
