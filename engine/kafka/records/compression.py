"""Compression of a batch's records (Kafka: ``CompressionType``). Only clients compress: a broker stores what it
receives.

The codecs are libraries, and their formats are those of Kafka's own clients: a gzip member, an LZ4 frame, a Zstandard
frame. Snappy has Kafka's own framing and is refused by name; so is a codec whose library is not installed here.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from importlib import import_module
from typing import Any

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal

#: zlib's value for "with gzip's header and trailer".
_GZIP_WINDOW_BITS = 31
#: Four bytes may decompress to 128 KiB, so a piece to 32 MiB at most.
_ZSTD_PIECE_BYTES = 1_024


class Codec(IntEnum):
    """Compression codec, by the number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def _library(*names: str) -> Any:
    """Return the first of these modules that is installed, or None: a browser has none of the packages."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


_lz4 = _library("lz4.frame")
#: The second one is part of Python from 3.14 on; the names used here are the same in both.
_zstd = _library("zstandard", "compression.zstd")
_LIBRARY_OF = {Codec.LZ4: _lz4, Codec.ZSTD: _zstd, Codec.SNAPPY: None}

#: The codecs that this Python can compress and decompress.
SPOKEN_CODECS = tuple(codec for codec in Codec if _LIBRARY_OF.get(codec, zlib) is not None)
#: The same, as text.
SUPPORTED_NAMES = ", ".join(codec.name.lower() for codec in SPOKEN_CODECS)
#: Exceptions of the libraries for damaged data.
_DAMAGES = (zlib.error, RuntimeError, EOFError, EOFError if _zstd is None else _zstd.ZstdError)


def compress(codec: Codec, data: bytes) -> bytes:
    """Compress ``data`` with the library's default level. Raises :class:`KafkaRefusal` for an unsupported codec."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            packer = zlib.compressobj(wbits=_GZIP_WINDOW_BITS)
            return packer.compress(data) + packer.flush()
        case Codec.LZ4 if _lz4 is not None:
            # Kafka's reader does not accept blocks that depend on earlier ones.
            packed: bytes = _lz4.compress(data, block_linked=False)
            return packed
        case Codec.ZSTD if _zstd is not None:
            packed = _zstd.compress(data)
            return packed
        case _:
            raise _unsupported(codec)


def decompress(codec: Codec, data: bytes, limit_bytes: int) -> bytes:
    """Decompress ``data``. Raises :class:`KafkaRefusal` if it is damaged or decompresses to more than
    ``limit_bytes``.
    """
    try:
        unpacked = _unpacked(codec, data, limit_bytes + 1)
    except _DAMAGES as error:
        raise KafkaRefusal(KafkaErrorCode.CORRUPT_MESSAGE, f"records packed with {codec.name}: {error}") from error
    if len(unpacked) > limit_bytes:
        raise KafkaRefusal(
            KafkaErrorCode.CORRUPT_MESSAGE,
            f"records packed with {codec.name}: more than the {limit_bytes} bytes that are allowed",
        )
    return unpacked


def _unpacked(codec: Codec, data: bytes, size_bytes: int) -> bytes:
    """Decompress at most the first ``size_bytes``, as small data may decompress to any size."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
            unpacked = unpacker.decompress(data, size_bytes)
            if not unpacker.eof and len(unpacked) < size_bytes:
                raise EOFError("the data ends too early")
            return unpacked
        case Codec.LZ4 if _lz4 is not None:
            frame = _lz4.LZ4FrameDecompressor()
            block: bytes = frame.decompress(data, max_length=size_bytes)
            if not frame.eof and len(block) < size_bytes:
                raise EOFError("the data ends too early")
            return block
        case Codec.ZSTD if _zstd is not None:
            return _unpacked_zstd(data, size_bytes)
        case _:
            raise _unsupported(codec)


def _unpacked_zstd(data: bytes, size_bytes: int) -> bytes:
    """Decompress in small pieces: a frame need not state its size, and the library accepts no limit."""
    stream = _zstd.ZstdDecompressor()
    if hasattr(stream, "decompressobj"):  # zstandard's
        stream = stream.decompressobj()
    pieces: list[bytes] = []
    length = 0
    for start in range(0, len(data), _ZSTD_PIECE_BYTES):
        if stream.eof or length >= size_bytes:
            break
        pieces.append(stream.decompress(data[start : start + _ZSTD_PIECE_BYTES]))
        length += len(pieces[-1])
    if not stream.eof and length < size_bytes:
        raise EOFError("the data ends too early")
    return b"".join(pieces)


def _unsupported(codec: Codec) -> KafkaRefusal:
    return KafkaRefusal(
        KafkaErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        f"{codec.name.lower()} is not supported here; allowed: {SUPPORTED_NAMES}",
    )
