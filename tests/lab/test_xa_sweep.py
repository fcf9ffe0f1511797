"""Two-phase commit under random faults: branches agree and money is conserved, whatever crashes, is lost or late."""

from __future__ import annotations

from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.sweep import run_seed
from tests.support.lab.xa_scenarios import TEXT

#: The long sweep runs with all presets in CI; this one is a quick look.
SEEDS = 30


def test_random_faults_break_no_promise():
    scenario = parse_scenario(TEXT, "xa-test")
    results = [run_seed(scenario, seed) for seed in range(SEEDS)]
    assert [(result.seed, result.violations) for result in results if result.violations] == []
    assert sum(result.faults for result in results) > SEEDS
