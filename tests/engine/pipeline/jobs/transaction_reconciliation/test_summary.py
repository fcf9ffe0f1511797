"""Findings of several kinds: each has its count, and none hides another."""

from __future__ import annotations

import pytest

from engine.pipeline.jobs.report import ALL_ROWS
from engine.pipeline.jobs.transaction_reconciliation import summary as summary_module
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


@pytest.fixture(scope="module")
def decided_late(spark):
    """Four transactions that are forgotten and then committed: eight findings, as the op messages wait for theirs."""
    log, stream = TransactionLog(), JudgedFacts(spark, keep_ms=30_000)
    halves = [log.half(f"t{number}") for number in range(4)]
    for number in range(4):
        log.roll_back(f"t{number}")
    for _ in range(2):
        log.now_ms += 60_000
        log.half(f"later {log.now_ms}")
        log.roll_back(f"later {log.now_ms - 1}")
        stream.read(log.rows)
        log.rows.clear()
    for number, half in enumerate(halves):
        log.now_ms += 60_000
        log.commit(f"t{number}", half)
    return stream.read(log.rows)


@pytest.mark.parametrize("rows_max", [1, 3, ALL_ROWS])
def test_counts_of_findings_do_not_depend_on_how_many_are_shown(decided_late, rows_max):
    summary = decided_late.summary(rows_max)
    assert summary.finding_counts == {TransactionAnomaly.DECIDED_LATE: 4}
    assert [row[1] for row in summary.finding_rows()] == ["t0", "t1", "t2", "t3"][:rows_max]


@pytest.mark.parametrize(("paired", "count"), [(8, 4), (4, 6), (0, 8)])
def test_of_too_many_only_the_oldest_are_paired(decided_late, paired, count, monkeypatch):
    monkeypatch.setattr(summary_module, "PAIRED_MAX", paired)
    for rows_max in (1, ALL_ROWS):
        assert decided_late.summary(rows_max).finding_counts == {TransactionAnomaly.DECIDED_LATE: count}
