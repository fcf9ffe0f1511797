"""Each moment of a world can be said in a sentence, and the same one whenever one asks."""

from __future__ import annotations

import pytest

from engine.lab.narration.narrator import GRAVE, Narrator
from engine.lab.narration.relevance import frames_in_flight, is_event_relevant, is_frame_relevant
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario

LOCK_OFF = {"kind": "lock-switch", "target": "B1", "lock": "broker-lock", "on": False}


@pytest.fixture
def reported():
    """``reported(scenario, *commands, to_ms)``: the captions of a run, each once, and the run."""
    runs = []

    def report(scenario, *commands, to_ms):
        run = LabRun(load_scenario(scenario))
        runs.append(run)
        narrator = Narrator(run)
        for command in commands:
            run.apply(parse_command(command))
        captions = [narrator.caption]
        while run.now_us < to_ms * 1_000 and run.step():
            if narrator.caption != captions[-1]:
                captions.append(narrator.caption)
        return captions, run

    yield report
    for run in runs:
        run.close()


def sentences(captions, kind):
    return [str(caption.text) for caption in captions if caption is not None and caption.kind == kind]


def test_a_message_is_followed_from_its_producer_to_the_listener(reported):
    captions, _ = reported("three-locks", to_ms=1_400)
    texts = [str(caption.text) for caption in captions if caption is not None and "order-0-step-0" in caption.keys]
    assert texts == [
        "P1 sends order-0-step-0 to B1, for Q1.",
        "B1 stores order-0-step-0 at offset 0 of Q1 and answers P1.",
        "B1 returns order-0-step-0 from Q1 to C1.",
        "P1 receives the acknowledgement: order-0-step-0 is stored.",
        "C1 calls its listener with order-0-step-0.",
        "C1's listener has consumed order-0-step-0.",
    ]


def test_the_lock_says_who_gets_a_queue_and_who_does_not(reported):
    captions, _ = reported("three-locks", to_ms=5_000)
    locks = sentences(captions, "lock")
    assert "B1 locks Q1 for C1 for 60 s: no other member of the group can get it." in locks
    assert "B1 refuses C2 the lock on Q1: C1 holds it." in locks


def test_without_the_lock_the_duplicate_is_said_in_one_sentence(reported):
    captions, run = reported("three-locks", LOCK_OFF, to_ms=4_060)
    (switched,) = sentences(captions, "command")
    assert switched.startswith("Broker lock is now off.")
    assert "B1's lock is off: it grants C2 Q1, although C1 still holds the lock." in sentences(captions, "lock")
    last = captions[-1]
    assert last.event == run.violations[0].event
    assert (last.kind, last.weight) == ("violation", GRAVE)
    assert str(last.text) == (
        "C2 calls its listener with order-0-step-8 while C1 is still processing it: twice at the same time."
    )


def test_housekeeping_is_not_reported(reported):
    captions, _ = reported("three-locks", to_ms=3_000)
    texts = " ".join(str(caption.text) for caption in captions if caption is not None)
    assert "HEART_BEAT" not in texts
    assert "GET_ROUTEINFO" not in texts


def test_a_lost_frame_is_reported_whatever_it_was(reported):
    captions, _ = reported("three-locks", {"kind": "drop-next", "target": "", "frame": "HEART_BEAT"}, to_ms=500)
    assert [text for text in sentences(captions, "lost") if text.startswith("HEART_BEAT from")]


def test_a_transaction_is_reported_from_half_message_to_decision(reported):
    captions, _ = reported("bank-transaction", to_ms=4_000)
    texts = " ".join(sentences(captions, "transaction"))
    assert "as a half message: consumers cannot see it yet" in texts
    assert "has executed the local transaction" in texts
    assert "to commit the half message" in texts


@pytest.mark.parametrize("scenario", ["three-locks", "bank-transaction"])
def test_a_caption_does_not_depend_on_when_one_asks(reported, scenario):
    commands = [LOCK_OFF] if scenario == "three-locks" else []
    captions, run = reported(scenario, *commands, to_ms=4_200)
    with LabRun(run.scenario) as again:
        narrator = Narrator(again)
        for command in commands:
            again.apply(parse_command(command))
        for event in range(0, run.event_number, 37):
            again.run_events(event - again.event_number)
            at_the_time = [caption for caption in captions if caption is not None and caption.event <= event]
            assert narrator.caption == (at_the_time[-1] if at_the_time else None)


def use(strategy, *nodes):
    """The commands that give all of them that strategy."""
    return [{"kind": "setting", "target": node, "name": "idempotence_strategy", "value": strategy} for node in nodes]


def test_each_delivery_of_an_idempotent_listener_is_reported_with_its_verdict(reported):
    captions, _ = reported("order-and-stock", to_ms=1_300)
    texts = [str(caption.text) for caption in captions if caption is not None]
    assert "C2 did the work of order-0." in texts
    assert "C1 swallows again-0, a duplicate: order-0 is done." in texts
    assert "D1 refuses C1's INSERT: the record already exists." in texts
    assert "C2 commits its transaction in D1." in texts
    captions, _ = reported("order-and-stock", *use("state-table", "C1", "C2"), to_ms=1_300)
    texts = [str(caption.text) for caption in captions if caption is not None]
    assert (
        "C1 bounces again-0: according to its record, order-0 is already being processed. It will be delivered again."
        in texts
    )


def test_work_that_is_done_once_more_is_reported_at_its_commit(reported):
    captions, run = reported("order-and-stock", *use("check-then-act", "C1", "C2"), to_ms=1_300)
    (again,) = sentences(captions, "violation")
    assert again == "C1 reduces the stock for order-0 in D1 again: 2 times for one order."
    assert run.world.history.work_done[1].by == "C1"


def test_what_matters_is_a_table():
    assert is_event_relevant("C1/worker-0", "calls the listener")
    assert is_event_relevant("P1->B1#2", "frame arrives")
    assert not is_event_relevant("B1/flush-commit-log", "timer")
    assert not is_event_relevant("B1/delay level 7", "anything")
    assert not is_event_relevant("C1/worker-0", "goes on")
    assert is_frame_relevant("reply to LOCK_BATCH_MQ")
    assert not is_frame_relevant("reply to HEART_BEAT")


@pytest.mark.parametrize(
    ("on", "said"), [(False, "Broker lock is now off on all nodes."), (True, "Broker lock is on again on all nodes.")]
)
def test_a_switch_of_every_node_names_none(reported, on, said):
    captions, _ = reported("three-locks", {**LOCK_OFF, "target": "", "on": on}, to_ms=0)
    assert sentences(captions, "command")[0].startswith(said)


def test_a_frame_dropped_on_its_way_flies_no_more_and_its_caption_stays(reported):
    _, run = reported("three-locks", to_ms=1_000)
    narrator = Narrator(run)
    while not (flying := frames_in_flight(run.world)):
        assert run.step()
    (frame, _), caption = flying[0], narrator.caption
    link = f"{frame.source}->{frame.target}"
    run.apply(parse_command({"kind": "drop-frame", "target": link, "due_us": frame.arrives_us}))
    assert frame.number not in [flying.number for flying, _ in frames_in_flight(run.world)]
    assert caption.kind != "lost"
    assert narrator.caption.kind == "command"
