"""Findings of several kinds: each has its count, and none hides another."""

from __future__ import annotations

from engine.pipeline.jobs.transaction_reconciliation.words import TransactionAnomaly
from tests.support.pipeline.judged_facts import JudgedFacts
from tests.support.pipeline.transaction_log import TransactionLog


def summary_of(spark, doubled, settled, rows_max):
    """So many transactions that were committed twice, and so many that were committed and rolled back."""
    log = TransactionLog()
    for number in range(doubled):
        log.half(f"d{number}")
        log.commit(f"d{number}")
        log.commit(f"d{number}")
    for number in range(settled):
        log.half(f"s{number}")
        log.commit(f"s{number}")
        log.roll_back(f"s{number}")
    return JudgedFacts(spark).read(log.rows).summary(rows_max)


def test_a_rare_kind_is_shown_next_to_a_frequent_one_and_both_are_counted(spark):
    summary = summary_of(spark, doubled=30, settled=2, rows_max=6)
    assert [row[0] for row in summary.finding_rows()] == [TransactionAnomaly.COMMITTED_AND_ROLLED_BACK] * 2 + [
        TransactionAnomaly.COMMITTED_TWICE
    ] * 4
    # The oldest of each kind.
    assert [row[1] for row in summary.finding_rows()] == ["s0", "s1", "d0", "d1", "d2", "d3"]
    assert summary.finding_counts == {
        TransactionAnomaly.COMMITTED_AND_ROLLED_BACK: 2,
        TransactionAnomaly.COMMITTED_TWICE: 30,
    }
