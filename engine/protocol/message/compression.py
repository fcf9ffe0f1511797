"""Body compression (RocketMQ: ``UtilAll.compress``, in 5.x ``CompressorFactory``). 4.9.8 writes zlib, type 3; clients
of RocketMQ 5 that speak its remoting protocol may write an LZ4 frame or Zstandard, too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from engine.protocol.errors import MalformedMessage
from engine.protocol.system_flags import (
    COMPRESSION_LZ4,
    COMPRESSION_TYPE_MASK,
    COMPRESSION_ZLIB,
    COMPRESSION_ZSTD,
    MESSAGE_COMPRESSED,
)

#: zlib's level; RocketMQ: ``rocketmq.message.compressLevel``.
DEFAULT_COMPRESS_LEVEL: Final = 5

#: The maximum size of a decompressed body in bytes. RocketMQ has no such bound: a few kilobytes of compressed zeros
#: would fill a client's memory.
DECOMPRESSED_MAX_BYTES: Final = 64 * 1024 * 1024

#: The system flags of a message whose body was compressed with zlib.
ZLIB_SYSTEM_FLAG: Final = MESSAGE_COMPRESSED | COMPRESSION_ZLIB

#: The size of one input piece: four bytes of Zstandard may become 128 KiB, so such a piece becomes 32 MiB at most.
_ZSTD_PIECE_BYTES: Final = 1_024


def compress_body(body: bytes, level: int = DEFAULT_COMPRESS_LEVEL) -> bytes:
    """Compress ``body`` in zlib's format."""
    return zlib.compress(body, level)


def decompress_body(body: bytes, sys_flag: int, most_bytes: int = DECOMPRESSED_MAX_BYTES) -> bytes:
    """Return the original of a stored ``body``, or ``body`` itself if ``sys_flag`` says that it is not compressed.

    Raises :class:`MalformedMessage` for broken or oversize data, and for an algorithm that is unknown or not installed.
    """
    if not sys_flag & MESSAGE_COMPRESSED:
        return body
    unpack = _UNPACKERS.get(sys_flag & COMPRESSION_TYPE_MASK)
    if unpack is None:
        raise MalformedMessage(
            f"the body is compressed with unknown type {(sys_flag & COMPRESSION_TYPE_MASK) >> 8}; "
            "allowed: 0 and 3 (zlib), 1 (LZ4), 2 (Zstandard)"
        )
    try:
        original, is_whole = unpack(body, most_bytes)
    except ImportError as error:
        kind = (sys_flag & COMPRESSION_TYPE_MASK) >> 8
        raise MalformedMessage(
            f"the body is compressed with type {kind} (1: LZ4, 2: Zstandard), whose library is not installed here"
        ) from error
    if len(original) > most_bytes:
        raise MalformedMessage(f"the body grows beyond {most_bytes} bytes when decompressed")
    if not is_whole:
        raise MalformedMessage("the compressed body ends too early")
    return original


def _unpack_zlib(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """Return the original, cut if it is longer than allowed, and whether the data is complete."""
    unpacker = zlib.decompressobj()
    try:
        return unpacker.decompress(body, most_bytes + 1), unpacker.eof
    except zlib.error as error:
        raise _broken("zlib", error) from error


def _unpack_lz4(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    import lz4.frame  # not installed in a browser, nor where Spark's executors read messages, with Arrow's codecs

    unpacker = lz4.frame.LZ4FrameDecompressor()
    try:
        return unpacker.decompress(body, max_length=most_bytes + 1), unpacker.eof
    except RuntimeError as error:
        raise _broken("LZ4", error) from error


def _unpack_zstd(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """Decompress piece by piece: a frame need not state its size, and the library takes no limit."""
    zstd = _zstd_library()
    unpacker = zstd.ZstdDecompressor()
    if hasattr(unpacker, "decompressobj"):  # zstandard's
        unpacker = unpacker.decompressobj()
    pieces: list[bytes] = []
    length = 0
    try:
        for start in range(0, len(body), _ZSTD_PIECE_BYTES):
            if unpacker.eof or length > most_bytes:
                break
            pieces.append(unpacker.decompress(body[start : start + _ZSTD_PIECE_BYTES]))
            length += len(pieces[-1])
    except zstd.ZstdError as error:
        raise _broken("Zstandard", error) from error
    return b"".join(pieces), unpacker.eof


def _zstd_library() -> Any:
    """Return zstandard, or the module that Python includes from 3.14 on. Raises ``ImportError``."""
    try:
        return import_module("zstandard")
    except ImportError:
        return import_module("compression.zstd")


def _broken(algorithm: str, error: Exception) -> MalformedMessage:
    return MalformedMessage(f"the compressed body cannot be read ({algorithm}): {error}")


#: Decompressors by the type in the system flag; clients that predate types write 0 and zlib.
_UNPACKERS: Final[dict[int, Callable[[bytes, int], tuple[bytes, bool]]]] = {
    0: _unpack_zlib,
    COMPRESSION_ZLIB: _unpack_zlib,
    COMPRESSION_LZ4: _unpack_lz4,
    COMPRESSION_ZSTD: _unpack_zstd,
}
