"""When the random faults of a seed begin."""

from __future__ import annotations

from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.fault_plan import FAULTS_OVER_AT, draw_faults


def test_faults_begin_while_there_is_traffic_that_they_can_harm():
    """The last message before all faults are over is due at 9.5 s; those of the second wave come when they are over."""
    scenario = load_scenario("general")
    faults = [fault for seed in range(300) for fault in draw_faults(scenario, seed)]
    begins = [fault.begin.time_ms for fault in faults]
    assert 0 < min(begins) < 500 and 14_000 < max(begins) <= 9_500 + 5_000
    ends = [fault.end.time_ms for fault in faults if fault.end is not None]
    assert max(ends) <= scenario.duration_ms * FAULTS_OVER_AT
    assert all(fault.end is None or fault.begin.time_ms < fault.end.time_ms for fault in faults)
