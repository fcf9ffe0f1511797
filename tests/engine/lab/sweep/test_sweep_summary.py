"""The report of many seeds: the same for any workers, chunks and order."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from engine.lab.scenario.scenario import FaultKind
from engine.lab.sweep.sweep import SeedResult
from engine.lab.sweep.sweep_summary import KEPT_IN_FULL, SweepSummary

CHECKERS = ("order-per-queue", "money-is-conserved")


@st.composite
def seed_results(draw):
    """Results of distinct seeds."""
    seeds = draw(st.lists(st.integers(0, 200), unique=True, max_size=25))
    return [_result(draw, seed) for seed in seeds]


def _result(draw, seed):
    kinds = tuple(draw(st.lists(st.sampled_from((FaultKind.CRASH, FaultKind.LOSS, FaultKind.DISK)), max_size=3)))
    names = draw(st.lists(st.sampled_from(CHECKERS), max_size=3))
    violations = tuple(violation(name, draw(st.integers(1, 9))) for name in names)
    return SeedResult(seed, 100, 5, f"hash{seed}", violations, "link" if violations else "", kinds)


def violation(checker, event):
    return {"checker": checker, "anomaly": "duplicate", "event": event, "time_us": 1, "text": {"en": "x", "zh": "x"}}


def summed(results):
    summary = SweepSummary()
    for result in results:
        summary.add(result)
    return summary


@given(seed_results(), st.randoms(use_true_random=False), st.integers(0, 25))
def test_portions_and_order_make_no_difference(results, chance, cut):
    shuffled = list(results)
    chance.shuffle(shuffled)
    merged = summed(shuffled[:cut])
    merged.merge(summed(shuffled[cut:]))
    assert merged == summed(results)


@given(seed_results())
def test_a_summary_survives_json(results):
    summary = summed(results)
    assert SweepSummary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary


def test_a_run_counts_once_for_each_kind_and_each_invariant():
    twice = (violation("order-per-queue", 5), violation("order-per-queue", 6))
    summary = summed(
        [
            SeedResult(1, 10, 2, "a", twice, "one", (FaultKind.CRASH, FaultKind.CRASH)),
            SeedResult(2, 10, 2, "b", twice, "two", (FaultKind.CRASH, FaultKind.LOSS)),
            SeedResult(3, 10, 2, "c", (), "", (FaultKind.LOSS,)),
        ]
    )
    crash, loss = summary.kinds[FaultKind.CRASH], summary.kinds[FaultKind.LOSS]
    assert (crash.runs, crash.bad, crash.alone, crash.alone_bad) == (2, 2, 1, 1)
    assert (loss.runs, loss.bad, loss.alone, loss.alone_bad) == (2, 1, 1, 0)
    assert summary.findings["order-per-queue"].runs == 2
    assert summary.bad == 2


def test_the_shortest_counterexample_has_fewest_faults_then_fewest_events():
    summary = summed(
        [
            SeedResult(1, 10, 2, "a", (violation("order-per-queue", 3),), "", (FaultKind.CRASH, FaultKind.LOSS)),
            SeedResult(2, 10, 2, "b", (violation("order-per-queue", 9),), "", (FaultKind.CRASH,)),
            SeedResult(3, 10, 2, "c", (violation("order-per-queue", 8),), "", (FaultKind.DISK,)),
        ]
    )
    assert summary.findings["order-per-queue"].shortest.seed == 3


def test_two_sweeps_with_another_journal_have_another_fingerprint():
    one, other = SeedResult(1, 10, 0, "a", (), ""), SeedResult(1, 10, 0, "b", (), "")
    assert summed([one]).fingerprint != summed([other]).fingerprint


def test_a_summary_stays_small_however_much_is_violated():
    summary = summed(
        SeedResult(seed, 10, 1, "a", (violation("order-per-queue", 5),), "x", (FaultKind.CRASH,))
        for seed in range(2_000)
    )
    assert (summary.bad, len(summary.bad_seeds), len(summary.reported)) == (2_000, 1_000, KEPT_IN_FULL)
    for seed in range(2_000, 2_100):
        summary.add_unfinished(seed, "too many events")
    assert (summary.unfinished_count, list(summary.unfinished)) == (100, list(range(2_000, 2_000 + KEPT_IN_FULL)))
