"""Compressed bodies. RocketMQ 4.9.8 writes zlib, 5.x also LZ4 (frame format) and Zstandard, which Arrow brings."""

from __future__ import annotations

import pyarrow as pa

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES, decompress_body
from engine.protocol.system_flags import COMPRESSION_LZ4, COMPRESSION_TYPE_MASK, COMPRESSION_ZSTD

_OF_ARROW = {COMPRESSION_LZ4: "lz4", COMPRESSION_ZSTD: "zstd"}


def decompressed(body: bytes, sys_flag: int) -> bytes:
    """Return the sender's body. Raises ``ROCKETMQ_BROKEN_MESSAGE`` for damaged data and for bodies that are too
    large.
    """
    codec = _OF_ARROW.get(sys_flag & COMPRESSION_TYPE_MASK)
    try:
        if codec is None:
            return decompress_body(body, sys_flag)
        with pa.input_stream(pa.py_buffer(body), compression=codec) as stream:
            original: bytes = stream.read(DECOMPRESSED_MAX_BYTES + 1)
    except (MalformedMessage, OSError, pa.ArrowException) as error:
        raise RocketMQError("ROCKETMQ_BROKEN_MESSAGE", f"a compressed body cannot be read: {error}") from error
    if len(original) > DECOMPRESSED_MAX_BYTES:
        raise RocketMQError(
            "ROCKETMQ_BROKEN_MESSAGE", f"a body grows beyond {DECOMPRESSED_MAX_BYTES} bytes when decompressed"
        )
    return original
