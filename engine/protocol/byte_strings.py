"""Functions that write and read big-endian numbers in bytes.

They are ``librt``'s, which mypyc compiles to a store, or the same in plain Python where that is not installed.
(Executors of Spark get this engine's source and have Spark's packages only.)
"""

from __future__ import annotations

try:
    from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i16_be, write_i32_be, write_i64_be
except ImportError:
    from engine.protocol.plain_byte_strings import (  # type: ignore[assignment]  # in the place of librt's
        BytesWriter,
        read_i32_be,
        read_i64_be,
        write_i16_be,
        write_i32_be,
        write_i64_be,
    )

__all__ = ["BytesWriter", "read_i32_be", "read_i64_be", "write_i16_be", "write_i32_be", "write_i64_be"]
