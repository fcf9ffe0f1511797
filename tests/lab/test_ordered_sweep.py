"""Ordered consumption under random faults: with all locks on, no seed breaks the order."""

from __future__ import annotations

import pytest

from engine.lab.scenario_files import load_scenario
from engine.lab.sweep import run_seed

SEEDS = 12


@pytest.mark.parametrize("name", ["three-locks", "global-order", "rebalance-join-leave"])
def test_random_faults_within_the_lease_model_break_no_order(name):
    scenario = load_scenario(name)
    assert scenario.fault_model.kinds
    bad = {
        seed: [violation["text"]["en"] for violation in result.violations]
        for seed in range(SEEDS)
        if (result := run_seed(scenario, seed)).violations
    }
    assert bad == {}


def test_the_price_of_more_queues_is_the_order_of_the_keys_that_move():
    """The one scenario whose invariants break by design: modulo moves more orders than the ring does."""
    result = run_seed(load_scenario("selector-and-queue-count"), 1)
    assert {violation["checker"] for violation in result.violations} == {"order-per-key"}
    topics = [violation["element"]["topic"] for violation in result.violations]
    assert topics.count("ByModulo") > topics.count("ByRing")
