"""Reads a whole file: block after block, or the same blocks in random order."""

from __future__ import annotations

import os
import random
import time
from typing import NamedTuple

ORDERS = ("sequential", "random")
BLOCKS_BYTES = (4_096, 65_536, 1_048_576)


class ReadSample(NamedTuple):
    """The figures of one round."""

    bytes_per_s: float
    calls: int


def read_whole(descriptor: int, size_bytes: int, block_bytes: int, order: str, seed: int) -> ReadSample:
    """Read every block once."""
    positions = list(range(0, size_bytes, block_bytes))
    if order == "random":
        random.Random(seed).shuffle(positions)
    # Without this, the system would read ahead blocks that are not needed.
    advice = os.POSIX_FADV_RANDOM if order == "random" else os.POSIX_FADV_NORMAL
    os.posix_fadvise(descriptor, 0, 0, advice)
    buffer = bytearray(block_bytes)
    began = time.perf_counter()
    for position in positions:
        os.preadv(descriptor, [buffer], position)
    took_s = time.perf_counter() - began
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_NORMAL)
    return ReadSample(size_bytes / took_s, len(positions))
