"""Asks why of a scenario to which something was done, and looks at what every answer must keep."""

from functools import cache

from engine.lab.run.recording import Recording
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.why.answer import STEP_KINDS, STEPS_MAX
from engine.lab.why.why_run import why

#: (milliseconds, command); of ``drop-frame`` with the name of a frame instead of its time: the next one under way.
TimedActions = tuple[tuple[int, tuple[tuple[str, object], ...]], ...]


@cache
def played(name: str, to_ms: int | None = None, actions: TimedActions = ()) -> tuple[Recording, dict[int, str]]:
    """A run of a scenario (its name, or its text) as it stands there, and who acted at each event."""
    with LabRun(parse_scenario(name, "own") if "\n" in name else load_scenario(name), check=False) as run:
        for at_ms, fields in actions:
            run.run_to_time(at_ms * 1_000)
            run.apply(parse_command(_with_due_time(run, dict(fields))))
        run.run_to_time(run.world.end_us if to_ms is None else to_ms * 1_000)
        return run.recording(), {entry.number: entry.actor for entry in run.world.journal.entries}


def _with_due_time(run, fields):
    """As a command has them; for a frame under way the run goes on until it is sent."""
    fields.update({name: list(value) for name, value in fields.items() if isinstance(value, tuple)})
    if fields["kind"] == "drop-frame":
        wanted, sent = fields.pop("frame"), run.world.witness.frames
        begin = sent.count
        while not (due_us := _due_us(sent, begin, wanted, fields["target"])):
            assert run.step(), f"no {wanted} over {fields['target']}"
        fields["due_us"] = due_us
    return fields


def _due_us(sent, begin, wanted, link):
    """When the first frame with that name arrives that was sent over the link after parcel ``begin``."""
    for one in sent.after(begin):
        if one.copies and one.is_frame and (f"{one.source}->{one.target}", sent.name_of(one)) == (link, wanted):
            return one.arrives_us
    return None


def asked(name, key, question, group=None, to_ms=None, actions=()):
    """The answer to one question, its steps checked: they happened, by the node that they name."""
    recording, actors = played(name, to_ms, actions)
    answers = why(recording, key).answers
    found = [one for one in answers if one.question is question and group in (None, one.group)]
    assert found, [(one.question, one.group, one.cause) for one in answers]
    one = found[0]
    assert 0 < len(one.steps) <= STEPS_MAX
    for step in one.steps:
        assert step.kind in STEP_KINDS
        assert step.text["en"]
        assert step.text["zh"]
        assert (step.event > recording.event) is step.is_ahead
        if step.kind in ("message", "listener", "offset", "lock") and not step.is_ahead:
            actor = actors[step.event]
            assert step.node in (actor.partition("/")[0], actor.partition("->")[2].partition("#")[0]), (step, actor)
    return one


def keys_of(steps):
    """What the steps tell."""
    return [step.text.key.removeprefix("why.step.").removeprefix("why.") for step in steps]
