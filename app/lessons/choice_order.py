"""The order in which the answers of a lesson's choices are shown: shuffled, and not as the author wrote them."""

from __future__ import annotations

import random
from collections.abc import Mapping

from app.lessons.judge import right_answers
from app.lessons.lesson_files import number_of
from app.lessons.rehearsal import RehearsedStep


def choice_order(lesson: str, steps: tuple[RehearsedStep, ...]) -> Mapping[str, list[str]]:
    """Return step -> the ids of its answers as they are shown.

    It depends on the lesson alone, so that a class may refer to "the second one" and a reload changes nothing. Within a
    lesson the right answers are in each place equally often, give or take one, so that no place is a better guess.
    """
    randomness = random.Random(lesson)
    # Each lesson starts with the next place, so that the remainders cancel out over all lessons.
    first = number_of(lesson)
    order: dict[str, list[str]] = {}
    asked = [rehearsed for rehearsed in steps if rehearsed.step.choices()]
    for count in sorted({len(rehearsed.step.choices()) for rehearsed in asked}):
        alike = [rehearsed for rehearsed in asked if len(rehearsed.step.choices()) == count]
        places = [(first + number) % count for number in range(len(alike))]
        randomness.shuffle(places)
        for rehearsed, place in zip(alike, places, strict=True):
            choices = randomness.sample(rehearsed.step.choices(), count)
            assert rehearsed.step.prediction is not None
            right = right_answers(rehearsed.step.prediction, rehearsed.after)
            if right:  # a lesson that is being written may not have one
                choices.remove(str(right[0]))
                choices.insert(place, str(right[0]))
            order[rehearsed.step.identity] = choices
    return order
