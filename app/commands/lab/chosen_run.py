"""The run that a command is given: by a link, an event, a time, or the scenario's key moment."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from app.foundation.option_types import usage_errors
from engine.fields.refusal import FieldRefused

if TYPE_CHECKING:
    from engine.lab.run.recording import Recording
    from engine.lab.scenario.scenario import Scenario


def chosen_run(scenario_name: str, link: str | None, event: int | None = None, to_s: float | None = None) -> Recording:
    """Return the run up to event ``event``, up to ``to_s``, or up to where ``link`` leads; without any of them up to
    the scenario's key moment.
    """
    from app.commands.tool import load_scenario_argument
    from engine.lab.run.key_moment import key_moment_of
    from engine.lab.run.recording import Recording
    from engine.lab.run.run import LabRun

    scenario = load_scenario_argument(scenario_name)
    if link is not None:
        recording = linked_run(scenario, link)
    elif event is None and to_s is None:
        return key_moment_of(scenario)
    else:
        recording = Recording(scenario, scenario.seed, (), 0, 0)
    with LabRun(recording.scenario, recording.seed, recording.commands, check=False) as run:
        if event is not None:
            run.run_events(event)
        elif to_s is not None:
            run.run_to_time(min(round(to_s * 1_000), scenario.duration_ms) * 1_000)
        else:
            run.stand_at(recording.event, recording.time_us)
            if not run.is_at(recording):
                click.echo("The same seed and commands lead elsewhere here than when the link was made.", err=True)
        if event is not None and run.event_number < event:
            raise click.ClickException(f"--at {event}: the run ends with event {run.event_number}")
        return dataclasses.replace(run.recording(), time_us=run.now_us)


@usage_errors()
def linked_run(scenario: Scenario, link: str) -> Recording:
    """Return the run of a link, or of what follows its #. Raises ``click.UsageError`` for another scenario's."""
    from engine.lab.run.recording import parse_link

    recording = parse_link(link.rpartition("#")[2])
    if recording.scenario.name != scenario.name:
        raise FieldRefused("--link", f"it leads to a run of {recording.scenario.name}", f"a run of {scenario.name}")
    if recording.is_changed:
        click.echo("The scenario has changed since the link was made: other things may happen now.", err=True)
    return recording
