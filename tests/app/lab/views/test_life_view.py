"""The page's view of messages' lives, delay levels and dead letters: figures from the engine, not from texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.foundation.patch import difference
from app.lab.foundation.bounds import LIFE_MARKS_SHOWN, LIVES_SHOWN
from app.lab.views import life_view
from app.lab.views.life_view import LifeView
from app.lab.views.world_view import WorldView, view_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.lab_scenarios import apply, run_to_ms, small

#: C1 cannot stand k-2; C2 of another group wants tag a only, k-1 has tag b.
WORLD = """
title: {en: t, zh: t}
about: {en: a, zh: a}
seed: 1
duration_ms: 60000
network: {latency_ms: 2, jitter_ms: 0}
nodes:
  N1: {role: name_server}
  B1: {role: broker, settings: {messageDelayLevel: "1s 1s 2s 5s 1h"}}
  P1:
    role: producer
    group: producers
    traffic: {topic: T, count: 4, every_ms: 100, start_ms: 1000, key: "k-{n}", tag: "a|b", queue: 0}
  C1:
    role: consumer
    group: shop
    topic: T
    start_ms: 100
    listener: {duration_ms: 50, result: throws, only_keys: [k-2]}
    settings: {maxReconsumeTimes: 2}
  C2: {role: consumer, group: picky, topic: T, expression: a, start_ms: 100}
topics:
  T: {queues: 1}
