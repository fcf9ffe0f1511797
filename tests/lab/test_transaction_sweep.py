"""Every scenario with transactions under random faults: half messages are decided in the end, and none is consumed.

A thousand seeds of each take a minute of processor time. Here a few of them run; continuous integration asks for all
(``.ci/run``), as anybody can: ``GLASSMQ_SWEEP_SEEDS=1000 make test TESTS=tests/lab/test_transaction_sweep.py``.
"""

from __future__ import annotations

import pytest

from engine.lab.run import LabRun
from engine.lab.scenario import Role
from engine.lab.scenario_files import load_scenario, preset_scenario_names
from engine.lab.sweep import run_seed
from tests.support.sweep_seeds import sweep_seeds

SEEDS = sweep_seeds(20)


def _has_transactions_and_faults(name: str) -> bool:
    scenario = load_scenario(name)
    sends_in_transactions = any(spec.transaction is not None for spec in scenario.of_role(Role.PRODUCER))
    return sends_in_transactions and bool(scenario.fault_model.kinds)


SCENARIOS = [name for name in preset_scenario_names() if _has_transactions_and_faults(name)]


def test_each_has_the_two_invariants_of_transactions():
    assert len(SCENARIOS) >= 6
    for name in SCENARIOS:
        with LabRun(load_scenario(name)) as run:
            assert run.checkers is not None
            names = {checker.name for checker in run.checkers.checkers}
            assert {"half-messages-are-decided", "no-half-message-consumed"} <= names


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENARIOS)
def test_random_faults_violate_nothing(name):
    scenario = load_scenario(name)
    results = [run_seed(scenario, seed) for seed in range(1, SEEDS + 1)]
    bad = {result.seed: [violation["text"]["en"] for violation in result.violations] for result in results}
    assert {seed: texts for seed, texts in bad.items() if texts} == {}
    assert len({result.journal_hash for result in results}) == SEEDS, "every seed has a fate of its own"
    assert sum(result.faults for result in results) > 2 * SEEDS
