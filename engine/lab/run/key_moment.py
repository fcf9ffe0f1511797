"""Positioning at the moment of a scenario that its picture shows, see
:class:`engine.lab.scenario.scenario.KeyMoment`.
"""

from __future__ import annotations

import dataclasses

from engine.lab.run.recording import EVENTS_MAX, Recording
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Scenario


class NoKeyMoment(Exception):
    """The scenario names no key moment, or it does not come; the text says which."""


def key_moment_of(scenario: Scenario) -> Recording:
    """Return the run of ``scenario`` at its key moment. Raises :class:`NoKeyMoment`."""
    moment = scenario.key_moment
    if moment is None:
        raise NoKeyMoment(f"the scenario {scenario.name} names no key_moment")
    with LabRun(scenario, check=moment.until is None) as run:
        for line in moment.actions:
            run.run_to_time(line.at_ms * 1_000)
            run.apply(line.command)
        run.run_to_time(moment.from_ms * 1_000)
        if moment.until is None:
            known = len(run.violations)
            run.stops_at_violations = True
            run.run_events(EVENTS_MAX)
            comes = len(run.violations) > known
        else:
            comes = run.run_until(moment.until, EVENTS_MAX)
        if not comes:
            raise NoKeyMoment(f"the key_moment of {scenario.name} does not come: {moment.until or 'no violation'}")
        return dataclasses.replace(run.recording(), time_us=run.now_us + round(moment.plus_ms * 1_000))
