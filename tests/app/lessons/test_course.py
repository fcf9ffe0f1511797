"""The order of the lessons, and what each builds on."""

from __future__ import annotations

import pytest

from app.lessons.course import load_course, read_course
from app.lessons.errors import LessonError
from app.lessons.lesson_files import lesson_names
from engine.lab.scenario.scenario import LANGUAGES

NAMES = ["01-first", "02-second", "03-third"]
COURSE = """\
tracks:
  - id: basics
    title: {en: Basics, zh: 基础}
    lessons: {01-first: [], 03-third: [01]}
  - id: more
    title: {en: More, zh: 更多}
    lessons: {02-second: [01, 03]}
"""


def test_every_lesson_has_its_place_in_the_course_after_those_that_it_builds_on():
    course = load_course()
    order = course.names()
    assert sorted(order) == lesson_names()
    assert order[:2] == ["01-first-message", "02-groups-and-rebalance"]
    for name, needed in course.needs.items():
        assert all(order.index(other) < order.index(name) for other in needed), name
    assert [name for name, needed in course.needs.items() if not needed] == ["01-first-message"]
    assert all(set(track.title) == set(LANGUAGES) and track.lessons for track in course.tracks)


def test_a_course_has_its_own_order_and_names_what_a_lesson_builds_on():
    course = read_course(COURSE, NAMES)
    assert course.names() == ["01-first", "03-third", "02-second"]
    assert course.needs["02-second"] == ("01-first", "03-third")


def test_a_lesson_that_no_track_names_comes_last():
    course = read_course(COURSE, [*NAMES, "04-new"])
    assert course.names()[-1] == "04-new"
    assert course.needs["04-new"] == ()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("03-third: [01]", "03-third: [02]", "'02' is not a lesson before this one; allowed: 01"),
        ("03-third: [01]", "03-third: [03]", "'03' is not a lesson before this one; allowed: 01"),
        ("01-first: []", "01-first: [01]", "'01' is not a lesson before this one; allowed: none"),
        ("02-second: [01, 03]", "01-first: []", "01-first: occurs twice"),
        ("02-second", "05-fifth", "is not a lesson; allowed: 01-first, 02-second, 03-third"),
        (", zh: 更多", "", "title.zh: is missing"),
        ("    title: {en: More, zh: 更多}\n", "", "title: is missing"),
        ("    lessons: {02-second: [01, 03]}\n", "", "lessons: is missing"),
        ("id: more", "id: more\n    colour: red", "colour: is not allowed here"),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_with_what_is_allowed(old, new, problem):
    assert old in COURSE
    with pytest.raises(LessonError, match=r"course.yaml, line \d+: tracks\[\d\]") as error:
        read_course(COURSE.replace(old, new, 1), NAMES)
    assert problem in str(error.value)


def test_a_course_without_tracks_is_refused():
    with pytest.raises(LessonError, match="tracks: is missing"):
        read_course("tracks: []\n", NAMES)


@pytest.mark.parametrize("text", ["- tracks\n", "tracks", "", "tracks: ["])
def test_what_is_wrong_with_the_whole_text_is_said_without_a_field(text):
    with pytest.raises(LessonError, match=r"^course.yaml, line \d+: \w"):
        read_course(text, NAMES)
