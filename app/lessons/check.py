"""Checks whether a step is done, in the learner's world. Used in the lab's thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.refusal import LabRefused, fields_refused
from app.lab.session.session import WorldSession
from app.lessons.judge import judge
from app.lessons.lesson import ChoicePrediction, ClickPrediction, Lesson, LessonStep
from app.lessons.lesson_page import after_html, body_html, why_wrong_html
from app.lessons.lesson_view import lesson_view
from app.lessons.progress import DoneStep
from app.lessons.rehearsal import Rehearsal
from app.picture.pages.lesson import Answer, JudgedPrediction, StepCheck
from engine.fields.field import EXACT_MAX, Field, read_fields, read_tag
from engine.texts import plain

_WORLD = Field("world", "text", 1, NAME_MAX)


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A page's request: whether ``step`` is done in ``world``, and whether the prediction was right."""

    world: str
    step: LessonStep
    prediction: Answer | None

    def done_step(self, verdict: JudgedPrediction | None) -> DoneStep:
        """Return what is stored of the done step."""
        if verdict is None or self.prediction is None:
            return DoneStep(self.step.identity)
        return DoneStep(self.step.identity, str(self.prediction), bool(verdict["right"]))


@fields_refused()
def read_check(data: object, lesson: Lesson) -> CheckRequest:
    """Read a request. Raises :class:`LabRefused`."""
    identity = read_tag("step", (step.identity for step in lesson.steps), data, "check")
    step = next(step for step in lesson.steps if step.identity == identity)
    world, answer = read_fields((_WORLD, _prediction_field(step)), data, "check", also=("step",)).values()
    if isinstance(answer, float) and answer.is_integer():  # a figure is written without decimals, and judged as written
        answer = int(answer)
    return CheckRequest(world, step, answer)


def _prediction_field(step: LessonStep) -> Field:
    """Return the field of a prediction, which may always be absent."""
    match step.prediction:
        case None:
            return Field("prediction", "choice", default=None, says=plain("null"))
        case ChoicePrediction(choices):
            return Field("prediction", "choice", default=None, allowed=tuple(choices))
        case ClickPrediction():
            return Field("prediction", "text", 0, NAME_MAX, default=None)
        case _:
            return Field("prediction", "number", -EXACT_MAX, EXACT_MAX, default=None)


def check_step(
    lesson: Lesson,
    request: CheckRequest,
    session: WorldSession,
    rehearsal: Rehearsal,
    done: Mapping[str, DoneStep],
) -> StepCheck:
    """Return the answer to the page, without the progress. Raises :class:`LabRefused`."""
    if session.scenario != lesson.scenario.name:
        raise LabRefused("wrong_world", scenario=lesson.scenario.name)
    step = request.step
    view = lesson_view(session.player.shown_view(), session.player.run.world.history)
    is_done = step.done_when is None or step.done_when.holds(view)
    verdict = None
    if is_done and step.prediction is not None and request.prediction is not None:
        judged = judge(step.prediction, request.prediction, view)
        verdict = judged.as_json()
        if not judged.is_right:
            verdict["why"] = why_wrong_html(lesson, step, request.prediction, judged, view)
    after = None
    if is_done:
        after = after_html(lesson, step, view)
    elif step.identity in done:
        # The step was done before, in a world that is gone or was taken back: the figures are those of the rehearsal.
        rehearsed = next(entry for entry in rehearsal.steps if entry.step is step)
        after = after_html(lesson, step, rehearsed.after)
    return {
        "done": is_done,
        "was_done": step.identity in done,
        "html": body_html(lesson, step, view),
        "after_html": after,
        "prediction": verdict,
    }
