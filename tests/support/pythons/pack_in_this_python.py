"""Unpack a Zstandard frame with the engine's two readers, and pack it again: ``python pack_in_this_python.py PROJECT``.

Frames come from the standard input and go to the standard output as hexadecimal digits.
"""

from __future__ import annotations

import sys


def main(project: str) -> None:
    """Run as a script."""
    sys.path[:0] = [project]
    from tests.support.pythons.without_compiled_packages import hide_compiled_packages

    hide_compiled_packages()
    from engine.kafka.records.compression import Codec, compress, decompress
    from engine.protocol.errors import MalformedMessage
    from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES, decompress_body
    from engine.protocol.system_flags import COMPRESSION_ZSTD, MESSAGE_COMPRESSED

    packed = bytes.fromhex(sys.stdin.read())
    body = decompress(Codec.ZSTD, packed, 1_000_000)
    assert decompress_body(packed, MESSAGE_COMPRESSED | COMPRESSION_ZSTD) == body
    too_long = compress(Codec.ZSTD, bytes(DECOMPRESSED_MAX_BYTES + 1))
    for bad in (packed[:-1], b"?" + packed, too_long):
        try:
            decompress_body(bad, MESSAGE_COMPRESSED | COMPRESSION_ZSTD)
        except MalformedMessage:
            continue
        raise AssertionError(f"{len(bad)} bytes were not refused")
    print(compress(Codec.ZSTD, body).hex(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
