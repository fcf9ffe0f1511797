"""The run that a command is given: by a link, an event, a time, or the scenario's key moment."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from app.foundation.option_types import usage_errors
from app.foundation.translator import translate
from engine.fields.refusal import FieldRefused

if TYPE_CHECKING:
    from engine.lab.run.recording import Recording
    from engine.lab.scenario.scenario import Scenario


@usage_errors()
def chosen_run(scenario_name: str, link: str | None, event: int | None = None, to_s: float | None = None) -> Recording:
    """Return the run up to event ``event``, up to ``to_s``, or up to where ``link`` leads; without any of them up to
    the scenario's key moment.
    """
    from app.commands.tool import load_scenario_argument
    from engine.lab.run.key_moment import key_moment_of
    from engine.lab.run.recording import Recording
    from engine.lab.run.run import LabRun

    scenario = load_scenario_argument(scenario_name)
    if link is None and event is None and to_s is None:
        return key_moment_of(scenario)
    recording = Recording(scenario, scenario.seed, (), 0, 0) if link is None else linked_run(scenario, link)
    if event is None and to_s is None:
        return recording
    with LabRun(recording.scenario, recording.seed, recording.commands, check=False) as run:
        if event is not None:
            run.run_events(event)
            if run.event_number < event:
                raise FieldRefused("--at", f"the run has no event {event}", f"0 to {run.event_number}")
        elif to_s is not None:
            run.run_to_time(min(round(to_s * 1_000), scenario.duration_ms) * 1_000)
        return run.recording()


@usage_errors()
def linked_run(scenario: Scenario, link: str) -> Recording:
    """Return the run of a link, or of what follows its #, up to where it leads; report it if that is elsewhere than
    when it was recorded. Raises ``click.UsageError`` for another scenario's.
    """
    from engine.lab.run.recording import parse_link
    from engine.lab.run.run import LabRun
    from engine.lab.scenario.errors import LabError

    with usage_errors(LabError, option="--link"):
        recording = parse_link(link.rpartition("#")[2])
    if recording.scenario.name != scenario.name:
        raise FieldRefused("--link", f"it leads to a run of {recording.scenario.name}", f"a run of {scenario.name}")
    with LabRun(recording.scenario, recording.seed, recording.commands, check=False) as run:
        run.stand_at(recording.event, recording.time_us)
        reason = run.difference_from(recording)
        if reason is not None:
            click.echo(translate("en", "lab.differs." + reason), err=True)
        # The commands that the run did not reach belong to what follows.
        return dataclasses.replace(run.recording(), commands=recording.commands)
