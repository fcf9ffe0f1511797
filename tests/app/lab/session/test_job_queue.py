"""Films are taken one after the other; one of them must not keep the others from being made."""

from __future__ import annotations

import time
from concurrent.futures import Future

import pytest

from app.lab.foundation.bounds import JOBS_MAX, JOBS_PER_BROWSER
from app.lab.foundation.refusal import LabRefused
from app.lab.session.film import WHY_MAX, FilmMaker
from app.lab.session.host import LabHost
from app.lab.session.worlds import LabWorlds
from engine.lab.run.recording import Recording
from engine.lab.scenario.scenario_files import load_scenario


class NoTransport:
    """Nobody watches."""

    def send(self, viewer_ids, event, payload):
        raise AssertionError("nobody is connected")

    def disconnect(self, viewer_id, reason):
        raise AssertionError("nobody is connected")


def test_a_lab_that_got_no_thread_retries_at_the_next_request(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    host = LabHost(NoTransport())
    with monkeypatch.context() as machine:
        machine.setattr("threading.Thread.start", refuse)
        with pytest.raises(RuntimeError):
            host.ask(lambda _: 1)
    assert host.ask(lambda _: 2) == 2
    host.stop()


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
    worlds.start_job("browser", lambda: FilmMaker(recording(event), given_up))
    worlds.start_job("browser", lambda: FilmMaker(recording(20), wanted))
    given_up.cancel()
    for _ in range(1_000):
        worlds.turn()
        if wanted.done():
            break
    assert wanted.result(0)["patches"]


def test_a_film_says_why_of_the_messages_that_somebody_may_ask_about(worlds):
    wanted = Future()
    worlds.start_job("browser", lambda: FilmMaker(recording(900), wanted))
    while not wanted.done():
        worlds.turn()
    why = wanted.result(0)["why"]
    assert 0 < len(why) <= WHY_MAX
    assert all(one["key"] == key and one["answers"] for key, one in why.items())


class Slices:
    """A job that takes this number of slices."""

    def __init__(self, name, slices, log):
        self.answer = Future()
        self.name, self.left, self.log = name, slices, log

    def advance(self, until):
        self.log.append(self.name)
        self.left -= 1
        return self.left == 0

    def close(self):
        self.log.append(f"{self.name} closed")


def test_browsers_take_turns_and_one_who_wants_much_does_not_keep_the_others_waiting(worlds):
    log = []
    for browser, name, slices in (("a", "a1", 3), ("a", "a2", 1), ("b", "b1", 2)):
        worlds.start_job(browser, lambda name=name, slices=slices: Slices(name, slices, log))
    while "a2 closed" not in log:
        worlds.turn()
    assert log == ["a1", "b1", "a1", "b1", "b1 closed", "a1", "a1 closed", "a2", "a2 closed"]


def test_one_browser_cannot_fill_the_queue_and_all_together_have_a_bound(worlds):
    def start(browser):
        worlds.start_job(browser, lambda: Slices(browser, 1, []))

    def reason(browser):
        with pytest.raises(LabRefused) as refused:
            start(browser)
        return refused.value.reason

    for number in range(JOBS_MAX):
        start(f"browser {number // JOBS_PER_BROWSER}")
    assert reason("browser 0") == "too_many_jobs"
    assert reason("a new one") == "server_busy"
    worlds.turn()
    start("browser 0")
