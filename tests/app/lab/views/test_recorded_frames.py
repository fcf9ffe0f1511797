"""Files of frames, as a broker writes them and as the page reads them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from app.lab.recorded.recorded_scenario import recorded_film
from app.lab.views.recorded_frames import parse_frames, read_frames
from engine.faults.fault_rule import Direction, FaultAction, FaultRule
from engine.faults.frame_file import frame_file
from engine.faults.frame_record import FrameRecord
from engine.faults.frame_subject import FrameSubject
from engine.faults.state_record import StateRecord
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.request_code import RequestCode

#: What a client may have sent as its id or as a key: any length, and halves of characters.
ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=9) | st.just("k" * 3_000)


@given(client=ANY, row=ANY, value=ANY, made_ms=st.integers(-(10**7), 10**7))
def test_a_file_that_a_broker_writes_can_be_read_whatever_its_clients_sent(client, row, value, made_ms):
    states = StateRecord(lambda: {"half_messages": {row: [value, 7]}})
    record = FrameRecord("", with_bodies=True, started_ms=0, started_us=0, states=states)
    command = RemotingCommand.request(RequestCode.SEND_MESSAGE, body=b"hello")
    rule = FaultRule(FaultAction.DELAY, "SEND_MESSAGE", made_ms=made_ms, hits=1)
    frame, subject = encode_command(command)[4:], FrameSubject(command, None)
    record.note("10.0.0.4:5000", client, Direction.IN, frame, subject, rule, 1_000)
    data = parse_frames(json.dumps(frame_file(record, "broker-a", {client: "P7"})))
    assert read_frames(data).rules[0]["made_ms"] == made_ms
    assert "P7" in recorded_film(data)["view"]["nodes"]
