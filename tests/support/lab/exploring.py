"""Searches that run to their end."""

from __future__ import annotations

from typing import Any

from engine.lab.explorer.exploration import Counterexample, Exploration, ExplorationState
from engine.lab.explorer.plan import ExplorationRequest, make_plan
from engine.lab.scenario.scenario import Scenario


def explore(scenario: Scenario, **options: Any) -> ExplorationState:
    """What a search has come to; ``options`` are fields of the request."""
    exploration = Exploration(make_plan(ExplorationRequest(scenario, **options)))
    for _ in exploration.steps():
        pass
    return exploration.state


def found_by(scenario: Scenario, **options: Any) -> Counterexample:
    """What it finds; it must find something."""
    finding = explore(scenario, **options).finding
    assert finding is not None
    return finding
