"""What consumers of the lab find out by numbers is what the history of the world knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.lab.views.client_view import consumer_view
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.loss_watch import group_verdict
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario

MEMBERS = """
title: {{en: own, zh: 自己的}}
about: {{en: own, zh: 自己的}}
duration_ms: 60000
nodes:
  N1: {{role: name_server}}
  B1: {{role: broker}}
  P1:
    role: producer
    group: shop
    traffic: {{topic: Orders, count: 120, every_ms: 100, start_ms: 2000, key: "order-{{n}}", numbered: true}}
  C1: {{role: consumer, group: billing, topic: Orders, start_ms: 500, detect_loss: true{more}}}
  C2: {{role: consumer, group: billing, topic: Orders, start_ms: 6000, detect_loss: true{more}}}
  C3: {{role: consumer, group: billing, topic: Orders, start_ms: 9000, stop_ms: 13000, detect_loss: true}}
topics: {{Orders: {{queues: 4}}}}
script:
  - {{at_ms: 7500, kind: crash, target: C1}}
  - {{at_ms: 11000, kind: restart, target: C1}}
"""


@pytest.fixture(scope="module")
def scenario():
    """The run of loss-detector, at its end."""
    with LabRun(load_scenario("loss-detector")) as run:
        run.run_to_time(run.world.end_us)
        yield run


def found(run, node, *, on_arrival):
    role = run.world.nodes[node]
    (producer,) = group_verdict([role.loss_watch], run.world.now_us, on_arrival=on_arrival).producers
    return producer


def numbers(ranges):
    return [number for first, last in ranges for number in range(first, last + 1)]


def test_each_group_misses_what_the_text_of_the_scenario_says(scenario):
    assert found(scenario, "C1", on_arrival=True).lost_ranges == ((28, 40),)
    assert found(scenario, "C1", on_arrival=False).lost_ranges == ((11, 17), (28, 40))
    assert found(scenario, "C2", on_arrival=True).lost_ranges == ((16, 28),)
    assert found(scenario, "C2", on_arrival=False).lost_ranges == ((16, 28),)
    assert all(found(scenario, name, on_arrival=True).duplicated == 1 for name in ("C1", "C2"))


def test_the_document_has_the_figures_of_the_run(scenario):
    document = (Path(__file__).parents[2] / "docs" / "semantics" / "loss-detection.md").read_text()
    for name in ("C1", "C2"):
        door, done = (found(scenario, name, on_arrival=on_arrival) for on_arrival in (True, False))
        reported = [", ".join(f"{first} to {last}" for first, last in one.lost_ranges) for one in (done, door)]
        figures = [f"{door.met} of {door.numbered}", f"{done.met} of {done.numbered}", *reported, str(door.duplicated)]
        assert f"| {' | '.join(figures)} |" in document


def test_what_is_missing_is_what_the_history_never_saw_consumed(scenario):
    history = scenario.world.history
    for name in ("C1", "C2"):
        done = {int(one.key.removeprefix("order-")) for one in history.consumes_ended if one.node == name}
        begun = {int(one.key.removeprefix("order-")) for one in history.consumes_began if one.node == name}
        assert numbers(found(scenario, name, on_arrival=False).lost_ranges) == sorted({*range(60)} - done)
        assert numbers(found(scenario, name, on_arrival=True).lost_ranges) == sorted({*range(60)} - begun)


def test_it_agrees_with_the_checkers_on_who_acknowledges_early(scenario):
    accused = {one.element["group"] for one in scenario.violations if one.checker == "offsets-never-pass-unconsumed"}
    assert accused == {"careless"}
    assert found(scenario, "C1", on_arrival=False).lost > found(scenario, "C1", on_arrival=True).lost
    assert found(scenario, "C2", on_arrival=False).lost == found(scenario, "C2", on_arrival=True).lost


def test_the_card_shows_what_was_found(scenario):
    shown = consumer_view(scenario.world.nodes["C1"])["loss"]
    assert shown["done"]["ranges"] == [[11, 17], [28, 40]]
    assert (shown["delivered"]["met"], shown["delivered"]["numbered"], shown["delivered"]["missing"]) == (47, 60, 13)


def test_queues_that_move_between_members_and_crashes_make_no_losses_and_no_copies():
    with LabRun(parse_scenario(MEMBERS.format(more=""), "own")) as run:
        run.run_to_time(run.world.end_us)
        roles = run.world.roles(ConsumerNode)
        watches = [role.loss_watch for role in roles if role.loss_watch is not None]
        (whole,) = group_verdict(watches, run.world.now_us, on_arrival=True).producers
        assert (whole.numbered, whole.met, whole.lost, whole.duplicated, whole.out_of_order) == (120, 120, 0, 0, 0)
        calls = len(run.world.history.consumes_began)
        assert whole.delivered_again == calls - 120
        alone = [found(run, role.name, on_arrival=True).met for role in roles]
        assert all(0 < met < 120 for met in alone), "each had a part of the queues only"
        assert consumer_view(roles[0])["loss"] == consumer_view(roles[1])["loss"]


@pytest.mark.parametrize("more", [", expression: paid", ", sql: age > 5"])
def test_a_member_that_does_not_want_all_messages_cannot_look_for_losses(more):
    with pytest.raises(ScenarioError, match="detect_loss"):
        parse_scenario(MEMBERS.format(more=more), "own")
