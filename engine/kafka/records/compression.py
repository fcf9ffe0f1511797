"""How the records of a batch are packed (Kafka: ``CompressionType``). Only clients do it: a broker stores what it gets.

The packers are libraries; their formats are what Kafka's own clients write: a gzip member, an LZ4 frame, a Zstandard
frame. Snappy has a framing of Kafka's own and is refused by name.
"""

from __future__ import annotations

import zlib
from enum import IntEnum

import lz4.frame
import zstandard

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal

#: zlib's word for "with gzip's header and trailer".
_GZIP_WINDOW_BITS = 31
#: Four bytes may unpack to 128 KiB, so a piece to 32 MiB at most.
_ZSTD_PIECE_BYTES = 1_024


class Codec(IntEnum):
    """By the number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Codec, data: bytes) -> bytes:
    """``data``, packed with the library's usual level. Raises :class:`KafkaRefusal` for Snappy."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            packer = zlib.compressobj(wbits=_GZIP_WINDOW_BITS)
            return packer.compress(data) + packer.flush()
        case Codec.LZ4:
            # Kafka's reader takes no blocks that lean on earlier ones.
            packed: bytes = lz4.frame.compress(data, block_linked=False)
            return packed
        case Codec.ZSTD:
            return zstandard.ZstdCompressor().compress(data)
        case Codec.SNAPPY:
            raise _unsupported()


def decompress(codec: Codec, data: bytes, limit_bytes: int) -> bytes:
    """The opposite. Raises :class:`KafkaRefusal` when ``data`` is damaged, or larger than ``limit_bytes`` unpacked."""
    try:
        unpacked = _unpacked(codec, data, limit_bytes + 1)
    except (zlib.error, RuntimeError, EOFError, zstandard.ZstdError) as error:
        raise KafkaRefusal(KafkaErrorCode.CORRUPT_MESSAGE, f"records packed with {codec.name}: {error}") from error
    if len(unpacked) > limit_bytes:
        raise KafkaRefusal(
            KafkaErrorCode.CORRUPT_MESSAGE,
            f"records packed with {codec.name}: more than the {limit_bytes} bytes that are allowed",
        )
    return unpacked


def _unpacked(codec: Codec, data: bytes, size_bytes: int) -> bytes:
    """At most the first ``size_bytes``, for what small data may unpack to has no limit."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
            unpacked = unpacker.decompress(data, size_bytes)
            if not unpacker.eof and len(unpacked) < size_bytes:
                raise EOFError("the data ends too early")
            return unpacked
        case Codec.LZ4:
            frame = lz4.frame.LZ4FrameDecompressor()
            block: bytes = frame.decompress(data, max_length=size_bytes)
            if not frame.eof and len(block) < size_bytes:
                raise EOFError("the data ends too early")
            return block
        case Codec.ZSTD:
            return _unpacked_zstd(data, size_bytes)
        case Codec.SNAPPY:
            raise _unsupported()


def _unpacked_zstd(data: bytes, size_bytes: int) -> bytes:
    """Bit by bit: a frame need not tell its size, and the library takes no limit."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    pieces, length = [], 0
    for start in range(0, len(data), _ZSTD_PIECE_BYTES):
        if stream.eof or length >= size_bytes:
            break
        pieces.append(stream.decompress(data[start : start + _ZSTD_PIECE_BYTES]))
        length += len(pieces[-1])
    if not stream.eof and length < size_bytes:
        raise EOFError("the data ends too early")
    return b"".join(pieces)


def _unsupported() -> KafkaRefusal:
    return KafkaRefusal(
        KafkaErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "Snappy is not spoken here: none, gzip, lz4 and zstd are"
    )
