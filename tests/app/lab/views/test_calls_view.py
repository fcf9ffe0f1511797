"""Calls of listeners are bars of time: from when to when, and with what."""

from __future__ import annotations

import pytest

from app.lab.views.calls_view import CallsView
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture
def three_locks():
    run = LabRun(load_scenario("three-locks"))
    run.apply(parse_command({"kind": "lock-switch", "target": "B1", "lock": "broker-lock", "on": False}))
    yield run, CallsView(run.world)
    run.close()


def test_two_members_have_the_same_message_at_once(three_locks):
    run, calls = three_locks
    run.run_to_time(4_060_000)
    first, second = calls.build()[-2:]
    assert (first["node"], second["node"]) == ("C1", "C2")
    assert first["keys"] == second["keys"] == ["order-0-step-8"]
    assert first["until_us"] is second["until_us"] is None
    run.run_to_time(4_200_000)
    ended = next(call for call in calls.build() if call["event"] == first["event"])
    assert ended["until_us"] - ended["since_us"] == 300_000


def test_it_does_not_matter_when_one_asks(three_locks):
    run, calls = three_locks
    while run.now_us < 6_000_000 and run.step():
        calls.build()
    late = CallsView(run.world)
    assert late.build() == calls.build()
    assert late.between(0, 6_000_000, run.event_number) == calls.between(0, 6_000_000, run.event_number)


def test_a_stretch_of_time_has_the_calls_that_reach_into_it(three_locks):
    run, calls = three_locks
    run.run_to_time(3_000_000)
    found = calls.between(1_100_000, 1_200_000, run.event_number)
    assert [call["keys"] for call in found] == [["order-0-step-0"]]
    assert calls.between(1_100_000, 1_200_000, found[0]["event"] - 1) == []


def test_a_call_ends_with_its_process(three_locks):
    run, calls = three_locks
    run.run_to_time(1_100_000)
    run.apply(parse_command({"kind": "crash", "target": "C1"}))
    run.run_to_time(1_200_000)
    (call,) = calls.build()
    assert 1_100_000 <= call["until_us"] < 1_200_000
