"""The search that loses frames: what it finds, that a link repeats it, and that it covers what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.lab.checkers import Violation
from engine.lab.explorer import gated_run
from engine.lab.explorer.exploration import Counterexample, Exploration
from engine.lab.explorer.lost_frames import LOST_FRAMES
from engine.lab.explorer.plan import ExplorationRefused, ExplorationRequest, make_plan
from engine.lab.explorer.search import SearchBounds, SearchBranch, count_after, schedules_after
from engine.lab.explorer.stage import ends_when_consumed, execute_on_stage, replay, violation_of
from engine.lab.explorer.stall import FOR_EVER_MS, Stall, StallKind, StepPoint
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.run.spread import spread_here
from engine.lab.scenario.command import FRAME_NAMES
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.exploring import explore, found_by
from tests.support.tiers import examples

NAIVE = load_scenario("bank-naive")
#: The bank that is credited stops in good order, which commits its progress, and starts again.
RESTARTED = """
title: {en: A transfer, zh: 一笔转账}
about: {en: A transfer., zh: 一笔转账。}
seed: 1
duration_ms: 12000
network: {latency_ms: 2}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  P1:
    role: producer
    group: icbc
    traffic: {topic: Transfers, count: 1, start_ms: 1000, key: "transfer-{n}"}
    bank: {name: ICBC, account: A, opening: 100000, amount: 10000, way: transaction}
  C1: {role: consumer, group: ccb, topic: Transfers, bank: {name: CCB, account: B, opening: 0}}
topics: {Transfers: {queues: 1}}
script:
  - {at_ms: 2500, kind: stop-consumer, target: C1}
  - {at_ms: 4000, kind: start-consumer, target: C1}
"""
#: One order is paid: work in a database, guarded by one strategy or another.
ORDER = """
title: {en: An order, zh: 一个订单}
about: {en: An order., zh: 一个订单。}
seed: 1
duration_ms: 40000
network: {latency_ms: 2}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  P1:
    role: producer
    group: shop-producers
    traffic: {topic: Orders, count: 1, start_ms: 1000, key: "order-{n}"}
  C1:
    role: consumer
    group: shop
    topic: Orders
    listener: {duration_ms: 100}
    work: {database: D1}
    settings: {idempotence_strategy: STRATEGY, idempotence_key: keys}
  D1: {role: database, stock: 20}
topics: {Orders: {queues: 1}}
script:
  - {at_ms: 2500, kind: stop-consumer, target: C1}
  - {at_ms: 4000, kind: start-consumer, target: C1}
