"""A lesson: what a learner reads, predicts and does, and what must then be true in a real engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.foundation.json_types import JsonValue
from app.lessons.expression import LessonExpression
from app.lessons.lesson_text import LessonText
from app.lessons.prose import Prose
from app.lessons.stage_targets import StageTarget
from engine.lab.scenario.scenario import Scenario

#: The keys of the texts for a predicted number that is too small or too large.
LESS, MORE = "less", "more"

#: Language -> text.
InEachLanguage = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChoicePrediction:
    """A prediction of one of several claims. Exactly one is true after the action."""

    choices: Mapping[str, LessonExpression]


@dataclass(frozen=True, slots=True)
class NumberPrediction:
    """A prediction of a number in the engine."""

    answer: LessonExpression
    unit: InEachLanguage | None


@dataclass(frozen=True, slots=True)
class ClickPrediction:
    """A prediction of a thing on the stage, by a click.

    :ivar targets: what may be clicked -> whether it is right.
    """

    targets: Mapping[StageTarget, LessonExpression]


Prediction = ChoicePrediction | NumberPrediction | ClickPrediction


@dataclass(frozen=True, slots=True)
class LessonStep:
    """One step, without its texts.

    :ivar actions: what the step's button sends, in order: controls (``{control: run-until, on: sent}``) and commands
        (``{command: crash, target: B1}``). A step without any is a step to read.
    :ivar done_when: the condition on the world for the step to be done. None: reading is enough.
    :ivar breaks: names of the invariants that the action breaks; the step is there to show that.
    :ivar says: claims of the texts as expressions, which must be true after the action.
    """

    identity: str
    point_at: tuple[StageTarget, ...]
    prediction: Prediction | None
    actions: tuple[dict[str, JsonValue], ...]
    done_when: LessonExpression | None
    breaks: tuple[str, ...] = ()
    says: tuple[LessonExpression, ...] = ()

    def choices(self) -> list[str]:
        """Return the ids of a choice's answers."""
        return list(self.prediction.choices) if isinstance(self.prediction, ChoicePrediction) else []

    def wrong_answers(self) -> list[str]:
        """Return the wrong answers that the texts may explain: the ids of a choice, the names of targets, or the
        direction in which a number is off (also single numbers).
        """
        match self.prediction:
            case None:
                return []
            case NumberPrediction():
                return [LESS, MORE]
            case ClickPrediction(targets):
                return [str(target) for target in targets]
            case ChoicePrediction(choices):
                return list(choices)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson.

    :ivar name: the name of the folder and of the scenario: ``01-first-message``.

    :ivar minutes: how long it takes.
    :ivar begin_ms: the virtual time at which the lesson begins; the texts refer to the world at that time.
    :ivar texts: by language.
    """

    name: str
    minutes: int
    begin_ms: int
    scenario: Scenario
    steps: tuple[LessonStep, ...]
    texts: Mapping[str, LessonText]

    def begin(self) -> list[dict[str, JsonValue]]:
        """Return the actions that bring the world from its first event to where the lesson begins."""
        return [{"control": "run-until", "on": "time", "time_us": self.begin_ms * 1_000}] if self.begin_ms else []

    def title(self) -> dict[str, str]:
        """Return the title in each language."""
        return {language: text.title for language, text in self.texts.items()}

    def prose(self) -> list[Prose]:
        """Return all prose of the lesson, in all languages."""
        return [prose for text in self.texts.values() for prose in text.prose()]
