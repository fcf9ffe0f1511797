"""The data of the pages of lessons, without the answers."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.glossary.glossary import searched_text
from app.lessons.choice_order import choice_order
from app.lessons.expression import ShownWorld, figure_text
from app.lessons.lesson import LESS, MORE, ClickPrediction, Lesson, LessonStep, NumberPrediction
from app.lessons.lesson_files import number_of
from app.pictures.scenario_pictures import LESSONS_SHELF, picture_addresses

if TYPE_CHECKING:
    from app.lessons.course import Course, Track
    from app.lessons.judge import StepVerdict
    from app.lessons.lesson_text import LessonText, StepText
    from app.lessons.progress import DoneStep
    from app.lessons.rehearsal import Rehearsal, RehearsedStep
    from app.picture.pages.lesson import (
        Answer,
        LessonProgress,
        LessonQuestion,
        LessonRow,
        NeededLesson,
        ShownLesson,
        ShownStep,
        TrackRow,
    )
    from app.picture.world.world import Words


def lesson_entry(lesson: Lesson, done: Mapping[str, DoneStep], course: Course) -> LessonRow:
    """Return the entry of a lesson in the list of all lessons."""
    done_steps = sum(step.identity in done for step in lesson.steps)
    return {
        "name": lesson.name,
        "number": number_of(lesson.name),
        "needs": _needs(lesson, course),
        "title": lesson.title(),
        "intro": {language: text.intro.html({}) for language, text in lesson.texts.items()},
        "minutes": lesson.minutes,
        "steps": len(lesson.steps),
        "done_steps": done_steps,
        "finished": done_steps == len(lesson.steps),
    }


def _needs(lesson: Lesson, course: Course) -> list[NeededLesson]:
    return [{"number": number_of(name), "name": name} for name in course.needs[lesson.name]]


def track_entry(track: Track, lessons: Sequence[LessonRow], static_folder: Path) -> TrackRow:
    """Return a track in the list of lessons. ``next`` is its first lesson that is not finished; None when all are."""
    return {
        "identity": track.identity,
        "title": dict(track.title),
        "lessons": [*lessons],
        "pictures": picture_addresses(LESSONS_SHELF, track.lessons[0], static_folder) if track.lessons else {},
        "minutes": sum(lesson["minutes"] for lesson in lessons),
        "finished": sum(lesson["finished"] for lesson in lessons),
        "next": next((lesson for lesson in lessons if not lesson["finished"]), None),
    }


def searched_words(lesson: Lesson) -> str:
    """Return title, introduction and the headings of all steps in both languages, and the other names of their
    terms.
    """
    parts = [lesson.name]
    for text in lesson.texts.values():
        introduction = html.unescape(re.sub(r"<[^>]*>", " ", text.intro.html({})))
        parts += [text.title, introduction, *(step.heading for step in text.steps.values())]
    return searched_text(lesson.name, " ".join(parts))


def lesson_data(lesson: Lesson, rehearsal: Rehearsal, done: Mapping[str, DoneStep], course: Course) -> ShownLesson:
    """Return everything that the page of one lesson needs."""
    names = course.names()
    place = names.index(lesson.name)
    order = choice_order(lesson.name, rehearsal.steps)
    return {
        "name": lesson.name,
        "scenario": lesson.scenario.name,
        "minutes": lesson.minutes,
        "begin": [*lesson.begin()],
        "title": lesson.title(),
        "needs": _needs(lesson, course),
        "intro_html": _in_each(lesson, lambda text: text.intro.html({})),
        "steps": [_step(lesson, rehearsed, done, order) for rehearsed in rehearsal.steps],
        "summary_html": _in_each(lesson, lambda text: text.summary.html(rehearsal.end)),
        **progress_json(done),
        "next": names[place + 1] if place + 1 < len(names) else None,
        "previous": names[place - 1] if place else None,
    }


def progress_json(done: Mapping[str, DoneStep]) -> LessonProgress:
    """Return the ids of the steps that are done, and the predictions."""
    return {
        "progress": list(done),
        "predictions": {step: entry.as_json() for step, entry in done.items() if entry.was_right is not None},
    }


def after_html(lesson: Lesson, step: LessonStep, view: ShownWorld) -> Words | None:
    """Return the text that follows a done step, in each language."""

    def html(text: LessonText) -> str:
        after = text.steps[step.identity].after
        return "" if after is None else after.html(view)

    texts = _in_each(lesson, html)
    return texts if any(texts.values()) else None


def why_wrong_html(
    lesson: Lesson, step: LessonStep, answer: Answer, verdict: StepVerdict, view: ShownWorld
) -> Words | None:
    """Return why a wrong answer is wrong, in each language; None where the lesson has no text for it."""
    # The texts write a wrong number without commas.
    keys = [answer if isinstance(answer, str) else figure_text(answer).replace(",", "")]
    right = verdict.answers[0] if verdict.answers else None
    if not isinstance(answer, str) and not isinstance(right, str) and right is not None:
        keys.append(LESS if answer < right else MORE)

    def html(text: LessonText) -> str:
        wrong = text.steps[step.identity].wrong
        return next((wrong[key].html(view) for key in keys if key in wrong), "")

    texts = _in_each(lesson, html)
    return texts if all(texts.values()) else None


def body_html(lesson: Lesson, step: LessonStep, view: ShownWorld) -> Words:
    """Return the text that precedes the action, in each language."""
    return _of_step(lesson, step, lambda text: text.body.html(view))


def _step(
    lesson: Lesson, rehearsed: RehearsedStep, done: Mapping[str, DoneStep], order: Mapping[str, list[str]]
) -> ShownStep:
    step, view = rehearsed.step, rehearsed.before
    hints = len(next(iter(lesson.texts.values())).steps[step.identity].hints)
    return {
        "id": step.identity,
        "heading": _of_step(lesson, step, lambda text: text.heading),
        "html": body_html(lesson, step, view),
        "after_html": after_html(lesson, step, rehearsed.after) if step.identity in done else None,
        "point_at": [str(target) for target in step.point_at],
        "look_for": {
            target: {language: text.steps[step.identity].look_for[target] for language, text in lesson.texts.items()}
            for target in next(iter(lesson.texts.values())).steps[step.identity].look_for
        },
        "predict": _predict(lesson, step, view, order.get(step.identity, [])),
        "hints": [_of_step(lesson, step, _hint(number, view)) for number in range(hints)],
        "action": list(step.actions),
        "action_name": _of_step(lesson, step, lambda text: text.action) if step.actions else None,
        "start_link": rehearsed.link,
    }


def _hint(number: int, view: ShownWorld) -> Callable[[StepText], str]:
    return lambda text: text.hints[number].html(view)


def _predict(lesson: Lesson, step: LessonStep, view: ShownWorld, choices: list[str]) -> LessonQuestion | None:
    prediction = step.prediction
    if prediction is None:
        return None

    def question(text: StepText) -> str:
        return "" if text.question is None else text.question.html(view)

    def choice(identity: str) -> Callable[[StepText], str]:
        return lambda text: text.choices[identity].html(view)

    unit = prediction.unit if isinstance(prediction, NumberPrediction) else None
    return {
        "kind": "click" if isinstance(prediction, ClickPrediction) else "choice" if choices else "number",
        "question": _of_step(lesson, step, question),
        "choices": [{"id": identity, "text": _of_step(lesson, step, choice(identity))} for identity in choices],
        "targets": [str(target) for target in prediction.targets] if isinstance(prediction, ClickPrediction) else [],
        "unit": None if unit is None else dict(unit),
    }


def _of_step(lesson: Lesson, step: LessonStep, of_text: Callable[[StepText], str]) -> Words:
    return {language: of_text(text.steps[step.identity]) for language, text in lesson.texts.items()}


def _in_each(lesson: Lesson, of_text: Callable[[LessonText], str]) -> Words:
    return {language: of_text(text) for language, text in lesson.texts.items()}
