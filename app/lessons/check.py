"""Checks whether a step is done, in the learner's world. Used in the lab's thread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from app.foundation.json_types import JsonObject
from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.refusal import LabRefused
from app.lab.session.session import WorldSession
from app.lessons.judge import Answer, judge
from app.lessons.lesson import ChoicePrediction, ClickPrediction, Lesson, LessonStep
from app.lessons.lesson_page import after_html, body_html, why_wrong_html
from app.lessons.lesson_view import lesson_view
from app.lessons.progress import DoneStep
from app.lessons.rehearsal import Rehearsal

_FIELDS = ("world", "step", "prediction")


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A page's request: whether ``step`` is done in ``world``, and whether the prediction was right."""

    world: str
    step: LessonStep
    prediction: Answer | None

    def done_step(self, verdict: JsonObject | None) -> DoneStep:
        """Return what is stored of the done step."""
        if verdict is None or self.prediction is None:
            return DoneStep(self.step.identity)
        return DoneStep(self.step.identity, str(self.prediction), bool(verdict["right"]))


def read_check(data: object, lesson: Lesson) -> CheckRequest:
    """Read a request. Raises :class:`LabRefused`."""
    if not isinstance(data, dict) or any(field not in _FIELDS for field in data):
        raise LabRefused("bad_request", problem=f"check: {' | '.join(_FIELDS)}")
    world, identity = data.get("world"), data.get("step")
    if not isinstance(world, str) or not 0 < len(world) <= NAME_MAX:
        raise LabRefused("bad_request", problem="check.world: text")
    step = lesson.step(identity) if isinstance(identity, str) else None
    if step is None:
        known = ", ".join(step.identity for step in lesson.steps)
        raise LabRefused("no_step", step=str(identity)[:NAME_MAX], known=known)
    return CheckRequest(world, step, _read_prediction(data.get("prediction"), step))


def _read_prediction(value: object, step: LessonStep) -> Answer | None:
    if value is None:
        return None
    match step.prediction:
        case None:
            allowed = "null"
        case ChoicePrediction(choices):
            if isinstance(value, str) and value in choices:
                return value
            allowed = " | ".join(choices)
        case ClickPrediction():
            if isinstance(value, str) and len(value) <= NAME_MAX:
                return value
            allowed = f"text, <= {NAME_MAX}"
        case _:
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                return value
            allowed = "number"
    raise LabRefused("bad_request", problem=f"check.prediction: {allowed}")


def check_step(
    lesson: Lesson,
    request: CheckRequest,
    session: WorldSession,
    rehearsal: Rehearsal,
    done: Mapping[str, DoneStep],
) -> JsonObject:
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
