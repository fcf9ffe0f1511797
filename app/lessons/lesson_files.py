"""Reads the lessons that come with GlassMQ: ``tutorials/NN-name/``.

``scenario.yaml`` is a scenario as any other; ``lesson.en.md`` and ``lesson.zh.md`` are read by
:mod:`app.lessons.lesson_text`; ``steps.yaml`` has what does not depend on the language, see docs/lessons.md.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from app.lessons.errors import LessonError, UnknownLesson
from app.lessons.lesson import Lesson, LessonStep, NumberPrediction
from app.lessons.lesson_text import LessonText, StepText, read_lesson_text
from app.lessons.steps_file import StepsFile, read_steps
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario import LANGUAGES, Scenario
from engine.lab.scenario.scenario_files import lesson_scenario_names, tutorials_folder
from engine.lab.scenario.scenario_text import parse_scenario

#: Concurrent requests wait for the one that reads.
_READING = threading.Lock()


def lesson_names() -> list[str]:
    """Return the names of all lessons, in the order in which they are read."""
    return lesson_scenario_names()


def number_of(name: str) -> int:
    """Return the number by which texts refer to a lesson: 1 for ``01-first-message``."""
    return int(name.partition("-")[0])


def load_lesson(name: str) -> Lesson:
    """Return one of :func:`lesson_names`; the same object until one of its files changes.

    Raises :class:`UnknownLesson`, :class:`LessonError`.
    """
    if name not in lesson_names():
        raise UnknownLesson(f"there is no lesson {name!r}; there are: {', '.join(lesson_names())}")
    folder = tutorials_folder() / name
    changed_at = tuple(path.stat().st_mtime_ns for path in sorted(folder.iterdir()))
    with _READING:
        return _read_once(folder, changed_at)


@lru_cache(maxsize=32)
def _read_once(folder: Path, changed_at: tuple[int, ...]) -> Lesson:
    """Read a lesson, cached by ``changed_at``, the times at which its files last changed."""
    return read_lesson(folder)


def read_lesson(folder: Path) -> Lesson:
    """Return the lesson in ``folder``. Raises :class:`LessonError`."""
    name = folder.name
    scenario = _scenario(folder)
    file = f"{name}/steps.yaml"
    steps = read_steps(_read(folder, "steps.yaml"), file, scenario)
    texts = {
        language: read_lesson_text(_read(folder, f"lesson.{language}.md"), f"{name}/lesson.{language}.md")
        for language in LANGUAGES
    }
    for text in texts.values():
        _check_text(text, steps)
    _check_languages(texts)
    return Lesson(name, steps.minutes, steps.begin_ms, scenario, steps.steps, texts)


def _scenario(folder: Path) -> Scenario:
    try:
        return parse_scenario(_read(folder, "scenario.yaml"), folder.name)
    except ScenarioError as error:
        raise LessonError.of(f"{folder.name}/scenario.yaml", error) from error


def _read(folder: Path, file: str) -> str:
    try:
        return (folder / file).read_text(encoding="utf-8")
    except OSError as error:
        raise LessonError(f"{folder.name}/{file}", 0, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LessonError(f"{folder.name}/{file}", 0, "is not UTF-8 text") from error


def _check_text(text: LessonText, steps: StepsFile) -> None:
    """Check that every step has the texts that it needs, and no others."""
    known = [step.identity for step in steps.steps]
    if list(text.steps) != known:
        raise LessonError(text.file, 0, f"has the steps {', '.join(text.steps)}; steps.yaml has {', '.join(known)}")
    for step in steps.steps:
        _check_step(text.steps[step.identity], step, text.file)


def _check_step(text: StepText, step: LessonStep, file: str) -> None:
    def wrong(problem: str) -> LessonError:
        return LessonError(file, text.line, f"step {step.identity!r}{problem}")

    if (text.question is not None) != (step.prediction is not None):
        has, lacks = ("Predict", "steps.yaml has none") if text.question else ("no Predict", "steps.yaml has one")
        raise wrong(f" has {has}, but {lacks}")
    wanted = step.choices()
    if list(text.choices) != wanted:
        has = ", ".join(text.choices) or "none"
        raise wrong(f" has the choices {has}; steps.yaml has {', '.join(wanted) or 'none'}")
    allowed = step.wrong_answers()
    for answer in text.wrong:
        if answer not in allowed and not (isinstance(step.prediction, NumberPrediction) and answer.isdecimal()):
            raise wrong(f": '### Wrong' has {answer!r}; allowed: {', '.join(allowed) or 'none'}")
    shown = [str(target) for target in step.point_at]
    for target in text.look_for:
        if target not in shown:
            raise wrong(f": '### Look' has {target!r}; allowed: {', '.join(shown) or 'none'}")
    if bool(text.action) != bool(step.actions):
        raise wrong(": '### Do' must be present exactly when the step has an action")


def _check_languages(texts: Mapping[str, LessonText]) -> None:
    """Check that all languages have the same texts with the same figures."""
    first, *others = texts.values()
    for other in others:
        for identity, step in first.steps.items():
            twin = other.steps[identity]
            if len(step.hints) != len(twin.hints):
                raise LessonError(other.file, twin.line, f"{len(twin.hints)} hints; {first.file} has {len(step.hints)}")
            if list(step.wrong) != list(twin.wrong):
                raise LessonError(other.file, twin.line, f"'### Wrong' has other answers than in {first.file}")
            if list(step.look_for) != list(twin.look_for):
                raise LessonError(other.file, twin.line, f"'### Look' has other things than in {first.file}")
            if (step.after is None) != (twin.after is None):
                raise LessonError(other.file, twin.line, f"'### After' exists in one language only; see {first.file}")
        for mine, theirs in zip(first.prose(), other.prose(), strict=True):
            if sorted(map(repr, mine.figures)) != sorted(map(repr, theirs.figures)):
                raise LessonError(*theirs.place, f"the figures differ from those of {first.file}, line {mine.place[1]}")
