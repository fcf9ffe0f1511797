"""The moments that a film shows: evenly at a fixed speed, slower where something happens at the page's own."""

from __future__ import annotations

import pytest

from app.lab.session.film_times import PICTURES_MAX, film_times
from engine.lab.run.key_moment import key_moment_of
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture(scope="module")
def duplicate():
    return key_moment_of(load_scenario("three-locks"))


def test_at_a_fixed_speed_the_pictures_are_as_far_apart_as_it_says(duplicate):
    times = film_times(duplicate, 3_049_169, 10, 0.5)
    assert times == [*range(3_049_169, duplicate.time_us, 50_000), duplicate.time_us]


def test_a_film_begins_and_ends_where_it_is_said_and_never_goes_back(duplicate):
    times = film_times(duplicate, 3_950_000, 10)
    assert (times[0], times[-1]) == (3_950_000, duplicate.time_us)
    assert times == sorted(times)


def test_time_that_follows_the_eye_shows_frames_on_their_way(duplicate):
    followed, fixed = film_times(duplicate, 3_950_000, 10), film_times(duplicate, 3_950_000, 10, 1.0)
    # C2 joins at 4 s: some twenty frames fly within fifty milliseconds; a film at real speed has one picture of them.
    joins = range(4_000_000, duplicate.time_us)
    assert len([time for time in fixed if time in joins]) <= 1
    assert len([time for time in followed if time in joins]) > 20


@pytest.mark.parametrize("name", ["retry-to-dead-letter", "check-max-discard", "three-locks"])
def test_a_film_without_a_beginning_lasts_five_seconds_at_least(name):
    recording = key_moment_of(load_scenario(name))
    times = film_times(recording, None, 10)
    assert len(times) >= 50
    assert times[-1] == recording.time_us
    assert times == sorted(times)


def test_a_story_that_is_shorter_than_a_film_is_filmed_from_its_beginning():
    recording = key_moment_of(load_scenario("hello"))
    assert film_times(recording, None, 10) == film_times(recording, 0, 10)


def test_a_film_that_would_be_too_long_keeps_its_end(duplicate):
    times = film_times(duplicate, 0, 20, 0.01)
    assert len(times) == PICTURES_MAX
    assert times[0] > 3_000_000
    assert times[-1] == duplicate.time_us


def test_the_same_run_gives_the_same_film(duplicate):
    assert film_times(duplicate, 3_900_000, 12) == film_times(duplicate, 3_900_000, 12)
