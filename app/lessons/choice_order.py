"""In which order the answers of a lesson's choices are shown: mixed, and not as its author wrote them."""

from __future__ import annotations

import random
from collections.abc import Mapping

from app.lessons.judge import right_answers
from app.lessons.lesson_files import number_of
from app.lessons.rehearsal import RehearsedStep


def choice_order(lesson: str, steps: tuple[RehearsedStep, ...]) -> Mapping[str, list[str]]:
    """Step -> the ids of its answers as they are shown.

    It depends on the lesson alone: a class may speak of "the second one", and a reload changes nothing. Within a lesson
    the right answers stand in every place equally often, give or take one, so that no place is worth a guess.
    """
    randomness = random.Random(lesson)
    # One lesson begins with the next place: what is left over in each adds up to nothing over all.
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
            if right:  # a lesson that is being written may have none
                choices.remove(str(right[0]))
                choices.insert(place, str(right[0]))
            order[rehearsed.step.identity] = choices
    return order
