"""The dead letters of a lab broker while it crashes, and more of them than are shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.lab.views import dead_letters_view
from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario_text import parse_scenario
from tests.app.lab.views.test_life_view import WORLD
from tests.support.lab.lab_scenarios import apply, run_to_ms

DIED_MS = 12_000


@pytest.fixture
def run() -> Iterator[LabRun]:
    """k-2 is dead."""
    run = LabRun(parse_scenario(WORLD, "dead letters"))
    yield run_to_ms(run, DIED_MS)
    run.close()


def dead_letters(view: WorldView):
    return view.build()["nodes"]["B1"]["dead_letters"]["shop"]


def resend(run: LabRun, dead: dict) -> None:
    apply(run, "resend-dead-letter", "B1", group="shop", message=dead["id"], to="group")


def resend_and_cut_power(run: LabRun, view: WorldView) -> None:
    """The broker has not flushed the resent message yet."""
    resend(run, dead_letters(view)["messages"][0])
    run_to_ms(run, DIED_MS + 5)
    assert dead_letters(view)["messages"][0]["resent"] is not None
    apply(run, "crash-power", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, DIED_MS + 3_000)


def test_a_broker_that_was_killed_has_its_dead_letters_once(run):
    view = WorldView(run)
    before = dead_letters(view)
    apply(run, "crash", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, DIED_MS + 3_000)
    assert dead_letters(view) == before
    assert before["group"]["count"] == len(before["messages"]) == 1


def test_a_resent_message_that_a_power_cut_has_taken_was_not_resent(run):
    view = WorldView(run)
    apply(run, "listener", "C1", result="success", duration_ms=5)
    resend_and_cut_power(run, view)
    (dead,) = dead_letters(view)["messages"]
    assert dead["resent"] is None
    resend(run, dead)
    run_to_ms(run, DIED_MS + 6_000)
    assert dead_letters(view)["messages"][0]["resent"] is not None


def test_while_a_retry_of_the_resent_message_is_left_it_was_resent(run):
    view = WorldView(run)
    resend_and_cut_power(run, view)  # meanwhile the consumer fails, and sends the message to the retry topic itself
    (dead,) = dead_letters(view)["messages"]
    assert dead["resent"]["topic"] == "%RETRY%shop"
    with pytest.raises(CommandRefused):  # the engine sees it as the page does
        resend(run, dead)


def test_why_it_died_does_not_change_when_it_is_consumed_in_the_end(run):
    view = WorldView(run)
    apply(run, "listener", "C1", result="success", duration_ms=5)
    resend(run, dead_letters(view)["messages"][0])
    run_to_ms(run, DIED_MS + 3_000)
    (dead,) = dead_letters(view)["messages"]
    assert (dead["last_result"], dead["resent"] is None) == ("throws", False)


def test_of_many_dead_letters_the_newest_are_shown_and_all_counted(run, monkeypatch):
    monkeypatch.setattr(dead_letters_view, "DEAD_LETTERS_SHOWN", 1)
    view = WorldView(run)
    (first,) = dead_letters(view)["messages"]
    resend(run, first)
    run_to_ms(run, 30_000)  # it fails again, and dies again
    shown = dead_letters(view)
    (second,) = shown["messages"]
    assert (shown["group"]["count"], shown["start"]) == (2, 1)
    assert second["queue_offset"] == first["queue_offset"] + 1


def test_a_dead_letter_has_times_of_the_world_whatever_its_brokers_clock_shows(run):
    view = WorldView(run)
    before = dead_letters(view)
    apply(run, "clock-skew", "B1", ms=3_600_000)
    run_to_ms(run, DIED_MS + 100)
    assert dead_letters(view) == before
    (dead,) = before["messages"]
    assert 0 < dead["born_us"] < dead["dead_us"] <= DIED_MS * 1_000
    assert before["group"]["newest_us"] == dead["dead_us"]


def test_a_dead_letter_says_its_cause_as_a_live_broker_does(run):
    (dead,) = dead_letters(WorldView(run))["messages"]
    assert (dead["cause"], dead["keys"], dead["resent_known"]) == ("consumer-decided", ["k-2"], True)