"""


@pytest.fixture
def begun() -> Iterator[Callable[..., LabRun]]:
    """``begun(ms, scenario)``: a run at that time."""
    runs: list[LabRun] = []

    def begin(time_ms: int, scenario=None) -> LabRun:
        runs.append(LabRun(scenario or parse_scenario(WORLD, "lives")))
        return run_to_ms(runs[-1], time_ms)

    yield begin
    for run in runs:
        run.close()


def message(run: LabRun, key: str) -> Any:
    return LifeView(run.world).build()["messages"][key]


def marks(life: dict, group: str | None = None) -> list[tuple]:
    """Kind and what tells it from its like."""
    shown = [mark for mark in life["marks"] if mark.get("group") in (None, group)]
    return [(mark["kind"], mark.get("attempt"), mark.get("result"), mark.get("level")) for mark in shown]


def test_a_message_that_is_consumed_was_produced_stored_and_delivered(begun):
    life = message(begun(3_000), "k-0")
    assert marks(life, "shop") == [
        ("produced", None, None, None),
        ("stored", None, None, None),
        ("delivered", 1, "success", None),
    ]
    produced, stored, delivered = (mark for mark in life["marks"] if mark.get("group") in (None, "shop"))
    assert (produced["at_us"], produced["node"]) == (1_000_000, "P1")
    assert (stored["broker"], stored["topic"], stored["queue_offset"]) == ("B1", "T", 0)
    assert delivered["until_us"] - delivered["at_us"] == 50_000
    assert (life["groups"]["shop"], life["in_trouble"]) == (
        {"state": "consumed", "attempts": 1, "until_us": None},
        False,
    )


def test_a_failing_message_climbs_the_levels_and_dies(begun):
    run = begun(2_000)
    life = message(run, "k-2")
    assert marks(life, "shop")[2:] == [("delivered", 1, "throws", None), ("delayed", None, None, 3)]
    delayed = life["marks"][-1]
    assert delayed["until_us"] - delayed["at_us"] == 2_000_000
    assert life["groups"]["shop"] == {"state": "delayed", "attempts": 1, "until_us": delayed["until_us"]}
    assert life["in_trouble"]
    run_to_ms(run, 12_000)
    life = message(run, "k-2")
    assert [kind for kind, *_ in marks(life, "shop")] == [
        *("produced", "stored", "delivered"),
        *("delayed", "due", "delivered"),
        *("delayed", "due", "delivered"),
        "dead",
    ]
    assert [mark["attempt"] for mark in life["marks"] if mark.get("group") == "shop" and "attempt" in mark] == [1, 2, 3]
    assert (life["groups"]["shop"]["state"], life["groups"]["shop"]["attempts"]) == ("dead", 3)
    assert life["groups"]["picky"]["state"] == "consumed"


def test_what_a_group_does_not_want_is_reported_once_it_is_past_it(begun):
    life = message(begun(20_000), "k-1")
    assert life["groups"]["picky"] == {"state": "filtered", "attempts": 0, "until_us": None}
    assert life["groups"]["shop"]["state"] == "consumed"
    # k-3 is the last one of its queue.
    assert message(begun(20_000), "k-3")["groups"]["picky"]["state"] == "filtered"


def test_a_dead_letter_lists_why_it_died_and_what_it_was_resent_as(begun):
    run = begun(12_000)
    broker = view_of(run)["nodes"]["B1"]
    (dead,) = broker["dead_letters"]["shop"]["messages"]
    assert (dead["keys"], dead["topic"], dead["retries"]) == (["k-2"], "T", 2)
    assert (dead["last_result"], dead["resent"]) == ("throws", None)
    apply(run, "listener", "C1", result="success", duration_ms=5)
    apply(run, "resend-dead-letter", "B1", group="shop", message=dead["id"], to="topic")
    run_to_ms(run, 14_000)
    (dead,) = view_of(run)["nodes"]["B1"]["dead_letters"]["shop"]["messages"]
    assert (dead["resent"]["topic"], dead["resent"]["queue_offset"]) == ("T", 4)
    life = message(run, "k-2")
    resent = next(mark for mark in life["marks"] if mark["kind"] == "resent")
    assert (resent["group"], resent["resends"], resent["at_us"]) == (None, dead["id"], dead["resent"]["at_us"])
    assert {group: part["state"] for group, part in life["groups"].items()} == {"shop": "consumed", "picky": "consumed"}
    assert life["groups"]["picky"]["attempts"] == 2


def test_used_delay_levels_show_what_waits_and_when_the_next_is_due(begun):
    run = begun(900)
    assert view_of(run)["nodes"]["B1"]["delay_levels"] is None
    run_to_ms(run, 2_000)
    part = view_of(run)["nodes"]["B1"]["delay_levels"]
    assert part["delays_ms"] == [1_000, 1_000, 2_000, 5_000, 3_600_000]
    (level,) = part["levels"]
    due_us = message(run, "k-2")["marks"][-1]["until_us"]
    assert level == {
        "level": 3,
        "delay_ms": 2_000,
        "queue_id": 2,
        "min": 0,
        "max": 1,
        "offset": 0,
        "waiting": 1,
        "next_due_us": due_us,
    }
    run_to_ms(run, 4_000)
    third, fourth = view_of(run)["nodes"]["B1"]["delay_levels"]["levels"]
    assert (third["waiting"], third["offset"], third["next_due_us"]) == (0, 1, None)
    assert (fourth["level"], fourth["waiting"]) == (4, 1)


def test_a_call_whose_process_is_killed_is_interrupted_and_the_message_waits(begun):
    run = begun(1_030)
    apply(run, "kill-consumer", "C1")
    life = message(run, "k-0")
    (call,) = [mark for mark in life["marks"] if mark["kind"] == "delivered" and mark["group"] == "shop"]
    assert (call["result"], call["until_us"]) == ("died", run.world.now_us)
    assert (life["groups"]["shop"]["state"], life["in_trouble"]) == ("waiting", True)


def test_the_end_of_another_process_interrupts_no_call(begun):
    run = begun(1_030)
    apply(run, "kill-consumer", "C2")
    (call,) = [mark for mark in message(run, "k-0")["marks"] if mark.get("group") == "shop"]
    assert (call["kind"], call["result"], call["until_us"]) == ("delivered", None, None)


def test_of_a_long_life_the_end_is_shown(begun, monkeypatch):
    run = begun(12_000)
    whole = message(run, "k-2")["marks"]
    monkeypatch.setattr(life_view, "LIFE_MARKS_SHOWN", 3)
    life = message(run, "k-2")
    assert (life["marks"], life["omitted_marks"]) == (whole[-3:], len(whole) - 3)


def test_what_a_power_cut_has_taken_is_marked_as_lost(begun):
    run = begun(1_310)
    assert [mark["kind"] for mark in message(run, "k-3")["marks"]][:2] == ["produced", "stored"]
    view = LifeView(run.world)
    view.build()
    apply(run, "crash-power", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, 5_000)
    lives = [view.build()["messages"]["k-3"], message(run, "k-3")]
    for life in lives:
        stored = [mark for mark in life["marks"] if mark["kind"] == "stored"]
        assert [mark.get("lost", False) for mark in stored] == [True], "a view that is made later knows it too"


def test_a_hanging_listener_that_is_given_up_has_timed_out(begun):
    scenario = small(
        (
            "listener: {duration_ms: 20}",
            "listener: {duration_ms: 20, result: hangs, only_keys: [k-0]}\n    settings: {consumeTimeout: 1}",
        ),
        ("duration_ms: 30000", "duration_ms: 150000"),
    )
    life = message(begun(130_000, scenario), "k-0")
    calls = [mark["result"] for mark in life["marks"] if mark["kind"] == "delivered"]
    assert calls[0] == "timed-out"
    assert any(mark["kind"] == "delayed" for mark in life["marks"])


def test_a_view_shows_the_newest_and_those_in_trouble_and_counts_the_others(begun):
    scenario = small(
        ("count: 20, every_ms: 100", "count: 60, every_ms: 20"),
        ("listener: {duration_ms: 20}", "listener: {duration_ms: 5, result: later, fails_first: 1, only_keys: [k-3]}"),
    )
    run = begun(4_000, scenario)
    life = LifeView(run.world).build()
    assert (life["total"], life["in_trouble"], life["omitted"]) == (60, 1, 60 - LIVES_SHOWN)
    assert list(life["messages"])[:2] == ["k-3", "k-31"]
    assert all(len(one["marks"]) <= LIFE_MARKS_SHOWN for one in life["messages"].values())
    found = LifeView(run.world).find("K-1", 5)
    assert [one["key"] for one in found] == ["k-15", "k-16", "k-17", "k-18", "k-19"]


def test_reading_on_tells_the_same_as_reading_everything_at_once(begun):
    run = begun(500)
    step_by_step = LifeView(run.world)
    for time_ms in range(600, 14_000, 170):
        run_to_ms(run, time_ms)
        step_by_step.build()
    assert step_by_step.build() == LifeView(run.world).build()


def test_a_message_to_which_nothing_happens_costs_no_patch(begun):
    run = begun(13_000)
    view = WorldView(run)
    first = view.build()
    run_to_ms(run, 14_000)
    second = view.build()
    assert second["life"]["messages"]["k-0"] is first["life"]["messages"]["k-0"]
    assert [operation for operation in difference(first, second) if operation[1][:1] == ["life"]] == []
