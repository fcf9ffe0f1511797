"""Findings of several tasks added up: each kind has its count, and none hides another."""

from __future__ import annotations

import random

import pytest

from engine.pipeline.jobs.transaction_reconciliation.summary import ReconciliationSummary
from engine.pipeline.jobs.transaction_reconciliation.words import TransactionAnomaly
from tests.support.pipeline.judged_facts import JudgedFacts
from tests.support.pipeline.transaction_log import TransactionLog


def summary_of(doubled: int, settled: int, rows_max: int) -> ReconciliationSummary:
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
    return JudgedFacts().read(log.rows).summary(rows_max)


def test_a_rare_kind_is_shown_next_to_a_frequent_one_and_both_are_counted():
    summary = summary_of(doubled=30, settled=2, rows_max=6)
    assert [row[0] for row in summary.finding_rows()] == [TransactionAnomaly.COMMITTED_AND_ROLLED_BACK] * 2 + [
        TransactionAnomaly.COMMITTED_TWICE
    ] * 4
    assert summary.finding_counts == {
        TransactionAnomaly.COMMITTED_AND_ROLLED_BACK: 2,
        TransactionAnomaly.COMMITTED_TWICE: 30,
    }


@pytest.mark.parametrize("seed", range(20))
def test_summaries_of_several_tasks_keep_what_one_task_would_keep(seed):
    choice = random.Random(seed)
    rows_max = choice.randrange(1, 12)
    kinds = list(TransactionAnomaly)
    found = [[choice.randrange(len(kinds)) // choice.choice((1, 3)), number, str(number), []] for number in range(60)]

    def summary(of_task: list) -> ReconciliationSummary:
        made = ReconciliationSummary(rows_max)
        counts = dict.fromkeys((kinds[place] for place, *_ in of_task), 0)
        for place, *_ in of_task:
            counts[kinds[place]] += 1
        # As a task does, and as it arrives at the driver.
        one = ReconciliationSummary(rows_max, findings=of_task, finding_counts=counts)
        made.update(ReconciliationSummary.decode(one.encode()))
        return made

    whole, parts = summary(found), ReconciliationSummary(rows_max)
    for task in range(3):
        parts.update(summary(found[task::3]))
    assert parts.findings == whole.findings
    assert len(parts.finding_rows()) == rows_max
    assert parts.finding_counts == whole.finding_counts
    assert parts.finding_count == 60
