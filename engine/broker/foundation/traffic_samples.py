"""Samples of counters over the last minute, hour and day (RocketMQ: ``StatsItem``, ``StatsItemSet``, ``CallSnapshot``).

Every 10 s the running totals of each counter are sampled; every 10 minutes again for the hour, every hour for the day.
A span's sum is its newest sample minus its oldest. As in RocketMQ a counter's first sample is a zero, one interval
before it was first sampled, so a young span covers the time so far; and hour and day are empty until their first
sample: readers then use the shorter span.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from engine.protocol.body.admin_bodies import BrokerStatsData, BrokerStatsItem

#: The interval between two samples.
SAMPLE_INTERVAL_MS = 10_000
#: The sampled values of a counter: messages, bytes and requests, in and out.
Sample = tuple[int, int, int, int, int, int]
_ZERO: Sample = (0, 0, 0, 0, 0, 0)

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(slots=True)
class Traffic:
    """Running totals of one topic, of one group on one topic, or of the broker.

    ``in_requests`` counts send requests, ``out_requests`` pulls that found messages; a batch counts once.
    """

    in_messages: int = 0
    in_bytes: int = 0
    out_messages: int = 0
    out_bytes: int = 0
    in_requests: int = 0
    out_requests: int = 0


class SampleSpan(Enum):
    """A time span, with the value (intervals per sample, number of samples)."""

    MINUTE = (1, 7)
    HOUR = (60, 7)
    DAY = (360, 25)


#: ``statsName`` of VIEW_BROKER_STATS_DATA -> indexes in a :data:`Sample` of (the counter, the requests).
STATS_NAMES: Mapping[str, tuple[int, int]] = {
    "TOPIC_PUT_NUMS": (0, 2),
    "TOPIC_PUT_SIZE": (1, 2),
    "GROUP_GET_NUMS": (3, 5),
    "GROUP_GET_SIZE": (4, 5),
    "BROKER_PUT_NUMS": (0, 2),
    "BROKER_GET_NUMS": (3, 5),
}


class TrafficSamples(Generic[_Key]):
    """The samples of all counters of one table."""

    def __init__(self) -> None:
        self._ticks = 0
        self._spans: dict[_Key, dict[SampleSpan, deque[Sample]]] = {}

    def sample(self, counters: Mapping[_Key, Traffic]) -> None:
        """Sample all totals; called every :data:`SAMPLE_INTERVAL_MS`."""
        self._ticks += 1
        for key, traffic in counters.items():
            spans = self._spans.get(key)
            if spans is None:
                spans = self._spans[key] = {span: deque((_ZERO,), span.value[1]) for span in SampleSpan}
            sample = (
                traffic.in_messages,
                traffic.in_bytes,
                traffic.in_requests,
                traffic.out_messages,
                traffic.out_bytes,
                traffic.out_requests,
            )
            for span, samples in spans.items():
                if self._ticks % span.value[0] == 0:
                    samples.append(sample)

    def forget(self, is_gone: Callable[[_Key], bool]) -> None:
        """Delete the counters for whose key ``is_gone`` returns True."""
        for key in [key for key in self._spans if is_gone(key)]:
            del self._spans[key]

    def item(self, key: _Key, span: SampleSpan, stats_name: str) -> BrokerStatsItem:
        """Return the counter's values in ``span``; zeros if it has not been sampled yet."""
        counted, requests = STATS_NAMES[stats_name]
        samples = self._spans.get(key, {}).get(span)
        if samples is None or len(samples) < 2:
            return BrokerStatsItem(0, 0.0, 0.0)
        first, last = samples[0], samples[-1]
        total, times = last[counted] - first[counted], last[requests] - first[requests]
        elapsed_s = (len(samples) - 1) * span.value[0] * SAMPLE_INTERVAL_MS / 1_000
        return BrokerStatsItem(total, total / elapsed_s, total / times if times else 0.0)

    def data(self, key: _Key, stats_name: str) -> BrokerStatsData:
        """Return the counter's values in the last minute, hour and day."""
        return BrokerStatsData(*(self.item(key, span, stats_name) for span in SampleSpan))
