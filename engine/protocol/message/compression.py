"""Body compression (RocketMQ: ``UtilAll.compress``; 4.9.8 writes zlib, type 3)."""

from __future__ import annotations

import zlib
from typing import Final

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

#: A body may not grow beyond this many bytes when it is decompressed. RocketMQ has no such bound: a few kilobytes
#: of zeros, compressed, would fill a client's memory.
DECOMPRESSED_MAX_BYTES: Final = 64 * 1024 * 1024

#: What a message's ``sys_flag`` gains when its body was compressed with zlib.
ZLIB_SYSTEM_FLAG: Final = MESSAGE_COMPRESSED | COMPRESSION_ZLIB

_UNSUPPORTED: Final = {COMPRESSION_LZ4: "LZ4", COMPRESSION_ZSTD: "ZSTD"}


def compress_body(body: bytes, level: int = DEFAULT_COMPRESS_LEVEL) -> bytes:
    """``body`` in zlib's format."""
    return zlib.compress(body, level)


def decompress_body(body: bytes, sys_flag: int) -> bytes:
    """The original of a stored ``body``, which is returned as it is when ``sys_flag`` says "not compressed".

    Raises :class:`MalformedMessage` for broken or oversize data and for algorithms other than zlib.
    """
    if not sys_flag & MESSAGE_COMPRESSED:
        return body
    algorithm = _UNSUPPORTED.get(sys_flag & COMPRESSION_TYPE_MASK)
    if algorithm is not None:
        raise MalformedMessage(f"the body is compressed with {algorithm}; supported: zlib")
    decompressor = zlib.decompressobj()
    try:
        original = decompressor.decompress(body, DECOMPRESSED_MAX_BYTES)
    except zlib.error as error:
        raise MalformedMessage(f"the compressed body cannot be read: {error}") from error
    if decompressor.unconsumed_tail:
        raise MalformedMessage(f"the body grows beyond {DECOMPRESSED_MAX_BYTES} bytes when decompressed")
    if not decompressor.eof:
        raise MalformedMessage("the compressed body ends too early")
    return original
