"""The progress of a learner as a file (:class:`app.picture.pages.lesson.ProgressFile`): from one browser to another, or
from a server to the site and back.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.lab.foundation.bounds import NAME_MAX
from app.lessons.progress import DoneStep, LessonStepDone
from app.picture.pages.lesson import ProgressFile, StoredStep
from engine.fields.field import Field, read_fields

FORMAT = "glassmq-lessons"
#: Steps in a file: several times as many as all lessons have.
STEPS_MAX = 400
#: The year 5138.
_SECOND_MAX = 10**11
_STEP = (
    Field("lesson", "text", 1, NAME_MAX),
    Field("step", "text", 1, NAME_MAX),
    Field("done_at", "number", 0, _SECOND_MAX),
    Field("prediction", "text", 0, NAME_MAX, default=""),
    Field("right", "switch", default=None),
)
_FILE = (
    Field("format", "choice", allowed=(FORMAT,)),
    Field("steps", "list", 0, STEPS_MAX, fields=_STEP),
)


def progress_file(steps: Iterable[LessonStepDone]) -> ProgressFile:
    """Return the content of the file."""
    rows: list[StoredStep] = [
        {
            "lesson": each.lesson,
            "step": each.done.step,
            "done_at": each.done_at,
            "prediction": each.done.prediction,
            "right": each.done.was_right,
        }
        for each in steps
    ]
    return {"format": FORMAT, "steps": rows}


def read_progress_file(data: object) -> list[LessonStepDone]:
    """Return the steps of a file. Raises :class:`~engine.fields.refusal.FieldRefused`."""
    return [
        LessonStepDone(row["lesson"], row["done_at"], DoneStep(row["step"], row["prediction"], row["right"]))
        for row in read_fields(_FILE, data)["steps"]
    ]
