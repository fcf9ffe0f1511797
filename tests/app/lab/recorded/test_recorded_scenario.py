"""A recording of real clients becomes a scenario of the lab, in which they send the same frames in the same order."""

from __future__ import annotations

import asyncio
import json

import pytest

from app.lab.recorded import recorded_clients
from app.lab.recorded.recorded_scenario import recorded_film, recorded_scenario
from app.lab.views.frame_recording_view import frame_recording_view
from app.lab.views.recorded_frames import read_frames
from engine.client import ConsumeConcurrentlyStatus, LocalTransactionState, Message
from engine.lab.run.recording import parse_export
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import RecordingRefused
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.compression import compress_body
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import MESSAGE_COMPRESSED
from engine.testkit import GlassMQ
from engine.testkit.failed_test import recorded_frames
from tests.app.lab.views.test_frame_recording_view import frame_file, row
from tests.support.live.kit_clients import Listener, consuming, send, transactional

#: Requests that the application of a client causes. Pulls, heartbeats and offsets depend on timers.
CAUSED = ("SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE", "END_TRANSACTION", "CONSUMER_SEND_MSG_BACK")


@pytest.fixture
def recorder():
    with GlassMQ(records_frames=True) as broker:
        broker.create_topic("orders", queues=2)
        yield broker


def frames_of_recording(data):
    """By client: the frames that its application caused, in order."""
    found = {}
    for frame in frame_recording_view(read_frames(data))["frames"].values():
        if frame["name"] in CAUSED:
            found.setdefault(frame["source"], []).append(frame["name"])
    return found


def frames_of_lab(scenario):
    """The same of a run of the scenario, and the run."""
    run = LabRun(scenario)
    log = run.world.witness.frames
    log.remember(100_000, 1 << 28)
    run.run_to_time(scenario.duration_ms * 1_000)
    found = {}
    for frame in log.after(0):
        if frame.is_frame and (name := log.name_of(frame)) in CAUSED:
            found.setdefault(frame.source, []).append(name)
    return found, run


def made(data):
    result = recorded_scenario(data, "shop")
    return result.scenario, [str(text) for text in result.left_out]


def test_sends_retries_and_a_fault_are_the_same_in_the_lab(recorder):
    async def fails_twice(messages, _context):
        is_bad = messages[0].keys == ("17",) and messages[0].reconsume_times < 2
        return ConsumeConcurrentlyStatus.RECONSUME_LATER if is_bad else ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def consume():
        async with consuming(recorder, "orders", fails_twice):
            await asyncio.to_thread(recorder.wait_for, "SCHEDULE_TOPIC_XXXX")
            await asyncio.to_thread(recorder.advance, minutes=5, settle=10)
            await asyncio.to_thread(recorder.assert_consumed, "billing", "orders")

    with recorder.faults.reject("SEND_MESSAGE_V2", code="SYSTEM_ERROR", key="18", times=1):
        send(recorder, *(Message("orders", f"body {key}".encode(), keys=key, tags="a") for key in ("17", "18", "19")))
    asyncio.run(consume())
    data = recorded_frames(recorder)
    scenario, left_out = made(data)
    assert [(spec.key, spec.body, spec.tags, spec.count) for spec in scenario.node("P1").traffic] == [
        (key, f"body {key}", ("a",), 1) for key in ("17", "18", "19")
    ]
    assert dict(scenario.node("C1").listener.fails_by_key) == {"17": 2}
    assert [line.command.value["what"] for line in scenario.script] == ["reject"]
    assert scenario.duration_ms > 5 * 60_000
    recorded, (played, run) = frames_of_recording(data), frames_of_lab(scenario)
    with run:
        assert played == recorded
        assert len(played["P1"]) == 4  # the rejected send comes again
        assert not run.violations
    assert left_out[0].startswith("how long listeners took")


def test_transactions_end_as_they_did(recorder):
    async def transfer():
        for key, outcome in (
            ("1", LocalTransactionState.COMMIT_MESSAGE),
            ("2", LocalTransactionState.ROLLBACK_MESSAGE),
        ):
            async with transactional(recorder, Listener(outcome, outcome)) as producer:
                await producer.send_message_in_transaction(Message("orders", b"1", keys=key))
        await asyncio.to_thread(recorder.wait_for, "orders")

    asyncio.run(transfer())
    data = recorded_frames(recorder)
    scenario, _ = made(data)
    recorded, (played, run) = frames_of_recording(data), frames_of_lab(scenario)
    with run:
        assert played == recorded
        assert [(one.key, one.result) for one in run.world.history.transactions_ended] == [
            ("1", "commit"),
            ("2", "rollback"),
        ]


