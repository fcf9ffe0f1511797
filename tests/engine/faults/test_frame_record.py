"""What is written down of the frames that pass a door."""

from __future__ import annotations

from engine.faults import frame_record
from engine.faults.fault_rule import Deed
from engine.protocol.command.remoting_command import decode_command
from engine.protocol.request_code import RequestCode


def rows(doorway):
    return [(one.number, one.direction.value, one.answers) for one in doorway.gate.frame_record]


def test_requests_and_their_replies_are_written_down_in_order(doorway):
    wire = doorway.wire()
    doorway.pull(wire)  # before: nobody records
    doorway.do(lambda: doorway.gate.record("", with_bodies=True))
    first = doorway.pull(wire)
    second = wire.ask(RequestCode.SEND_MESSAGE, {"topic": "T"}, b"hello")
    wire.answer(second)
    wire.answer(first)
    assert rows(doorway) == [(1, "in", 0), (2, "in", 0), (3, "out", 2), (4, "out", 1)]
    assert [decode_command(one.frame).body for one in doorway.gate.frame_record][1] == b"hello"
    doorway.do(doorway.gate.stop_recording)
    doorway.pull(wire)
    assert doorway.gate.frame_record.count == 4
    assert wire.door.frame_received == wire.handler.frame_received


def test_bodies_are_left_out_unless_they_are_wanted(doorway):
    wire = doorway.wire()
    doorway.do(lambda: doorway.gate.record("", with_bodies=False))
    wire.ask(RequestCode.SEND_MESSAGE, {"topic": "T"}, b"secret")
    (kept,) = doorway.gate.frame_record
    assert b"secret" not in kept.frame
    assert kept.body_bytes == 6
    assert decode_command(kept.frame).ext_fields == {"topic": "T"}


def test_only_the_wanted_clients_are_recorded_by_address_or_id(doorway):
    one, other = doorway.wire("10.0.0.9:40000"), doorway.wire("10.0.0.8:40000")
    doorway.client_ids["10.0.0.8:40000"] = "billing@1"
    doorway.do(lambda: doorway.gate.record("billing*", with_bodies=True))
    doorway.pull(one)
    doorway.pull(other)
    assert [frame.address for frame in doorway.gate.frame_record] == ["10.0.0.8:40000"]
    assert doorway.gate.frame_record.clients == {"10.0.0.8:40000": "billing@1"}


def test_what_a_rule_did_to_a_frame_is_on_record(doorway):
    wire = doorway.wire()
    doorway.add(Deed.DROP, "PULL_MESSAGE", times=1)
    doorway.do(lambda: doorway.gate.record("", with_bodies=True))
    doorway.pull(wire)
    doorway.pull(wire)
    assert [one.deed for one in doorway.gate.frame_record] == [Deed.DROP, None]


def test_of_too_many_frames_the_oldest_go(doorway, monkeypatch):
    monkeypatch.setattr(frame_record, "FRAMES_MAX", 3)
    wire = doorway.wire()
    doorway.do(lambda: doorway.gate.record("", with_bodies=True))
    for _ in range(5):
        doorway.pull(wire)
    assert [one.number for one in doorway.gate.frame_record] == [3, 4, 5]
    assert doorway.gate.frame_record.count == 5
