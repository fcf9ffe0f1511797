"""Portions of a sweep."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import RunLimitReached
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep import seed_chunk
from engine.lab.sweep.seed_chunk import SeedRange, SeedTask, cut_into_chunks, run_chunk, shorten_counterexample
from engine.lab.sweep.sweep import run_seed


@given(st.integers(0, 50), st.integers(1, 60), st.lists(st.integers(0, 110), max_size=40), st.integers(1, 9))
def test_each_seed_that_is_missing_is_in_one_portion(first, size, done, chunk):
    gone = set(done)
    ranges = [SeedRange(seed, 1) for seed in sorted(gone)]
    portions = list(cut_into_chunks(SeedRange(first, size), ranges, chunk))
    seeds = [seed for portion in portions for seed in range(portion.first, portion.end)]
    assert seeds == [seed for seed in range(first, first + size) if seed not in gone]
    assert all(1 <= portion.size <= chunk for portion in portions)


def test_a_seed_that_cannot_be_run_to_its_end_keeps_no_other_from_it(monkeypatch):
    def limited(scenario, seed, **options):
        if seed == 2:
            raise RunLimitReached("refusal.too_many_events", limit=5)
        return run_seed(scenario, seed, **options)

    monkeypatch.setattr(seed_chunk, "run_seed", limited)
    scenario = load_scenario("hello")
    summary = run_chunk(SeedTask("hello", scenario.text, False), SeedRange(1, 3))
    assert (summary.seeds, summary.bad, summary.unfinished_count) == (3, 0, 1)
    assert "5" in summary.unfinished[2]


def test_a_counterexample_is_made_shorter_and_still_replays():
    """Seed 17 of bank-naive has several faults; a full disk of ICBC alone is enough."""
    scenario = load_scenario("bank-naive")
    task = SeedTask(scenario.name, scenario.text, random_faults=True)
    found = run_chunk(task, SeedRange(17, 1)).findings["no-money-from-nowhere"].shortest
    short = shorten_counterexample(task, "no-money-from-nowhere", found)
    assert len(short.faults) == 1 < len(found.faults)
    with LabRun.replay(parse_link(short.link)) as again:
        assert dict(short.violation) in [violation.to_dict() for violation in again.violations]