def test_what_cannot_be_carried_over_is_listed_in_both_languages(recorder):
    send(
        recorder,
        Message("orders", b"\xff\xfe", keys="a b"),
        Message("orders", b"{n}", keys="17"),
        Message("orders", b"1", keys="17"),
        Message("orders", b"1", properties={"why": "{node}"}),
    )
    with recorder.faults.delay("SEND_MESSAGE_V2", client="*", ms=1):
        send(recorder, Message("orders", b"1", keys="19"))
    scenario, left_out = made(recorded_frames(recorder))
    said = " ".join(left_out)
    for words in ("2 messages without a key", "2 message bodies", "1 user properties", "client named in 1 rules"):
        assert words in said
    assert all(words in scenario.about["en"] for words in ("2 messages without a key", "settings of the broker"))
    assert "2 条没有独有业务键的消息" in scenario.about["zh"]
    keys = [spec.key for node in ("P1", "P2") for spec in scenario.node(node).traffic if node in scenario.text]
    assert len(keys) == len({*keys}) == 5


def test_a_recording_without_rules_says_how_many_faults_are_missing():
    _, left_out = made(frame_file(frames=frame_file()["frames"][2:]))
    assert "faults on 1 frames" in " ".join(left_out)
    assert "the oldest 8 frames" in " ".join(left_out)


def sends_of(bodies, system_flag=0):
    """A file of sends with these bodies."""
    fields = {"b": "orders", "f": str(system_flag), "e": "0"} | dict.fromkeys("acdghjkl", "0")
    rows = [
        row(number, number, "p@1", "in", RemotingCommand(RequestCode.SEND_MESSAGE_V2, ext_fields=fields, body=body))
        for number, body in enumerate(bodies, 1)
    ]
    return frame_file(frames=rows)


def test_long_bodies_are_cut_until_a_scenario_has_room_for_all_of_them():
    scenario, left_out = made(sends_of([b'{"order": "' + b"x" * 3_000 + b'"}'] * 40))
    assert [len(one.body_of("P1", 1)) for one in scenario.node("P1").traffic] == [3_013] * 40
    assert "40 message bodies that are not text, are longer than 500 characters" in " ".join(left_out)


@pytest.mark.parametrize("hours", [24, 25, 24 * 400])
@pytest.mark.parametrize("many", [2, 40])
def test_a_recording_that_is_longer_than_a_run_of_the_lab_is_refused_by_its_length(hours, many):
    data = sends_of([b"x"] * many)
    for place, frame in enumerate(data["frames"]):
        frame[1] = hours * 3_600_000_000 * place // (many - 1)
    with pytest.raises(RecordingRefused, match=rf"lasts {hours}\.\d\d h; a run of the lab lasts 24 h at most"):
        recorded_scenario(data, "long")
    assert "scenario" not in recorded_film(data)


def test_a_recording_of_almost_a_day_becomes_a_scenario():
    data = sends_of([b"x"] * 3)
    data["frames"][2][1] = data["frames"][1][1] = 86_300_000_000
    assert made(data)[0].duration_ms > 86_300_000


def test_bodies_that_unpack_to_more_than_the_lab_allows_are_not_unpacked(monkeypatch):
    monkeypatch.setattr(recorded_clients, "BODIES_MAX_BYTES", 10_000)
    bodies = [compress_body(b"0" * size) for size in (4_000, 7_000, 6_000, 1)]
    scenario, left_out = made(sends_of(bodies, MESSAGE_COMPRESSED))
    assert [len(one.body_of("P1", 1)) for one in scenario.node("P1").traffic] == [4_000, 6_000]
    assert "SEND_MESSAGE_V2?" in " ".join(left_out)


def test_a_page_offers_the_run_that_the_lab_opens(recorder):
    send(recorder, Message("orders", b"1", keys="17"))
    offered = recorded_film(recorded_frames(recorder), "shop")["scenario"]
    run = parse_export(json.loads(offered["run"]))
    assert run.scenario.text == offered["text"]
    assert run.scenario.title["zh"] == "shop"
    assert offered["left_out"][-1].keys() == {"en", "zh"}
