"""Time that follows the eye: slow where a frame flies or a listener is called, quick where nothing happens."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.lab.session.pace import SLOW_EVENTS, STEP_S, Pace
from app.lab.session.playback_speed import (
    FLIGHT_S,
    GAP_S,
    LISTENER_S,
    Flight,
    MovedWorldSpeed,
    PlaybackMoment,
    stretch_of,
)
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario

PICTURE_S = 0.05


def test_a_new_frame_flies_as_long_as_one_needs_to_see_it():
    flight = Flight(1_000, 3_000, is_light=False, seen=0)
    assert stretch_of(PlaybackMoment(1_000, 9_000, [flight])) == (3_000, FLIGHT_S, "frame")
    assert stretch_of(PlaybackMoment(2_000, 9_000, [flight])) == (3_000, FLIGHT_S / 2, "frame")


def test_the_slowest_of_the_frames_that_fly_together_says_how_slow():
    long = Flight(0, 100_000, is_light=False, seen=0)
    short = Flight(0, 2_000, is_light=False, seen=0)
    together = stretch_of(PlaybackMoment(0, 9_000_000, [short, long]))
    assert tuple(together) == (2_000, pytest.approx(FLIGHT_S), "frame")
    assert tuple(stretch_of(PlaybackMoment(0, 9_000_000, [long]))) == (100_000, pytest.approx(FLIGHT_S), "frame")


def test_what_was_seen_often_goes_by_faster_and_what_matters_less_too():
    def length(seen, *, is_light=False):
        return stretch_of(PlaybackMoment(0, 9_000, [Flight(0, 2_000, is_light, seen)])).play_s

    lengths = [length(seen) for seen in (0, 1, 5, 60, 600)]
    assert lengths == sorted(lengths, reverse=True)
    assert length(600) < FLIGHT_S / 50
    assert length(0, is_light=True) < length(0)


def test_a_gap_is_passed_over_and_a_short_one_is_not_drawn_out():
    assert stretch_of(PlaybackMoment(0, 60_000_000)) == (60_000_000, GAP_S, "gap")
    assert stretch_of(PlaybackMoment(0, 10_000)) == (10_000, 0.01, "gap")
    assert stretch_of(PlaybackMoment(0, 60_000_000, idle=3)).play_s == GAP_S / 4
    assert stretch_of(PlaybackMoment(5_000, 5_000)).play_s == 0


def test_one_looks_at_a_listener_that_was_just_called():
    assert stretch_of(PlaybackMoment(0, 300_000, calls=0)) == (300_000, LISTENER_S, "listener")
    assert stretch_of(PlaybackMoment(0, 300_000, calls=4)).play_s < LISTENER_S


@pytest.fixture
def world():
    run = LabRun(load_scenario("three-locks"))
    yield run
    run.close()


def play(run, pictures):
    """(virtual time, why) of each picture."""
    pace = Pace()
    pace.begin(0.0, run.now_us)
    shown = []
    for number in range(1, pictures + 1):
        pace.advance(run, number * PICTURE_S, lambda: False)
        shown.append((run.now_us, pace.why))
        if run.stopped_by is not None:
            break
    return shown


def move(playback_speed, run, pictures):
    """As :func:`play`, of a world that is moved from outside: (virtual time, why) of each picture."""
    shown = []
    for _ in range(pictures):
        ahead = playback_speed.ahead(run)
        until_us = ahead["until_us"] if ahead["until_us"] > run.now_us else run.now_us + 1
        run.run_to_time(min(run.now_us + round(ahead["rate"] * PICTURE_S * 1e6), until_us))
        shown.append((run.now_us, ahead["why"]))
    return shown


def test_a_world_plays_alike_each_time(world):
    first = play(world, 300)
    with LabRun(load_scenario("three-locks")) as again:
        assert play(again, 300) == first


def test_no_flight_of_a_first_message_is_skipped(world):
    shown = play(world, 400)
    sent, stored = 1_014_323, 1_016_687
    assert sum(sent <= time < stored for time, _ in shown) >= 10
    # Nothing happens between the start of the cluster and the first message.
    assert sum(300_000 <= time < 1_000_000 for time, _ in shown) <= 10


def test_the_duplicate_without_the_lock_is_seen_within_half_a_minute(world):
    run = world
    run.apply(parse_command({"kind": "lock-switch", "target": "B1", "lock": "broker-lock", "on": False}))
    run.stops_at_violations = True
    shown = play(run, round(30 / PICTURE_S))
    assert run.violations
    assert shown[-1][0] == run.violations[0].time_us, "it stands where it happened"


def test_a_world_that_was_held_up_does_not_rush(world):
    run = world
    pace = Pace()
    pace.begin(0.0, 0)
    pace.advance(run, 0.05, lambda: False)
    before = run.now_us
    pace.advance(run, 60.0, lambda: False)
    assert run.now_us - before < 100_000


@pytest.mark.parametrize("speed", ["auto", 1000.0])
def test_the_last_events_before_a_wanted_one_come_one_by_one(world, speed):
    run = world
    pace = Pace()
    pace.set_speed(speed)
    pace.begin(0.0, 0, slow_to=240)
    seen = []
    for number in range(1, 800):
        before = run.event_number
        pace.advance(run, number * PICTURE_S, lambda: False)
        if pace.why == "step" and run.event_number != before:
            seen.append((run.event_number, number * PICTURE_S))
        if run.event_number == 240:
            break
    assert [event for event, _ in seen] == list(range(240 - SLOW_EVENTS + 1, 241))
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(seen)]
    assert min(gaps) >= STEP_S - PICTURE_S


def test_a_world_that_is_moved_from_outside_passes_as_one_that_plays(world):
    """One of two worlds side by side is moved from outside, and returns how fast to go on."""
    run = world
    playback_speed = MovedWorldSpeed()
    moved = move(playback_speed, run, 400)
    with LabRun(load_scenario("three-locks")) as other:
        played = play(other, 400)
    ends = [next(n for n, (time, _) in enumerate(shown) if time > 1_400_000) for shown in (moved, played)]
    # Each stretch ends at a whole picture here.
    assert ends[0] == pytest.approx(ends[1], rel=0.25)
    assert {why for _, why in moved} == {"frame", "listener", "gap"}


def test_who_went_back_sees_everything_anew(world):
    run = world
    playback_speed = MovedWorldSpeed()
    first = [playback_speed.ahead(run)["rate"], *move(playback_speed, run, 100)]
    with LabRun(load_scenario("three-locks")) as again:
        assert [playback_speed.ahead(again)["rate"], *move(playback_speed, again, 100)] == first
