"""Runs a lesson as its author planned it: every step's action is carried out headless, in a world of its own.

It provides what the page shows before it has a world: figures, and the link to the world at the beginning of each step.
It is also the test of a lesson: :meth:`Rehearsal.problems`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.lab.views.world_view import WorldView
from app.lessons.judge import right_answers
from app.lessons.lesson import Lesson, LessonStep
from app.lessons.lesson_view import lesson_view
from app.picture.pages.lesson import LessonView
from engine.lab.run.recording import EVENTS_MAX
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.condition import Condition, ConditionKind


@dataclass(frozen=True, slots=True)
class RehearsedStep:
    """A step that was rehearsed.

    :ivar link: to the world at the beginning of the step.
    :ivar before, after: the world then.
    :ivar broken: names of the invariants that its action broke.
    """

    step: LessonStep
    link: str
    before: LessonView
    after: LessonView
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """All steps of a rehearsed lesson, in order."""

    steps: tuple[RehearsedStep, ...]

    @property
    def end(self) -> LessonView:
        """Return the view after the last step."""
        return self.steps[-1].after

    def problems(self) -> list[str]:
        """Return why a learner could not go through the lesson as it is written; empty when all is well."""
        found: list[str] = []
        for rehearsed in self.steps:
            name, condition = rehearsed.step.identity, rehearsed.step.done_when
            if sorted(rehearsed.broken) != sorted(rehearsed.step.breaks):
                found.append(f"{name}: it breaks {list(rehearsed.broken)}, not {list(rehearsed.step.breaks)}")
            if condition is not None and condition.holds(rehearsed.before):
                found.append(f"{name}: done_when is true before the action")
            if condition is not None and not condition.holds(rehearsed.after):
                found.append(f"{name}: done_when is false after the action")
            for number, claim in enumerate(rehearsed.step.says):
                if not claim.holds(rehearsed.after):
                    found.append(f"{name}: says[{number}] is false after the action")
            if rehearsed.step.prediction is not None:
                answers = right_answers(rehearsed.step.prediction, rehearsed.after)
                if len(answers) != 1:
                    found.append(f"{name}: {len(answers)} right answers, not one: {answers}")
        return found


#: Rehearsals by the lesson's name. A rehearsal depends on the lesson alone: all page servers of a process share it.
_known: dict[str, tuple[Lesson, Rehearsal]] = {}


def known_rehearsal(lesson: Lesson) -> Rehearsal | None:
    """Return the rehearsal of this very lesson, if :func:`rehearse_once` was called before. From any thread."""
    rehearsed, rehearsal = _known.get(lesson.name, (None, None))
    return rehearsal if rehearsed is lesson else None


def rehearse_once(lesson: Lesson) -> Rehearsal:
    """Return the same rehearsal as long as ``load_lesson`` returns the same lesson: until its author changes a file."""
    rehearsal = known_rehearsal(lesson)
    if rehearsal is None:
        rehearsal = rehearse(lesson)
        _known[lesson.name] = (lesson, rehearsal)
    return rehearsal


def rehearse(lesson: Lesson) -> Rehearsal:
    """Run through the whole lesson; takes some 100 ms."""
    steps: list[RehearsedStep] = []
    with LabRun(lesson.scenario) as run:
        world = WorldView(run)

        def look() -> LessonView:
            return lesson_view(world.build(), run.world.history)

        for action in lesson.begin():
            perform(run, action)
        for step in lesson.steps:
            link, before, known = run.link(), look(), len(run.violations)
            for action in step.actions:
                perform(run, action)
            broken = dict.fromkeys(violation.checker for violation in run.violations[known:])
            steps.append(RehearsedStep(step, link, before, look(), tuple(broken)))
        return Rehearsal(tuple(steps))


def pictured_link(lesson: Lesson) -> str:
    """Return the link to the world that the lesson's picture shows: in the middle of the lesson."""
    steps = rehearse(lesson).steps
    return steps[len(steps) // 2].link


def perform(run: LabRun, action: Mapping[str, Any]) -> None:
    """Do to ``run`` what the page does with ``action`` (see :mod:`app.lab.session.session`).

    Raises :class:`~engine.lab.scenario.errors.CommandRefused`.
    """
    fields = dict(action)
    if "command" in fields:
        run.apply(parse_command({"kind": fields.pop("command"), **fields}))
        return
    run.stops_at_violations, run.stops_at_breakpoints = True, False
    match fields.pop("control"):
        case "run-until":
            run.run_until(Condition(ConditionKind(fields.pop("on")), **fields), EVENTS_MAX)
        case "step-actor":
            run.step_actor(fields["actor"])
        case _:
            run.step()
