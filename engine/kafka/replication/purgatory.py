"""Requests that wait for an event in a partition (Kafka: ``DelayedOperationPurgatory`` with ``DelayedFetch`` and
``DelayedProduce``).

A connection's requests are answered in order, so at most as many requests wait as there are connections.
"""

from __future__ import annotations

import asyncio

from engine.kafka.records.topic_partition import TopicPartition


class Purgatory:
    """Waiting requests: each checks its condition when it is woken, and waits again if that is not met."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, dict[asyncio.Event, None]] = {}

    def wake(self, place: TopicPartition) -> None:
        """Wake the requests that wait for an event in a partition."""
        for waiting in self._waiting.pop(place, ()):
            waiting.set()

    async def wait_for_any(self, places: list[TopicPartition], timeout_ms: int) -> None:
        """Wait until there is an event in one of the partitions, or the timeout passes."""
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
        """Return the number of waiting requests, each counted once for every partition it concerns."""
        return sum(map(len, self._waiting.values()))
