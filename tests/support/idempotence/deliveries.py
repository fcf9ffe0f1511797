"""Messages, claims and a runtime for tests of idempotence that run on asyncio's own loop."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

from engine.idempotence.foundation.business_key import digest_of
from engine.idempotence.foundation.record import DEFAULT_EXPIRY_MS, Claim, RecordKey
from engine.protocol.message.message import MessageExt

START_MS = 1_700_000_000_000


class SetClock:
    """Stands still until a test sets it."""

    def __init__(self) -> None:
        self.time_ms = START_MS

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_us(self) -> int:
        return self.time_ms * 1_000


class SmallRuntime:
    """What idempotence needs of a runtime."""

    def __init__(self) -> None:
        self.clock = SetClock()
        self._random = random.Random(1)

    def random_for(self, _purpose: str) -> random.Random:
        return self._random

    async def call_listener(self, listener: Callable[..., Any], *arguments: Any) -> Any:
        result = listener(*arguments)
        return await result if inspect.isawaitable(result) else result


def claim_of(owner: str, now_ms: int = START_MS, body: bytes = b"body", expiry_ms: int = DEFAULT_EXPIRY_MS) -> Claim:
    """Return the claim of delivery ``owner`` of one order."""
    return Claim(RecordKey("shop", "order-1"), owner, digest_of(body), f"message of {owner}", now_ms, expiry_ms)


def message(number: int, body: bytes = b"body", keys: str = "", **properties: str) -> MessageExt:
    """A stored message with the unique id ``M<number>``."""
    found = {"UNIQ_KEY": f"M{number}", **({"KEYS": keys} if keys else {}), **properties}
    return MessageExt(
        topic="Orders",
        body=body,
        properties=found,
        queue_id=0,
        queue_offset=number,
        commit_log_offset=number,
        born_timestamp=START_MS,
        born_host="127.0.0.1:1",
        store_timestamp=START_MS,
        store_host="127.0.0.1:2",
    )
