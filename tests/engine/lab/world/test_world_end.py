"""When a world is over: after all that is due at its end, in whatever steps it was run."""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario


@pytest.mark.parametrize("name", ["hello", "three-locks"])
def test_a_run_ends_with_the_same_event_in_whatever_steps_it_is_run(name):
    ends = set()
    for at_once in (1, 7, 100_000):
        with LabRun(load_scenario(name)) as run:
            while not run.world.is_over and run.run_events(at_once):
                pass
            ends.add((run.event_number, run.world.journal.hash))
    assert len(ends) == 1
