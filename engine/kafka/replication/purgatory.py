"""Requests that wait for something to happen in a partition (Kafka: ``DelayedOperationPurgatory`` with
``DelayedFetch`` and ``DelayedProduce``).

A connection's requests are answered one after the other, so no more can wait than there are connections.
"""

from __future__ import annotations

import asyncio

from engine.kafka.records.topic_partition import TopicPartition


class Purgatory:
    """Who waits looks again when it is woken, and waits again where that was not what it wants."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, dict[asyncio.Event, None]] = {}

    def wake(self, place: TopicPartition) -> None:
        """Something has happened there."""
        for waiting in self._waiting.pop(place, ()):
            waiting.set()

    async def wait_for_any(self, places: list[TopicPartition], timeout_ms: int) -> None:
        """Until something happens in one of them, or the time is over."""
        waiting = asyncio.Event()
        for place in places:
            self._waiting.setdefault(place, {})[waiting] = None
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await waiting.wait()
        except TimeoutError:
            pass
        finally:
            for place in places:
                who = self._waiting.get(place, {})
                who.pop(waiting, None)
                if not who:
                    self._waiting.pop(place, None)

    @property
    def waiting_count(self) -> int:
        """Requests that wait, each counted once for every partition that it is about."""
        return sum(map(len, self._waiting.values()))
