"""The record of the frames that pass an interceptor."""

from __future__ import annotations

from engine.faults import frame_record
from engine.faults.fault_rule import FaultAction
from engine.protocol.command.remoting_command import decode_command
from engine.protocol.request_code import RequestCode


def rows(frame_path):
    return [(one.number, one.direction.value, one.answers) for one in frame_path.injector.frame_record]


def test_requests_and_their_replies_are_written_down_in_order(frame_path):
    wire = frame_path.wire()
    frame_path.pull(wire)  # before: nobody records
    frame_path.do(lambda: frame_path.injector.record("", with_bodies=True))
    first = frame_path.pull(wire)
    second = wire.ask(RequestCode.SEND_MESSAGE, {"topic": "T"}, b"hello")
    wire.answer(second)
    wire.answer(first)
    assert rows(frame_path) == [(1, "in", 0), (2, "in", 0), (3, "out", 2), (4, "out", 1)]
    assert [decode_command(one.frame).body for one in frame_path.injector.frame_record][1] == b"hello"
    frame_path.do(frame_path.injector.stop_recording)
    frame_path.pull(wire)
    assert frame_path.injector.frame_record.count == 4
    assert wire.interceptor.frame_received == wire.handler.frame_received


def test_bodies_are_left_out_unless_they_are_wanted(frame_path):
    wire = frame_path.wire()
    frame_path.do(lambda: frame_path.injector.record("", with_bodies=False))
    wire.ask(RequestCode.SEND_MESSAGE, {"topic": "T"}, b"secret")
    (kept,) = frame_path.injector.frame_record
    assert b"secret" not in kept.frame
    assert kept.body_bytes == 6
    assert decode_command(kept.frame).ext_fields == {"topic": "T"}


def test_only_the_wanted_clients_are_recorded_by_address_or_id(frame_path):
    one, other = frame_path.wire("10.0.0.9:40000"), frame_path.wire("10.0.0.8:40000")
    frame_path.client_ids["10.0.0.8:40000"] = "billing@1"
    frame_path.do(lambda: frame_path.injector.record("billing*", with_bodies=True))
    frame_path.pull(one)
    frame_path.pull(other)
    assert [frame.address for frame in frame_path.injector.frame_record] == ["10.0.0.8:40000"]
    assert frame_path.injector.frame_record.clients == {"10.0.0.8:40000": "billing@1"}


def test_what_a_rule_did_to_a_frame_is_on_record(frame_path):
    wire = frame_path.wire()
    frame_path.add(FaultAction.DROP, "PULL_MESSAGE", times=1)
    frame_path.do(lambda: frame_path.injector.record("", with_bodies=True))
    frame_path.pull(wire)
    frame_path.pull(wire)
    assert [one.action for one in frame_path.injector.frame_record] == [FaultAction.DROP, None]


def test_of_too_many_frames_the_oldest_go(frame_path, monkeypatch):
    monkeypatch.setattr(frame_record, "FRAMES_MAX", 3)
    wire = frame_path.wire()
    frame_path.do(lambda: frame_path.injector.record("", with_bodies=True))
    for _ in range(5):
        frame_path.pull(wire)
    assert [one.number for one in frame_path.injector.frame_record] == [3, 4, 5]
    assert frame_path.injector.frame_record.count == 5
