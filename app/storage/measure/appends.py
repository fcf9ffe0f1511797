"""Appending messages: the cost of making them durable, each by itself, a batch at a time, or never."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

FLUSHES = ("never", "per batch", "per message")
MESSAGE_BYTES = 128
BATCH = 100


class AppendSample(NamedTuple):
    """The figures of one round."""

    messages_per_s: float
    flushes: int


def append(descriptor: int, messages: int, flush: str) -> AppendSample:
    """Append this many messages in batches, one write each; where each message is flushed, each is also written
    alone.
    """
    per_write = 1 if flush == "per message" else BATCH
    data = bytes(MESSAGE_BYTES * per_write)
    flushes = 0
    began = time.perf_counter()
    for _ in range(0, messages, per_write):
        os.write(descriptor, data)
        if flush != "never":
            os.fdatasync(descriptor)
            flushes += 1
    return AppendSample(messages / (time.perf_counter() - began), flushes)
