"""What the views build is what app/picture says: no key is missing, none is unknown, all have the right type."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.foundation.operator_requests import ResendRequest
from app.lab.views.record_detail import record_at
from app.lab.views.world_view import WorldView
from app.observation.client_names import ClientNames
from app.observation.live_state import LiveState
from app.observation.recent_log import RecentLog
from app.observation.record_view import queue_entry_view
from app.picture.dead_letter import DeadLetter, DeadLetterGroup, DeadLetterPage, ResendReport
from app.picture.frame import FrameDetail
from app.picture.live_state import EngineState, HealthFacts, LivePicture
from app.picture.record import QueueEntryView, RecordView
from app.picture.world.raft import RaftEntry
from app.picture.world.world import WorldPicture
from engine.broker.delivery.dead_letter import ResendTo
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario, scenario_names
from tests.engine.broker.lab_broker import broker_lab
from tests.support.live.live_server import LiveServer, message
from tests.support.picture.schema_problems import schema_problems

#: Together they have nodes of all roles, and each part of a picture.
CHOSEN = (
    "03-ordered-consumption",
    "07-half-messages",
    "10-two-phase-commit",
    "check-max-discard",
    "completed-fetches",
    "delay-levels",
    "isr-shrinks",
    "loss-detector",
    "majority-log",
    "mysql-two-phase",
    "page-cache",
    "request-reply",
    "retry-to-dead-letter",
    "setnx-loses",
    "sync-master",
)
PICTURES = 5
LONGEST_US = 40_000_000


def pictures(run: LabRun) -> Iterator[object]:
    """The world at some moments of its course, the first of them before any event."""
    view = WorldView(run)
    for number in range(PICTURES):
        run.run_to_time(min(run.world.end_us * number // (PICTURES - 1), LONGEST_US * number))
        yield view.build()


def problems_of(scenario: str) -> list[str]:
    with LabRun(load_scenario(scenario)) as run:
        return [line for picture in pictures(run) for line in schema_problems(picture, WorldPicture)]


@pytest.mark.parametrize("scenario", CHOSEN)
def test_a_world_follows_the_schema(scenario):
    assert problems_of(scenario) == []


@pytest.mark.thorough
@pytest.mark.parametrize("scenario", [name for name in scenario_names() if name not in CHOSEN])
def test_every_other_world_follows_the_schema(scenario):
    assert problems_of(scenario) == []


@pytest.mark.parametrize("scenario", ["hello", "majority-log", "completed-fetches", "sync-master"])
def test_frames_follow_the_schema(scenario):
    with LabRun(load_scenario(scenario)) as run:
        view = WorldView(run)
        run.run_to_time(min(run.world.end_us, LONGEST_US))
        details = [view.frames.detail(frame["id"]) for frame in view.frames.view(run.world.now_us)]
        assert details
        assert [line for detail in details for line in schema_problems(detail, FrameDetail)] == []


def test_a_live_broker_follows_the_schema():
    with broker_lab() as lab:
        assert lab.name_server is not None
        client = lab.client("billing")
        client.create_topic("orders", queues=2)
        client.heartbeat("billing", {"orders": "*"})
        state = LiveState(lab.name_server, lab.broker, "data", RecentLog(), ClientNames())
        found = [*schema_problems(state.build(), EngineState), *schema_problems(state.brief(), HealthFacts)]
        client.send("orders")
        (received,) = client.messages("orders", group="billing")
        client.send_back(received, group="billing", delay_level=3)
        client.begin(client.pull_request("orders", 1, group="billing", suspend_ms=60_000))
        lab.run_for(2_000)
        after = state.build()
        assert after["delay_levels"] is not None and after["groups"]["billing"]["members"]
        found += schema_problems(after, EngineState)
        found += schema_problems(state.brief(), HealthFacts)
        assert found == []


def test_what_a_live_page_gets_follows_the_schema(tmp_path):
    with LiveServer(tmp_path, page=False) as live:
        live.create_topic("orders", queues=2)
        live.send(message("orders", "one"))
        assert list(schema_problems(live.host.state(), LivePicture)) == []


def test_dead_letters_of_a_live_broker_follow_the_schema(tmp_path):
    with LiveServer(tmp_path, page=False) as live:
        live.create_topic("%DLQ%shop", 1)
        live.send(message("%DLQ%shop", "one", keys="k"))

        def ask(work):
            return live.host.ask(lambda engine: work(engine.operator))

        for to, outcome in ((ResendTo.TOPIC, "failed"), (ResendTo.GROUP, "resent")):
            page = ask(lambda operator: operator.dead_letters("shop", None, 10))
            assert list(schema_problems(page, DeadLetterPage)) == []
            request = ResendRequest(("k",), to)
            report = ask(lambda operator, request=request: operator.resend_dead_letters("shop", request))
            assert (len(report[outcome]), list(schema_problems(report, ResendReport))) == (1, [])
        (dead,) = ask(lambda operator: operator.dead_letters("shop", None, 10))["messages"]
        assert list(schema_problems(dead, DeadLetter)) == [] != dead["resent"]
        (group,) = ask(lambda operator: operator.dead_letter_groups())
        assert list(schema_problems(group, DeadLetterGroup)) == []


def test_the_detail_of_a_record_follows_the_schema():
    with LabRun(load_scenario("hello")) as run:
        run.run_to_time(run.world.end_us)
        view = record_at(run, "B1", 0)
        assert list(schema_problems(view, RecordView)) == []
        assert list(schema_problems(queue_entry_view((0, view["record"]["size_bytes"], -1)), QueueEntryView)) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"term": None}, "picture.term: None in place of <class 'int'>"),
        ({"term": True}, "picture.term: True in place of <class 'int'>"),
        ({"rank": 1}, "picture.rank: RaftEntry has no such key"),
    ],
)
def test_what_is_not_in_the_schema_is_reported(change, problem):
    entry = {"index": 1, "term": 1, "text": "a", "kind": "command", "is_committed": True}
    assert list(schema_problems(entry, RaftEntry)) == []
    assert list(schema_problems({**entry, **change}, RaftEntry)) == [problem]
    assert next(schema_problems({"index": 1}, RaftEntry)) == "picture: RaftEntry needs term"
