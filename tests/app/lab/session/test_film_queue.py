"""Films are taken one after the other; one of them must not keep the others from being made."""

from __future__ import annotations

import time
from concurrent.futures import Future

import pytest

from app.lab.session.film import WHY_MAX, FilmMaker
from app.lab.session.worlds import LabWorlds
from engine.lab.run.recording import Recording
from engine.lab.scenario.scenario_files import load_scenario


class NoTransport:
    """Nobody watches."""

    def send(self, viewer_ids, event, payload):
        raise AssertionError("nobody is connected")

    def disconnect(self, viewer_id, reason):
        raise AssertionError("nobody is connected")


@pytest.fixture
def worlds():
    worlds = LabWorlds(NoTransport(), time.monotonic)
    yield worlds
    worlds.close()


def recording(event):
    scenario = load_scenario("hello")
    return Recording(scenario, scenario.seed, (), event, 0)


@pytest.mark.parametrize("event", [0, 20])
def test_a_film_that_nobody_waits_for_any_more_does_not_keep_the_next_from_being_made(worlds, event):
    given_up, wanted = Future(), Future()
    worlds.start_film(lambda: FilmMaker(recording(event), given_up))
    worlds.start_film(lambda: FilmMaker(recording(20), wanted))
    given_up.cancel()
    for _ in range(1_000):
        worlds.turn()
        if wanted.done():
            break
    assert wanted.result(0)["patches"]


def test_a_film_says_why_of_the_messages_that_somebody_may_ask_about(worlds):
    wanted = Future()
    worlds.start_film(lambda: FilmMaker(recording(900), wanted))
    while not wanted.done():
        worlds.turn()
    why = wanted.result(0)["why"]
    assert 0 < len(why) <= WHY_MAX
    assert all(one["key"] == key and one["answers"] for key, one in why.items())
