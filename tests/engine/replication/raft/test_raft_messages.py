"""Frames say what was said, and whatever else comes is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.replication.raft.errors import RaftFrameRefused
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_messages import (
    AppendAnswer,
    AppendEntries,
    RaftMessage,
    RequestVote,
    VoteAnswer,
    VoteVerdict,
    decode_message,
    encode_message,
)

NUMBERS = st.integers(0, 1 << 40)
FLAGS = st.integers(0, 1)
NAMES = st.text(min_size=1, max_size=20).filter(lambda name: len(name.encode()) < 256)


@st.composite
def appends(draw: st.DrawFn) -> AppendEntries:
    previous, term = draw(NUMBERS), draw(NUMBERS)
    entries = tuple(
        RaftEntry(previous + 1 + number, term, draw(st.sampled_from(EntryKind)), draw(st.binary(max_size=30)))
        for number in range(draw(st.integers(0, 4)))
    )
    return AppendEntries(draw(NAMES), term, previous, draw(NUMBERS), draw(NUMBERS), entries)


MESSAGES = st.one_of(
    st.builds(RequestVote, NAMES, NUMBERS, NUMBERS, NUMBERS, FLAGS),
    st.builds(VoteAnswer, NAMES, NUMBERS, FLAGS, st.sampled_from([*map(int, VoteVerdict)])),
    appends(),
    st.builds(AppendAnswer, NAMES, NUMBERS, FLAGS, NUMBERS),
)


@given(MESSAGES)
def test_a_message_is_what_it_was_before_it_travelled(message: RaftMessage):
    frame = encode_message(message)
    assert struct.unpack(">I", frame[:4]) == (len(frame) - 4,)
    assert decode_message(frame[4:]) == message


@given(MESSAGES, st.data())
def test_a_frame_that_is_cut_or_changed_is_another_message_or_refused(message: RaftMessage, data: st.DataObject):
    frame = bytearray(encode_message(message)[4:])
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] ^= data.draw(st.integers(1, 255))
    del frame[data.draw(st.integers(0, len(frame))) :]
    try:
        decode_message(bytes(frame))
    except RaftFrameRefused:
        pass


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "begins with b''"),
        (b"GET / HTTP/1.1", "begins with b'GET '"),
        (b"RAFT", "kind missing"),
        (b"RAFT\x09", "kind 09 is not one of 1, 2, 3, 4"),
        (encode_message(AppendAnswer("B", 1, 1, 1))[4:-1], "no sender"),
        (encode_message(AppendAnswer("B", 1, 1, (1 << 63)))[4:], "beyond 63 bits"),
        (encode_message(VoteAnswer("B", 1, 0, 9))[4:], "holds an invalid value"),
        (encode_message(AppendEntries("B", 1, 5, 1, 1, (RaftEntry(9, 1, EntryKind.DATA, b""),)))[4:], "do not follow"),
        (encode_message(AppendEntries("B", 1, 5, 1, 1, (RaftEntry(6, 1, EntryKind.DATA, b"abc"),)))[4:-1], "2 are th"),
    ],
)
def test_what_is_refused_is_named(frame: bytes, reason: str):
    with pytest.raises(RaftFrameRefused, match=reason):
        decode_message(frame)
