"""The order of the lessons: ``tutorials/course.yaml``, tracks of lessons with the lessons that each builds on.

tracks:
  - id: basics
    title: {en: Basics, zh: 基础}
    lessons:
      01-first-message: []
      02-groups-and-rebalance: [01]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.lessons.errors import LessonError
from app.lessons.lesson import InEachLanguage
from app.lessons.lesson_files import lesson_names
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario import LANGUAGES
from engine.lab.scenario.scenario_files import tutorials_folder
from engine.lab.scenario.scenario_yaml import Section, read_yaml

COURSE_FILE = "course.yaml"
TRACKS_MAX = 20
_TITLE_MAX = 60


@dataclass(frozen=True, slots=True)
class Track:
    """Lessons on one subject, in order."""

    identity: str
    title: InEachLanguage
    lessons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """The course.

    :ivar needs: lesson -> the lessons that it builds on, all of them earlier in the course.
    """

    tracks: tuple[Track, ...]
    needs: Mapping[str, tuple[str, ...]]

    def names(self) -> list[str]:
        """Return the names of all lessons, in the order of the course."""
        return [name for track in self.tracks for name in track.lessons]

    def first_lessons(self) -> list[str]:
        """Return the first lesson of each track: the list shows the track with a picture of it."""
        return [track.lessons[0] for track in self.tracks]


def load_course() -> Course:
    """Return the course that comes with GlassMQ. Raises :class:`LessonError`."""
    return read_course((tutorials_folder() / COURSE_FILE).read_text(encoding="utf-8"), lesson_names())


def read_course(text: str, names: Sequence[str]) -> Course:
    """Return the course of the lessons ``names``. A lesson in no track comes last: it is still being written.

    Raises :class:`LessonError` with line, field and what is allowed.
    """
    needs: dict[str, tuple[str, ...]] = {}
    try:
        root = read_yaml(text)
        tracks = [_track(section, names, needs) for section in root.sections("tracks", max_count=TRACKS_MAX)]
        if not tracks:
            raise root.fail("tracks", "is missing: a course has at least one track")
        root.finish()
    except ScenarioError as error:
        raise LessonError.of(COURSE_FILE, error) from error
    last = tracks.pop()
    others = tuple(name for name in names if name not in needs)
    tracks.append(Track(last.identity, last.title, last.lessons + others))
    return Course(tuple(tracks), needs | dict.fromkeys(others, ()))


def _track(section: Section, names: Sequence[str], needs: dict[str, tuple[str, ...]]) -> Track:
    """Read a track, and add what each of its lessons builds on to ``needs``, which has that of the earlier lessons."""
    identity = section.text("id", max_length=40)
    title = section.part(
        "title", lambda each: {language: each.text(language, max_length=_TITLE_MAX) for language in LANGUAGES}
    )
    lessons = section.section("lessons")
    if title is None or lessons is None:
        raise section.fail("lessons" if title else "title", "is missing")
    here = tuple(lessons.names())
    for name in here:
        if name not in names or name in needs:
            problem = "occurs twice" if name in needs else f"is not a lesson; allowed: {', '.join(names)}"
            raise lessons.fail(name, problem)
        earlier = {known.partition("-")[0]: known for known in needs}
        for number in lessons.words(name):
            if number not in earlier:
                allowed = ", ".join(earlier) or "none"
                raise lessons.fail(name, f"{number!r} is not a lesson before this one; allowed: {allowed}")
        needs[name] = tuple(earlier[number] for number in lessons.words(name))
    section.finish()
    return Track(identity, title, here)
