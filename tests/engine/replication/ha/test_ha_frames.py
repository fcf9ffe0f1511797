"""The bytes between master and slave."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.replication.ha.ha_frames import (
    PIECE_MAX_BYTES,
    PieceSplitter,
    ReportSplitter,
    decode_piece,
    decode_report,
    encode_piece,
    encode_report,
    frame_name,
)

OFFSETS = st.integers(0, (1 << 63) - 1)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(ends)]


def test_the_bytes_are_rocketmqs():
    assert encode_report(0x0102030405060708) == bytes(range(1, 9))
    assert encode_piece(1, b"ab") == b"\0\0\0\0\0\0\0\1\0\0\0\2ab"


@given(st.lists(st.tuples(OFFSETS, st.binary(max_size=40)), max_size=8), st.lists(st.integers(0), max_size=8))
def test_pieces_come_out_as_they_went_in_however_the_stream_is_cut(pieces, places):
    splitter = PieceSplitter()
    stream = b"".join(encode_piece(*piece) for piece in pieces)
    frames = [frame for part in cut(stream, places) for frame in splitter.feed(part)]
    assert [decode_piece(frame) for frame in frames] == pieces
    assert splitter.error is None


@given(st.lists(OFFSETS, max_size=8), st.lists(st.integers(0), max_size=8))
def test_reports_come_out_as_they_went_in_however_the_stream_is_cut(offsets, places):
    splitter = ReportSplitter()
    stream = b"".join(map(encode_report, offsets))
    assert [decode_report(frame) for part in cut(stream, places) for frame in splitter.feed(part)] == offsets


def test_a_piece_of_an_impossible_size_ends_the_stream():
    for size in (PIECE_MAX_BYTES + 1, -1):
        splitter = PieceSplitter()
        assert splitter.feed(encode_piece(7, b"x") + bytes(8) + size.to_bytes(4, "big", signed=True)) == [
            encode_piece(7, b"x")
        ]
        assert splitter.error == f"a piece of {size} bytes is not allowed; allowed: 0 to {PIECE_MAX_BYTES}"
        assert splitter.feed(encode_piece(7, b"x")) == []


def test_frames_are_distinguished_and_others_are_not_frames():
    assert frame_name(encode_report(5)) == "HA_REPORT"
    assert frame_name(encode_piece(5, b"abc")) == "HA_PIECE"
    assert frame_name(encode_piece(5, b"")) == "HA_HEARTBEAT"
    assert frame_name(b"abc") is None
    assert frame_name(encode_piece(5, b"abc")[:-1]) is None
