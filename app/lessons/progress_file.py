"""The progress of a learner as a file: from one browser to another, or from a server to the site and back.

``{"format": "glassmq-lessons", "steps": [{"lesson", "step", "done_at", "prediction", "right"}]}``; ``done_at``: seconds
since 1970, ``prediction``: text, empty where none was made, ``right``: true, false or null.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.foundation.json_types import JsonObject
from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.refusal import LabRefused
from app.lessons.progress import DoneStep, LessonStepDone

FORMAT = "glassmq-lessons"
#: Steps in a file: several times as many as all lessons have.
STEPS_MAX = 400
#: The year 5138.
_SECOND_MAX = 10**11


def progress_file(steps: Iterable[LessonStepDone]) -> JsonObject:
    """Return the content of the file."""
    rows: list[JsonObject] = [
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
    """Return the steps of a file. Raises :class:`LabRefused`, which names what is wrong and what is allowed."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _refused("format", FORMAT)
    steps = data.get("steps")
    if not isinstance(steps, list) or len(steps) > STEPS_MAX:
        raise _refused("steps", f"[...], <= {STEPS_MAX}")
    return [_read_step(f"steps[{number}]", step) for number, step in enumerate(steps)]


def _read_step(path: str, row: object) -> LessonStepDone:
    if not isinstance(row, dict):
        raise _refused(path, "{lesson, step, done_at, prediction, right}")
    for name in ("lesson", "step", "prediction"):
        if not isinstance(row.get(name), str) or len(row[name]) > NAME_MAX:
            raise _refused(f"{path}.{name}", f"text, <= {NAME_MAX}")
    done_at, right = row.get("done_at"), row.get("right")
    if not isinstance(done_at, int | float) or isinstance(done_at, bool) or not 0 <= done_at <= _SECOND_MAX:
        raise _refused(f"{path}.done_at", f"0 .. {_SECOND_MAX}")
    if right is not None and not isinstance(right, bool):
        raise _refused(f"{path}.right", "true | false | null")
    return LessonStepDone(row["lesson"], float(done_at), DoneStep(row["step"], row["prediction"], right))


def _refused(path: str, allowed: str) -> LabRefused:
    return LabRefused("bad_request", problem=f"{path}: {allowed}")
