"""What the texts of every lesson promise: honest minutes, and the same facts in both languages."""

from __future__ import annotations

import re

import pytest

from app.lessons.lesson import Lesson
from app.lessons.lesson_files import lesson_names, load_lesson
from app.lessons.lesson_text import LessonText
from app.lessons.prose import Prose

every_lesson = pytest.mark.parametrize("name", lesson_names())

WORDS_PER_MINUTE = 180
#: To predict, to act, to look at the stage and to compare.
MINUTES_PER_STEP = 1
MINUTES_OFF_MAX = 1 / 3


def as_read(prose: Prose) -> str:
    """What one reads of a text, with a 0 for each figure."""
    return re.sub("<[^>]*>", " ", "0".join(prose.pieces))


def words_on_the_way(text: LessonText) -> int:
    """Of one who predicts right and needs no hint."""
    pieces = [as_read(text.intro), as_read(text.summary)]
    for step in text.steps.values():
        prose = [step.body, step.question, *step.choices.values(), step.after]
        pieces += [step.heading, step.action, *(as_read(one) for one in prose if one is not None)]
    return sum(len(piece.split()) for piece in pieces)


@every_lesson
def test_a_lesson_takes_about_as_long_as_it_says(name):
    lesson = load_lesson(name)
    minutes = words_on_the_way(lesson.texts["en"]) / WORDS_PER_MINUTE + MINUTES_PER_STEP * len(lesson.steps)
    assert abs(lesson.minutes - minutes) <= MINUTES_OFF_MAX * minutes, f"{minutes:.1f}"


@every_lesson
def test_show_me_has_a_sentence_for_everything_that_a_step_points_at(name):
    lesson = load_lesson(name)
    for step in lesson.steps:
        look_for = lesson.texts["en"].steps[step.identity].look_for
        assert list(look_for) == [str(target) for target in step.point_at], step.identity


# ------------------------------------------------------------------------------------------------- both languages

_NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(\s*万)?")
#: Small numbers stand there in digits or in words.
_WORDS = {
    "en": ("zero no", "one a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    "zh": ("零归", "一单", "二两", "三", "四", "五", "六", "七", "八", "九", "十"),
}


def passages(lesson: Lesson, language: str) -> dict[str, str]:
    """The HTML of a lesson, step by step; introduction and summary count as steps."""
    text = lesson.texts[language]
    steps = {identity: [*step.prose(), *step.explanations()] for identity, step in text.steps.items()}
    return {
        part: " ".join(" ".join(prose.pieces) for prose in proses)
        for part, proses in {"intro": [text.intro], **steps, "summary": [text.summary]}.items()
    }


def code_words(html: str) -> set[str]:
    return set(re.findall("<code>(.*?)</code>", html, re.DOTALL))


def plain(html: str) -> str:
    return re.sub("<[^>]*>", " ", re.sub("<(code|pre).*?</\\1>", " ", html, flags=re.DOTALL))


def numbers(html: str) -> set[float]:
    return {
        float(digits.replace(",", "")) * (10_000 if ten_thousands else 1)
        for digits, ten_thousands in _NUMBER.findall(plain(html))
    }


def in_words(html: str, language: str) -> set[float]:
    text = plain(html).lower()
    found = text if language == "zh" else set(re.findall("[a-z]+", text))
    spelt = (word.split() if language == "en" else word for word in _WORDS[language])
    return {float(number) for number, forms in enumerate(spelt) if any(form in found for form in forms)}


@every_lesson
def test_both_languages_name_the_same_things_and_the_same_numbers(name):
    lesson = load_lesson(name)
    english, chinese = (passages(lesson, language) for language in ("en", "zh"))
    for part, html in english.items():
        other = chinese[part]
        assert code_words(html) ^ code_words(other) == set(), part
        assert numbers(html) - numbers(other) - in_words(other, "zh") == set(), part
        assert numbers(other) - numbers(html) - in_words(html, "en") == set(), part