"""
ONLY_LOSSES = {"max_stalls": 0, "max_crashes": 0, "max_losses": 1}
SEND = "SEND_MESSAGE_V2"
REPLY_TO_SEND = f"reply to {SEND}"


def restarted() -> Scenario:
    return parse_scenario(RESTARTED, "restarted")


def order(strategy: str) -> Scenario:
    return parse_scenario(ORDER.replace("STRATEGY", strategy), "order")


def assert_repeats(finding: Counterexample, lost: list[tuple[str, object]]) -> None:
    """The link breaks the same at the same event, by ordinary commands."""
    recording = parse_link(finding.link)
    with LabRun(recording.scenario, recording.seed, recording.commands) as run:
        run.stand_at(recording.event, recording.time_us)
        assert run.violations == []
        run.stops_at_violations = True
        run.run_to_time(run.world.end_us)
        assert isinstance(run.stopped_by, Violation)
        assert run.stopped_by == finding.violation
        drops = [timed.command for timed in run.commands if timed.command.kind == "drop-next"]
        assert [(command.target, command.value["frame"]) for command in drops] == lost
        assert run.world.link_faults.next_frames == [], "it was lost"


def test_a_lost_answer_to_a_send_makes_money_from_nowhere_where_the_debit_comes_after_send_ok() -> None:
    finding = found_by(NAIVE, **ONLY_LOSSES)
    (loss,) = finding.holds
    assert loss.stall == Stall(StepPoint("B1->P1", REPLY_TO_SEND, 1), FOR_EVER_MS, StallKind.LOSS)
    assert finding.violation.checker == "no-money-from-nowhere"
    assert loss.caption["en"].startswith(
        "The response of B1 to SEND_MESSAGE_V2 from P1 is lost in transit. The message is"
    )
    assert loss.caption["zh"].startswith("B1 对 P1 的 SEND_MESSAGE_V2 的应答在途中丢失。消息已经存储")
    assert loss.meanwhile["en"].startswith("Afterwards C1 starts to consume transfer-0")
    assert_repeats(finding, [("B1->P1", REPLY_TO_SEND)])


def test_a_lost_commit_of_the_progress_credits_twice_unless_the_bank_is_idempotent() -> None:
    finding = found_by(restarted(), without=("idempotent-consumer",), **ONLY_LOSSES)
    (loss,) = finding.holds
    assert loss.stall.point[:2] == ("C1->B1", "UPDATE_CONSUMER_OFFSET")
    assert finding.violation.anomaly == "duplicate"
    assert "consumes them again" in loss.caption["en"]
    assert_repeats(finding, [("C1->B1", "UPDATE_CONSUMER_OFFSET")])
    state = explore(restarted(), **ONLY_LOSSES)
    assert (state.finding, state.unconfirmed, state.is_complete) == (None, 0, True)


def test_at_least_once_does_the_work_again_after_a_lost_commit_of_the_progress_and_exactly_once_does_not() -> None:
    offset = {**ONLY_LOSSES, "lose": ("UPDATE_CONSUMER_OFFSET",)}
    finding = found_by(order("none"), **offset)
    assert (finding.violation.checker, finding.violation.anomaly) == ("work-done-once", "duplicate")
    assert_repeats(finding, [("C1->B1", "UPDATE_CONSUMER_OFFSET")])
    assert explore(order("state-table"), **offset).finding is None
    state = explore(order("message-table"), **ONLY_LOSSES)
    assert (state.finding, state.unconfirmed, state.is_complete) == (None, 0, True)
    assert state.bounded.schedules > 15


def test_a_lost_answer_of_the_database_is_what_a_state_table_without_a_transaction_does_not_bear() -> None:
    finding = found_by(replace(order("state-table"), script=()), **ONLY_LOSSES)
    (loss,) = finding.holds
    assert loss.stall.point[:2] == ("D1->C1", "reply to SQL_EXECUTE")
    assert finding.violation.checker == "work-done-once"
    assert "treats its work as failed" in loss.caption["en"]


@settings(max_examples=examples(quick=10, full=100))
@given(st.data())
def test_the_commands_of_a_schedule_with_lost_frames_repeat_it_to_the_event(data: st.DataObject) -> None:
    scenario = data.draw(st.sampled_from((restarted(), order("none"), order("message-table"))))
    setting = make_plan(ExplorationRequest(scenario, max_losses=2)).setting
    points = data.draw(st.lists(st.sampled_from(execute_on_stage(setting, ()).points), max_size=3, unique=True))
    kinds = st.sampled_from((StallKind.HOLD, StallKind.CRASH))
    stalls = tuple(
        Stall(point, FOR_EVER_MS, StallKind.LOSS) if point.is_frame else Stall(point, 500, data.draw(kinds))
        for point in points
    )
    outcome = execute_on_stage(setting, stalls)
    with replay(setting, outcome.commands) as run:
        assert violation_of(run, setting.wanted) == outcome.violation
        assert run.event_number == outcome.events


def test_losses_have_a_bound_of_their_own_beside_stalls_and_crashes() -> None:
    point, frame = StepPoint("C1/worker", "updates the offset", 1), StepPoint("B1->C1", "reply to PULL_MESSAGE", 1)
    bounds = SearchBounds(max_stalls=1, hold_ms=(5,), max_crashes=1, crash_nodes=("C1",), restart_ms=(7,), max_losses=1)
    hold, crash = Stall(point, 5), Stall(point, 7, StallKind.CRASH)
    loss = Stall(frame, FOR_EVER_MS, StallKind.LOSS)
    for begun, more in (
        ((), [crash, hold, loss]),
        ((loss._replace(point=frame._replace(occurrence=2)),), [crash, hold]),
        ((hold._replace(point=point._replace(occurrence=2)),), [crash, loss]),
    ):
        branch = SearchBranch(begun, (point, frame))
        assert list(schedules_after(branch, bounds)) == [(*begun, one) for one in more]
        assert count_after(branch, bounds) == len(more)
    assert bounds.max_depth == 3


def test_every_frame_of_the_window_is_lost_once_and_every_pair_of_them_once() -> None:
    plan = make_plan(
        ExplorationRequest(restarted(), max_stalls=0, max_crashes=0, max_losses=2, lose=(SEND,), to_ms=3_000)
    )
    exploration = Exploration(plan)
    for _ in exploration.steps():
        pass
    # The half message. Nobody sends it again within the story: a single try takes all the time that a send has.
    assert exploration.state.bounded.by_depth == [1, 1, 0]
    plan = make_plan(ExplorationRequest(NAIVE, max_stalls=0, max_crashes=0, max_losses=1))
    outcome = execute_on_stage(plan.setting, ())
    frames = [point for point in outcome.points if point.is_frame]
    assert len(dict.fromkeys(frames)) == len(frames) > 10
    assert {name for _, name, _ in frames} <= {*LOST_FRAMES}
    assert frames[0] == StepPoint("P1->B1", SEND, 1)


def test_two_lost_frames_may_be_needed_and_are_shrunk_to_those_that_are() -> None:
    plan = make_plan(ExplorationRequest(NAIVE, max_stalls=0, max_crashes=0, max_losses=2))
    needless = Stall(StepPoint("P1->B1", SEND, 2), FOR_EVER_MS, StallKind.LOSS)
    needed = Stall(StepPoint("B1->P1", REPLY_TO_SEND, 1), FOR_EVER_MS, StallKind.LOSS)
    exploration = Exploration(plan)
    assert exploration._is_broken((needed, needless))
    for _ in exploration._report((needed, needless)):
        pass
    assert exploration.state.finding is not None
    assert [hold.stall for hold in exploration.state.finding.holds] == [needed]


def test_of_frames_alike_that_one_event_sends_over_one_link_only_the_first_can_be_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = make_plan(ExplorationRequest(NAIVE, **ONLY_LOSSES))  # type: ignore[arg-type]  # fields
    leaves = gated_run.GatedRun.frame_leaves
    events: list[tuple[int, str, str]] = []

    def noted(run: gated_run.GatedRun, link: str, name: str) -> None:
        if run._is_in_window:
            events.append((run._loop.event_number, link, name))
        leaves(run, link, name)
        leaves(run, link, name)

    monkeypatch.setattr(gated_run.GatedRun, "frame_leaves", noted)
    points = [point for point in execute_on_stage(plan.setting, ()).points if point.is_frame]
    assert len(points) == len(dict.fromkeys(events))


def test_a_search_with_more_frames_than_it_may_lose_does_not_claim_to_be_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {**ONLY_LOSSES, "lose": ("END_TRANSACTION", SEND)}
    assert explore(restarted(), **options).bounded.by_depth == [1, 2]
    monkeypatch.setattr(gated_run, "FRAMES_MAX", 1)
    state = explore(restarted(), **options)
    assert state.bounded.by_depth == [1, 1]
    assert not state.is_complete


def test_a_shared_search_loses_the_same_frames_in_the_same_order() -> None:
    plan = make_plan(ExplorationRequest(restarted(), **ONLY_LOSSES))  # type: ignore[arg-type]  # fields

    def backwards(function, items):
        """Workers hand their pieces in in any order."""
        yield from reversed(list(spread_here(function, items)))

    reports = []
    for spread in (None, backwards):
        exploration = Exploration(plan, spread=spread)
        seen = [exploration.state.search.events for _ in exploration.steps()]
        reports.append((seen, exploration.state.to_dict()))
    assert reports[0] == reports[1]


def test_a_story_in_which_frames_are_lost_is_watched_to_its_end() -> None:
    ordered = load_scenario("two-consumers")
    plan = make_plan(ExplorationRequest(ordered, max_stalls=0, lose=("UPDATE_CONSUMER_OFFSET",)))
    assert plan.bounds.max_losses == 1, "who names frames wants them lost"
    assert plan.setting.last_us == ordered.duration_ms * 1_000
    assert not ends_when_consumed(plan.setting)
    assert ends_when_consumed(replace(plan.setting, lost_frames=()))


def test_what_the_script_loses_anyway_is_lost_first_and_the_link_still_repeats_the_rest() -> None:
    naive = (
        NAIVE.text + "\nscript:\n  - {at_ms: 900, kind: drop-next, target: B1->P1, frame: reply to SEND_MESSAGE_V2}\n"
    )
    scenario = parse_scenario(naive, "naive")
    plan = make_plan(ExplorationRequest(scenario, **ONLY_LOSSES))  # type: ignore[arg-type]  # fields
    stalls = (Stall(StepPoint("B1->P1", REPLY_TO_SEND, 1), FOR_EVER_MS, StallKind.LOSS),)
    outcome = execute_on_stage(plan.setting, stalls)
    assert [timed.command for timed in outcome.commands] == [Command("drop-next", "B1->P1", {"frame": REPLY_TO_SEND})]
    finding = Exploration(plan)._counterexample(stalls)
    assert finding is not None
    assert finding.violation == outcome.violation


def test_without_losses_frames_are_no_points_and_usual_are_those_that_matter_for_messages() -> None:
    plan = make_plan(ExplorationRequest(NAIVE))
    assert plan.bounds.max_losses == 0
    assert not any(point.is_frame for point in execute_on_stage(plan.setting, ()).points)
    assert make_plan(ExplorationRequest(NAIVE, max_losses=1)).setting.lost_frames == tuple(LOST_FRAMES)
    assert {*LOST_FRAMES} < {*FRAME_NAMES}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_losses": 3}, "max_losses is 3; allowed: 0 to 2"),
        ({"lose": ("SEND",)}, "unknown frame name 'SEND'"),
        ({"lose": ("reply",)}, "unknown frame name 'reply'"),
        ({"lose": ("",)}, "common names: SEND_MESSAGE_V2, reply to SEND_MESSAGE_V2, "),
    ],
)
def test_a_loss_that_cannot_be_searched_is_refused_by_name(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ExplorationRefused, match=problem) as caught:
        make_plan(ExplorationRequest(NAIVE, **options))  # type: ignore[arg-type]  # fields
    assert caught.value.text["zh"] != caught.value.text["en"]
