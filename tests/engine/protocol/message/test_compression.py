"""Compressed bodies: every algorithm that RocketMQ 4 and 5 write, each within a bound."""

from __future__ import annotations

import zlib

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.errors import MalformedMessage
from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES, decompress_body
from engine.protocol.system_flags import COMPRESSION_LZ4, COMPRESSION_ZLIB, COMPRESSION_ZSTD, MESSAGE_COMPRESSED

ALGORITHMS = {
    0: zlib.compress,
    COMPRESSION_ZLIB: zlib.compress,
    COMPRESSION_LZ4: lz4.frame.compress,
    COMPRESSION_ZSTD: zstandard.compress,
}
kinds = st.sampled_from(list(ALGORITHMS))


@given(kinds, st.binary(max_size=3_000))
def test_what_was_compressed_comes_back(kind: int, body: bytes) -> None:
    assert decompress_body(ALGORITHMS[kind](body), MESSAGE_COMPRESSED | kind) == body


def test_streams_that_do_not_state_their_size_come_back() -> None:
    """As RocketMQ 5 writes them: through a stream, flushed in between."""
    body = b"streamed " * 5_000
    packer = zstandard.ZstdCompressor().compressobj()
    packed = packer.compress(body) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) + packer.flush()
    assert decompress_body(packed, MESSAGE_COMPRESSED | COMPRESSION_ZSTD) == body
    with lz4.frame.LZ4FrameCompressor(block_linked=False, content_checksum=False) as frame:
        packed = frame.begin() + frame.compress(body) + frame.flush()
    assert decompress_body(packed, MESSAGE_COMPRESSED | COMPRESSION_LZ4) == body


@given(kinds, st.binary(max_size=200), st.data())
def test_any_bytes_are_a_body_or_refused(kind: int, body: bytes, data: st.DataObject) -> None:
    packed = bytearray(ALGORITHMS[kind](body))
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    for some in (body, bytes(packed), bytes(packed[: data.draw(st.integers(0, len(packed)))])):
        try:
            decompress_body(some, MESSAGE_COMPRESSED | kind)
        except MalformedMessage:
            pass


@pytest.mark.parametrize("kind", list(ALGORITHMS))
def test_a_body_may_grow_to_the_bound_and_not_beyond(kind: int) -> None:
    most = bytes(DECOMPRESSED_MAX_BYTES)
    assert decompress_body(ALGORITHMS[kind](most), MESSAGE_COMPRESSED | kind) == most
    with pytest.raises(MalformedMessage, match="grows beyond 67108864 bytes"):
        decompress_body(ALGORITHMS[kind](most + b"1"), MESSAGE_COMPRESSED | kind)
    with pytest.raises(MalformedMessage, match="grows beyond 10 bytes"):
        decompress_body(ALGORITHMS[kind](most), MESSAGE_COMPRESSED | kind, 10)


@pytest.mark.parametrize("kind", list(ALGORITHMS))
def test_a_body_that_was_cut_off_is_refused(kind: int) -> None:
    with pytest.raises(MalformedMessage, match="ends too early"):
        decompress_body(ALGORITHMS[kind](b"some text " * 20)[:-1], MESSAGE_COMPRESSED | kind)


@pytest.mark.parametrize("kind", [4, 5, 6, 7])
def test_an_algorithm_that_nobody_knows_is_named(kind: int) -> None:
    with pytest.raises(MalformedMessage, match=f"unknown type {kind}; allowed"):
        decompress_body(b"body", MESSAGE_COMPRESSED | kind << 8)
