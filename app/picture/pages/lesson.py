"""A lesson as its page shows it: texts, questions without their answers, and how far a learner is.

Keys that end in ``html``, and ``question``, ``text`` and ``hints``, hold safe HTML; other texts are plain.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.foundation.json_types import JsonValue
from app.picture.world.world import Words, WorldPicture

#: What a learner predicts: the id of a choice, a number, or a target of the stage.
Answer = str | int | float


class LessonChoice(TypedDict):
    """A choice of a question."""

    id: str
    text: Words


class LessonQuestion(TypedDict):
    """What a step asks before anything happens."""

    kind: Literal["choice", "number", "click"]
    question: Words
    choices: list[LessonChoice]
    #: What may be clicked.
    targets: list[str]
    unit: Words | None


class ShownStep(TypedDict):
    """A step with the figures of the rehearsal."""

    id: str
    heading: Words
    html: Words
    #: Null until the step is done, or where it has none.
    after_html: Words | None
    #: Targets: app/lessons/stage_targets.py.
    point_at: list[str]
    #: By target: what to look for there.
    look_for: dict[str, Words]
    predict: LessonQuestion | None
    hints: list[Words]
    #: What the step's button sends, in order: {control: "run-until", on, node?, contains?} is the event "control" with
    #: {action: "run-until", ...}, {command: "crash", target} is "command" with {kind: "crash", target}; the next one
    #: waits until nothing plays and nothing is busy. Empty: a step to read.
    action: list[dict[str, JsonValue]]
    #: Null without an action.
    action_name: Words | None
    #: Opens the world as the step finds it.
    start_link: str


class NeededLesson(TypedDict):
    """A lesson that another one builds on."""

    number: int
    name: str


class MadePrediction(TypedDict):
    """A prediction of a done step, as it is stored."""

    prediction: str
    right: bool | None


class LessonProgress(TypedDict):
    """How far a browser is with a lesson."""

    #: Ids of the steps that it has done.
    progress: list[str]
    #: By id of the step.
    predictions: dict[str, MadePrediction]


class ShownLesson(LessonProgress):
    """What the page of a lesson is given."""

    name: str
    scenario: str
    minutes: int
    title: Words
    intro_html: Words
    summary_html: Words
    needs: list[NeededLesson]
    #: Actions that bring the world to where the lesson begins. Empty: at its first event.
    begin: list[dict[str, JsonValue]]
    steps: list[ShownStep]
    #: Names in the order of the course.
    next: str | None
    previous: str | None


class JudgedPrediction(TypedDict):
    """Whether a prediction was right, by the learner's world."""

    right: bool
    #: Null: nothing was right there, or it is not known any more.
    answer: Answer | None
    #: Why a wrong one is wrong, where the lesson has a text for it.
    why: NotRequired[Words | None]


class StepCheck(TypedDict):
    """Whether a step is done in the learner's world, as it is looked at."""

    done: bool
    was_done: bool
    html: Words
    after_html: Words | None
    prediction: JudgedPrediction | None


class CheckedStep(StepCheck, LessonProgress):
    """The check of a step, and how far the browser is now."""


class LessonView(WorldPicture):
    """The world that a lesson's expressions are about, with what its clients have done."""

    #: By kind: entries of ``engine.lab.nodes.history.LabHistory``.
    history: dict[str, list[dict[str, JsonValue]]]


class LessonRow(TypedDict):
    """A lesson in the list."""

    name: str
    number: int
    needs: list[NeededLesson]
    title: Words
    intro: Words
    minutes: int
    #: How many.
    steps: int
    done_steps: int
    finished: bool


class TrackRow(TypedDict):
    """A track in the list of lessons."""

    identity: str
    title: Words
    lessons: list[LessonRow]
    #: Theme -> address.
    pictures: dict[str, str]
    minutes: int
    #: How many lessons.
    finished: int
    #: The first lesson that is not finished; null when all are.
    next: LessonRow | None


class StoredStep(TypedDict):
    """A done step in a file."""

    lesson: str
    step: str
    #: Seconds since 1970.
    done_at: float
    #: Empty where none was made.
    prediction: str
    right: bool | None


class ProgressFile(TypedDict):
    """The progress of a learner as a file."""

    format: str
    steps: list[StoredStep]


class ImportedProgress(TypedDict):
    """How many steps of a file were taken, and how many are of no lesson."""

    taken: int
    unknown: int
