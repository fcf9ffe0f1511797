"""Judges predictions of learners by the engine's world."""

from __future__ import annotations

from dataclasses import dataclass

from app.lessons.expression import ShownWorld, figure_text
from app.lessons.lesson import ChoicePrediction, ClickPrediction, Prediction
from app.picture.pages.lesson import Answer, JudgedPrediction


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """The verdict on a prediction. ``answers``: what is right in this world; one, as long as the world goes as the
    lesson planned.
    """

    is_right: bool
    answers: tuple[Answer, ...]

    def as_json(self) -> JudgedPrediction:
        return {"right": self.is_right, "answer": self.answers[0] if self.answers else None}


def right_answers(prediction: Prediction, view: ShownWorld) -> tuple[Answer, ...]:
    """Return every answer that is right in the world that ``view`` shows."""
    if isinstance(prediction, ChoicePrediction):
        return tuple(choice for choice, claim in prediction.choices.items() if claim.holds(view))
    if isinstance(prediction, ClickPrediction):
        return tuple(str(target) for target, claim in prediction.targets.items() if claim.holds(view))
    answer = prediction.answer.value(view)
    return () if answer is None else (answer,)


def judge(prediction: Prediction, answer: Answer, view: ShownWorld) -> StepVerdict:
    """Judge ``answer`` in the world that ``view`` shows."""
    answers = right_answers(prediction, view)
    if isinstance(answer, str):
        return StepVerdict(answer in answers, answers)
    return StepVerdict(any(figure_text(answer) == figure_text(right) for right in answers), answers)
