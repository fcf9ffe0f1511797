"""Rows of the result tables and points of the plots, out of judged transactions and transfers.

Everything that comes to the driver is a sum or is limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.pipeline.jobs.report import ROWS_MAX, Cell
from engine.pipeline.jobs.transaction_reconciliation.facts import FORGOTTEN, TRANSACTION
from engine.pipeline.jobs.transaction_reconciliation.ledgers import Agreement
from engine.pipeline.jobs.transaction_reconciliation.verdicts import UNSETTLED, Finding, Status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rows = list[Sequence[Cell]]
#: The longest windows that are named one by one.
LONGEST_MAX = 20
#: Points of a plot over the whole history.
_POINTS_MAX = 200

_STATUS_ORDER = (Status.OPEN, Status.NOT_COMMITTED, Status.GIVEN_UP, Status.ROLLED_BACK, Status.COMMITTED)
_UNSETTLED = ", ".join(f"'{status}'" for status in UNSETTLED)


def summary_rows(judged: DataFrame, merged: DataFrame) -> Rows:
    """(status, transactions, share, check-backs), those first that still need somebody."""
    now = judged.where(f"role = '{TRANSACTION}'").groupBy("status").agg({"*": "count", "checks": "sum"})
    before = (
        merged.where(f"role = '{FORGOTTEN}'")
        .groupBy("identity")
        .agg({"transactions": "sum", "forgotten_checks": "sum"})
    )
    counted: dict[str, tuple[int, int]] = {}
    # By position: Spark names the columns after the functions.
    for frame, columns in (
        (now, ("status", "count(1)", "sum(checks)")),
        (before, ("identity", "sum(transactions)", "sum(forgotten_checks)")),
    ):
        for status, count, checks in frame.select(*(f"`{column}`" for column in columns)).collect():
            known = counted.get(status, (0, 0))
            counted[status] = (known[0] + count, known[1] + (checks or 0))
    total = sum(count for count, _ in counted.values())
    return [
        [status.value, counted[status][0], counted[status][0] / total, counted[status][1]]
        for status in _STATUS_ORDER
        if status in counted
    ]


def open_rows(judged: DataFrame, now_ms: int) -> Rows:
    """(message, topic, producer group, key, status, since, age ms, check-backs, broker, half offset), oldest first."""
    found = judged.where(f"role = '{TRANSACTION}' AND status IN ({_UNSETTLED})").selectExpr(
        "identity",
        "topic",
        "producer_group",
        "key",
        "status",
        "unix_millis(born) AS born_ms",
        "coalesce(checks, 0) AS checks",
        "broker_name",
        "last_half_offset",
    )
    rows = found.orderBy("born_ms", "identity").limit(ROWS_MAX).collect()
    return [[*row[:6], max(0, now_ms - row["born_ms"]), *row[6:]] for row in rows]


def finding_rows(judged: DataFrame) -> Rows:
    """(finding, message, topic, key, commits, op messages, broker, 1), the worst first."""
    order = ", ".join(f"'{finding}'" for finding in Finding)
    found = judged.where("size(findings) > 0").selectExpr(
        "explode(findings) AS finding",
        "identity",
        "topic",
        "key",
        "committed",
        "ops",
        "broker_name",
        "last_stored",
    )
    ordered = found.selectExpr("*", f"array_position(array({order}), finding) AS place").orderBy(
        "place", "last_stored", "identity"
    )
    return [[*row[:7], 1] for row in ordered.limit(ROWS_MAX).collect()]


def finding_count(judged: DataFrame) -> int:
    """How many findings there are in all."""
    return int(judged.selectExpr("coalesce(sum(size(findings)), 0L)").collect()[0][0])


# --- windows of inconsistency ----------------------------------------------------------------------------------------

HALF_TO_COMMITTED = "half message stored -> committed message stored"
DEBIT_TO_CREDIT = "debit -> credit"


def message_windows(judged: DataFrame) -> DataFrame:
    """(key, from_ms, to_ms) of each committed transaction: how long the message was kept back."""
    return judged.where("half_stored IS NOT NULL AND committed_stored IS NOT NULL").selectExpr(
        "coalesce(key, identity) AS key",
        "unix_millis(half_stored) AS from_ms",
        "unix_millis(committed_stored) AS to_ms",
    )


def bank_windows(transfers: DataFrame) -> DataFrame:
    """(key, from_ms, to_ms) of each transfer that both banks have done."""
    return transfers.where("debited_ms IS NOT NULL AND credited_ms IS NOT NULL").selectExpr(
        "key", "debited_ms AS from_ms", "credited_ms AS to_ms"
    )


def window_row(what: str, windows: DataFrame) -> Sequence[Cell]:
    """(what, count, p50, p90, p99, longest), ms."""
    found = windows.selectExpr(
        "count(*)", "percentile_approx(to_ms - from_ms, array(0.5, 0.9, 0.99))", "max(to_ms - from_ms)"
    ).collect()[0]
    return [what, found[0], *(found[1] or [None] * 3), found[2]]


def longest_rows(what: str, windows: DataFrame) -> Rows:
    """(what, key, from, to, ms), the longest first."""
    longest = windows.selectExpr("key", "from_ms", "to_ms", "to_ms - from_ms AS window_ms")
    rows = longest.orderBy("window_ms", "key", ascending=[False, True]).limit(LONGEST_MAX).collect()
    return [[what, *row] for row in rows]


def level_over_time(changes: DataFrame) -> list[tuple[int, int]]:
    """(ms, level) at some 200 instants: the sum of all changes until then.

    :param changes: (at_ms, delta).
    """
    bounds = changes.selectExpr("min(at_ms)", "max(at_ms)").collect()[0]
    if bounds[0] is None:
        return []
    step_ms = max(1, -(-(bounds[1] - bounds[0] + 1) // _POINTS_MAX))
    bucket = f"(at_ms - {bounds[0]}) DIV {step_ms}"
    rows = changes.selectExpr(f"{bucket} AS bucket", "delta").groupBy("bucket").sum("delta").orderBy("bucket").collect()
    level, points = 0, []
    for number, delta in rows:
        level += delta
        points.append((bounds[0] + (number + 1) * step_ms - 1, level))
    return points


def open_changes(judged: DataFrame) -> DataFrame:
    """+1 when a half message is stored, -1 when it is decided."""
    transactions = judged.where("half_stored IS NOT NULL")
    decided = "least(op_stored, committed_stored)"
    return transactions.selectExpr("unix_millis(half_stored) AS at_ms", "1 AS delta").unionByName(
        transactions.where(f"{decided} IS NOT NULL").selectExpr(f"unix_millis({decided}) AS at_ms", "-1 AS delta")
    )


def money_changes(transfers: DataFrame) -> DataFrame:
    """+amount when it was debited, -amount when it was credited."""
    return (
        transfers.where("debited_ms IS NOT NULL")
        .selectExpr("debited_ms AS at_ms", "debited AS delta")
        .unionByName(
            transfers.where("credited_ms IS NOT NULL").selectExpr("credited_ms AS at_ms", "-credited AS delta")
        )
    )


# --- transfers -------------------------------------------------------------------------------------------------------


def agreement_sums(transfers: DataFrame) -> list[tuple[str, int, int, int]]:
    """(agreement, transfers, sum of debits, sum of credits)."""
    rows = transfers.groupBy("agreement").agg({"*": "count", "debited": "sum", "credited": "sum"})
    names = ("agreement", "count(1)", "sum(debited)", "sum(credited)")
    found = rows.select(*(f"`{name}`" for name in names)).collect()
    return [(agreement, count, debited or 0, credited or 0) for agreement, count, debited, credited in found]


def transfer_rows(transfers: DataFrame, bad: Sequence[str]) -> Rows:
    """(agreement, key, debited, credited, debited at, credited at, message, 0 or 1), unless the books agree."""
    order = ", ".join(f"'{agreement}'" for agreement in Agreement)
    found = (
        transfers.where(f"agreement <> '{Agreement.AGREED}'")
        .selectExpr("*", f"array_position(array({order}), agreement) AS place")
        .orderBy("place", "debited_ms", "key")
        .limit(ROWS_MAX)
    )
    columns = ("agreement", "key", "debited", "credited", "debited_ms", "credited_ms", "message")
    return [[*row, int(row[0] in bad)] for row in found.select(*columns).collect()]
