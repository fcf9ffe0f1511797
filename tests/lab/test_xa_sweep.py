"""Two-phase commit under random faults: branches agree and money is conserved, whatever crashes, is lost or late."""

from __future__ import annotations

import pytest

from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.sweep import run_seed
from tests.support.lab.xa_scenarios import TEXT

#: The long sweep runs with all presets in CI; this one is a quick look.
pytestmark = pytest.mark.seeds(quick=10, full=30)


def test_random_faults_break_no_promise(seeds):
    scenario = parse_scenario(TEXT, "xa-test")
    results = [run_seed(scenario, seed) for seed in range(seeds)]
    assert [(result.seed, result.violations) for result in results if result.violations] == []
    assert sum(result.faults for result in results) > seeds
