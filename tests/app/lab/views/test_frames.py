"""The frames of a view depend on what travelled only, not on how often somebody looked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from app.lab.foundation.bounds import ARRIVED_FRAMES_SHOWN
from app.lab.views.frames import FramesView
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture
def run():
    with LabRun(load_scenario("general")) as made:
        yield made


def test_whoever_looks_late_sees_the_same_as_who_looked_all_the_time(run):
    often, late = FramesView(run.world), FramesView(run.world)
    for _ in range(300):
        run.run_events(5)
        shown = often.view(run.now_us)
    assert late.view(run.now_us) == shown
    assert len(shown) >= ARRIVED_FRAMES_SHOWN


def test_a_reply_names_its_request_even_when_that_was_sent_long_ago(run):
    recorder = FramesView(run.world)
    found = None
    while found is None:
        assert run.step()
        for frame in recorder.view(run.now_us):
            request_number = frame["reply_to"]
            if request_number and frame["sent_us"] - detail_of(recorder, request_number)["sent_us"] > 10_000_000:
                found = frame
    assert found["reply_to_name"] == "PULL_MESSAGE"
    reply, request = detail_of(recorder, found["id"]), detail_of(recorder, found["reply_to"])
    assert (request["source"], request["target"]) == (found["target"], found["source"])
    assert request["opaque"] == reply["opaque"]


def detail_of(recorder: FramesView, number: Any) -> Mapping[str, Any]:
    detail = recorder.detail(number)
    assert detail is not None
    return detail


def test_frames_in_flight_are_shown_however_many_have_arrived_since(run):
    recorder = FramesView(run.world)
    run.run_to_time(2_000_000)
    run.world.link_faults.poor_link("P1", "B1").delay_us = 3_000_000
    while not (slow := [frame for frame in recorder.view(run.now_us) if frame["source"] == "P1"][-1:]) or (
        slow[0]["arrives_us"] < run.now_us + 2_000_000
    ):
        assert run.step()
    for _ in range(20):
        run.run_events(10)
        shown = {frame["id"] for frame in recorder.view(run.now_us)}
    assert slow[0]["id"] in shown


def test_a_frame_that_a_cut_has_lost_on_its_way_is_shown_as_dropped():
    with LabRun(load_scenario("batch-trade-offs")) as run:
        recorder = FramesView(run.world)
        run.run_to_time(3_299_999)
        frames: list[Any] = recorder.view(run.now_us)
        under_way = [frame for frame in frames if frame["source"] == "B1" and frame["arrives_us"] > 3_310_000]
        assert under_way
        assert not any(frame["dropped"] for frame in under_way)
        run.run_to_time(3_305_000)
        lost = [detail_of(recorder, frame["id"]) for frame in under_way]
        assert all(frame["dropped"] for frame in lost)
        assert all(0 < frame["lost_share"] < 1 for frame in lost), "where the cut has met it, not in the middle"
        assert {frame["lost_share"] for frame in lost} != {0.5}
