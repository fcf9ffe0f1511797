"""The pictures of the lists: each scenario and each track has one, small enough, of a moment that comes."""

from __future__ import annotations

import pytest

from app.foundation.page_folders import PageFolders
from app.lessons.course import load_course
from app.pictures.scenario_pictures import HEIGHT, LESSONS_SHELF, MAX_BYTES, THEMES, WIDTH, picture_path
from engine.lab.run.key_moment import NoKeyMoment, key_moment_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario, shelved_scenario_names
from tests.support.lab.lab_scenarios import small

FOLDER = PageFolders.find().static
SCENARIOS = [(shelf, name) for shelf, names in shelved_scenario_names().items() for name in names]
LESSONS = [(LESSONS_SHELF, name) for name in load_course().first_lessons()]


def webp_size(data: bytes) -> tuple[int, int]:
    """Width and height of a lossy WebP."""
    assert (data[:4], data[8:12]) == (b"RIFF", b"WEBP")
    at = data.index(b"\x9d\x01\x2a") + 3
    return int.from_bytes(data[at : at + 2], "little"), int.from_bytes(data[at + 2 : at + 4], "little")


@pytest.mark.parametrize(("shelf", "name"), SCENARIOS + LESSONS)
def test_every_scenario_and_first_lesson_has_a_small_picture_in_each_theme(shelf, name):
    for theme in THEMES:
        data = (FOLDER / picture_path(shelf, name, theme)).read_bytes()
        assert len(data) <= MAX_BYTES, f"glassmq lab pictures {name}"
        assert webp_size(data) == (WIDTH, HEIGHT)


def test_no_picture_is_left_of_a_scenario_or_lesson_that_is_gone():
    wanted = {picture_path(shelf, name, theme) for shelf, name in SCENARIOS + LESSONS for theme in THEMES}
    there = {path.relative_to(FOLDER).as_posix() for path in (FOLDER / "lab" / "pictures").rglob("*.*")}
    assert there - wanted == set()


@pytest.mark.parametrize(("shelf", "name"), SCENARIOS)
def test_every_scenario_has_a_sentence_tags_and_a_key_moment_that_comes(shelf, name):
    scenario = load_scenario(name)
    assert scenario.summary
    assert scenario.summary["en"] != scenario.title["en"]
    moment = key_moment_of(scenario)
    assert 0 < moment.time_us <= scenario.duration_ms * 1_000


def test_at_the_key_moment_of_the_three_locks_the_lock_is_off_and_a_duplicate_is_there():
    moment = key_moment_of(load_scenario("three-locks"))
    assert [timed.command.kind for timed in moment.commands] == ["lock-switch"]
    with LabRun(moment.scenario, moment.seed, moment.commands) as run:
        run.stand_at(moment.event, moment.time_us)
        assert run.violations[0].anomaly.value == "duplicate"


def test_a_frame_is_on_its_way_when_the_clock_stands_a_little_later():
    flying = small(extra="key_moment: {until: {on: frame, contains: SEND}, plus_ms: 1, shows: {en: a, zh: 甲}}\n")
    sent = small(extra="key_moment: {until: {on: frame, contains: SEND}, shows: {en: a, zh: 甲}}\n")
    assert key_moment_of(flying).event == key_moment_of(sent).event
    assert key_moment_of(flying).time_us == key_moment_of(sent).time_us + 1_000


def test_a_moment_that_does_not_come_is_an_error_that_names_it():
    with pytest.raises(NoKeyMoment, match="of small does not come"):
        key_moment_of(small(extra="key_moment: {until: {on: consumed, contains: zzz}, shows: {en: a, zh: 甲}}\n"))
    with pytest.raises(NoKeyMoment, match="small names no key_moment"):
        key_moment_of(small())
