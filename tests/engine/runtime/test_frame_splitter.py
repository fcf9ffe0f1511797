"""Frames are cut from a stream of bytes whatever pieces it arrives in."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.frame_splitter import FRAME_MIN_LENGTH_BYTES, FrameSplitter
from engine.runtime.port import FRAME_MAX_LENGTH_BYTES
from tests.support.lab.runtime_handlers import frame_of

contents = st.lists(st.binary(min_size=FRAME_MIN_LENGTH_BYTES, max_size=200), max_size=12)


@st.composite
def chunked(draw, streams):
    """A stream, and the same stream in pieces."""
    stream = draw(streams)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    edges = [0, *cuts, len(stream)]
    return stream, [stream[start:end] for start, end in pairwise(edges)]


def feed_all(pieces):
    splitter = FrameSplitter()
    return splitter, [frame for piece in pieces for frame in splitter.feed(piece)]


@given(st.data(), contents)
def test_any_chunking_gives_the_same_frames(data, frames):
    _, pieces = data.draw(chunked(st.just(b"".join(map(frame_of, frames)))))
    splitter, received = feed_all(pieces)
    assert received == frames
    assert splitter.error is None
    assert splitter.is_empty


@given(chunked(st.binary(max_size=300)))
def test_any_bytes_in_any_chunking_give_what_the_whole_gives(case):
    stream, pieces = case
    whole, frames = feed_all([stream])
    splitter, received = feed_all(pieces)
    assert received == frames
    assert splitter.error == whole.error


@given(
    contents, st.sampled_from([-1, -(2**31), 0, 1, 3, FRAME_MAX_LENGTH_BYTES + 1, 2**31 - 1]), st.binary(max_size=50)
)
def test_a_bad_length_ends_the_stream_behind_the_frames_before_it(frames, length, rest):
    good = b"".join(map(frame_of, frames))
    splitter, received = feed_all([good + length.to_bytes(4, "big", signed=True) + rest, frame_of(b"ignored")])
    assert received == frames
    assert splitter.error is not None
    assert f"length {length} is not allowed" in splitter.error
    assert not splitter.is_empty


@pytest.mark.parametrize(
    ("preface", "named"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "a gRPC client of RocketMQ 5 .*: not supported yet"),
        (b"\x16\x03\x01\x02\x00\x01", "speaks TLS"),
    ],
)
def test_a_client_of_another_protocol_is_named_however_its_bytes_arrive(preface, named):
    for size in range(1, len(preface) + 1):
        splitter, received = feed_all([preface[at : at + size] for at in range(0, len(preface), size)])
        assert received == []
        assert re.search(named, splitter.error)


def test_a_large_frame_in_many_pieces_is_whole():
    content = bytes(range(256)) * 40_000
    stream = frame_of(content) + frame_of(b"next")[:6]
    splitter, received = feed_all([stream[start : start + 1_000] for start in range(0, len(stream), 1_000)])
    assert received == [content]
    assert not splitter.is_empty
    assert splitter.feed(frame_of(b"next")[6:]) == [b"next"]


@pytest.mark.parametrize("length", [FRAME_MIN_LENGTH_BYTES, FRAME_MAX_LENGTH_BYTES])
def test_the_shortest_and_the_longest_frame_are_allowed(length):
    _, received = feed_all([frame_of(bytes(length))])
    assert [len(frame) for frame in received] == [length]
