"""Going back shows what was, whatever commands came between, and preparing for it comes to an end."""

import itertools
import random

import pytest

from app.lab.foundation.bounds import CHECKPOINTS_PER_WORLD
from app.lab.session import timeline as timeline_module
from app.lab.session.timeline import Timeline
from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario


def never():
    return False


@pytest.fixture
def timeline(monkeypatch):
    """1,500 events with three commands on the way; checkpoints are made every 200."""
    monkeypatch.setattr(timeline_module, "CHECKPOINT_EVERY_EVENTS", 200)
    timeline = Timeline(LabRun(load_scenario("general")))
    for kind, target in (("crash", "C1"), ("restart", "C1"), ("pause-node", "C2")):
        timeline.run.run_events(400)
        timeline.run.apply(parse_command({"kind": kind, "target": target}))
        for _ in range(5):
            timeline.grow(never)
    timeline.run.run_events(300)
    yield timeline
    timeline.close()


def true_view(timeline, event):
    """The same event in a world of its own."""
    run = timeline.run
    commands = [timed for timed in run.commands if timed.event <= event]
    with LabRun(run.scenario, run.seed, commands) as again:
        view = WorldView(again)
        again.run_events(event)
        return view.build()


def seek(timeline, event, views_before=0):
    way = timeline.begin_seek(event, views_before)
    view = way.advance(never)
    timeline.end_seek(way)
    return view


def grow_all(timeline):
    for rounds in itertools.count():
        if not timeline.grow(never):
            return rounds
        assert rounds < 100
    return 0


def test_any_event_of_the_past_looks_as_it_did(timeline):
    grow_all(timeline)
    for event in random.Random(1).sample(range(1, 1500), 12):
        assert seek(timeline, event) == true_view(timeline, event)
        timeline.grow(never)


def test_views_that_are_kept_are_true_too(timeline):
    grow_all(timeline)
    seek(timeline, 1234, views_before=30)
    for event in (1230, 1225, 1220, 1000, 650):
        assert timeline.kept_view(event) == true_view(timeline, event)


def test_preparing_comes_to_an_end_and_starts_again_only_for_what_was_used(timeline):
    grow_all(timeline)
    assert not timeline.grow(never)
    for event in random.Random(2).sample(range(1, 1500), 10):
        seek(timeline, event)
        assert grow_all(timeline) <= 3
    assert timeline.copies <= CHECKPOINTS_PER_WORLD + 2


@pytest.mark.parametrize(("most_events", "farthest"), [(600, 800), (8_000, 400)])
def test_checkpoints_of_a_long_run_stay_few_and_reach_its_end(monkeypatch, most_events, farthest):
    monkeypatch.setattr(timeline_module, "CHECKPOINT_EVERY_EVENTS", 50)
    monkeypatch.setattr(timeline_module, "CHECKPOINT_EVENTS_MAX", most_events)
    opened = []

    class CountedRun(LabRun):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            opened.append(self)

        def close(self):
            super().close()
            opened.remove(self)

    timeline = Timeline(LabRun(load_scenario("general")))
    monkeypatch.setattr(timeline_module, "LabRun", CountedRun)
    for _ in range(50):
        timeline.run.run_events(40)
        grow_all(timeline)
        end = timeline.run.event_number
        assert sum(run.event_number for run in opened) <= max(most_events, 2 * end)
        assert len(opened) <= CHECKPOINTS_PER_WORLD
    distances = []
    for event in range(end - 1, 0, -97):
        way = timeline.begin_seek(event)
        distances.append(event - way.copy.event)
        timeline.end_seek(way)
        grow_all(timeline)
    assert max(distances) < farthest
    timeline.close()
    assert not opened


def test_a_view_near_any_event_of_a_long_run_is_kept(monkeypatch):
    monkeypatch.setattr(timeline_module, "SPARSE_EVERY_EVENTS", 5)
    monkeypatch.setattr(timeline_module, "EVENTS_PER_LOOK", 5)
    monkeypatch.setattr(timeline_module, "SPARSE_VIEWS_KEPT", 30)
    timeline = Timeline(LabRun(load_scenario("general")))
    for _ in range(4):
        timeline.run.run_events(300)
        seek(timeline, timeline.run.event_number - 1)
    assert 15 <= sum(timeline.kept_view(event) is not None for event in range(1200)) <= 31
    for event in range(100, 1150, 50):
        near = timeline.near_view(event)
        assert near is not None
        assert abs(near["event"] - event) <= 80
        assert near == true_view(timeline, near["event"])
    timeline.close()


def test_a_copy_is_not_run_past_a_command_that_it_does_not_know(timeline):
    grow_all(timeline)
    timeline.run.apply(parse_command({"kind": "crash", "target": "P1"}))
    timeline.run.run_events(150)
    event = timeline.run.event_number - 20
    assert seek(timeline, event) == true_view(timeline, event)


def test_after_a_fork_nothing_remembers_the_future_that_is_gone(timeline):
    grow_all(timeline)
    seek(timeline, 600)
    timeline.fork(600)
    assert timeline.run.event_number == 600
    assert [timed.event for timed in timeline.run.commands] == [400]
    timeline.run.apply(parse_command({"kind": "crash", "target": "B1"}))
    timeline.run.run_events(500)
    grow_all(timeline)
    for event in (1050, 820, 601, 599, 300):
        assert seek(timeline, event) == true_view(timeline, event)


def test_a_fork_where_nobody_looked_yet_is_the_same_run(timeline):
    timeline.fork(500)
    timeline.run.run_events(500 - timeline.run.event_number)
    with LabRun(timeline.run.scenario, timeline.run.seed, timeline.run.commands) as again:
        again.run_events(500)
        assert again.journal_hash == timeline.run.journal_hash
