"""Counts and latencies (RocketMQ: ``BrokerStatsManager``, ``StoreStatsService``).

RocketMQ keeps one ``StatsItem`` with three lists of samples per topic, group and kind. Here there is one ring of
seconds for the broker as a whole, running totals per topic and per (topic, group), and two histograms; all plain
integers, because this runs for every message.

*Put latency* is measured by the monotonic clock, in microseconds, around checks and append of one send request.
*Deliver latency* is the age, in milliseconds, of the oldest message of a pull reply when the reply is sent (reply time
minus store time): with long polling it is how long messages wait until a waiting consumer gets them; for a consumer
that works off a backlog it is the backlog's age.

Histograms are exact below 64 and have 32 cells per power of two above, as HdrHistogram's do; a percentile is the upper
edge of its cell: never too low, and at most 3.2 % too high.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeVar

from engine.broker.foundation.put_time_distribution import PutTimeDistribution
from engine.broker.foundation.traffic_samples import SampleSpan, Traffic, TrafficSamples
from engine.protocol.body.admin_bodies import BrokerStatsData, BrokerStatsItem

#: How many seconds of history are kept.
HISTORY_SECONDS: Final = 600
#: A clock that goes back by no more is being adjusted gradually.
CLOCK_SWAYS_S: Final = 2
#: The leading bits of a value that select its cell: the first, which is always set, and five more.
_CELL_BITS: Final = 6
#: Greater values count as this one (over an hour in us).
_LARGEST: Final = (1 << 32) - 1
_DAY_MS: Final = 86_400_000
#: The only key of the counters for the whole broker.
_BROKER: Final = ""

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class SecondStats:
    """The statistics of one full second. Percentiles are 0 if nothing was measured in it."""

    second: int
    in_messages: int
    in_bytes: int
    out_messages: int
    out_bytes: int
    put_p50_us: int
    put_p99_us: int
    deliver_p50_ms: int
    deliver_p99_ms: int
    pulls_found: int
    pulls_missed: int


class PutLatencyHistogram:
    """Counts of values by their leading bits; at most 896 cells, of which those are kept that were used."""

    __slots__ = ("cells", "count")

    def __init__(self) -> None:
        self.clear()

    def record(self, value: int) -> None:
        """Count ``value``; a negative one (a clock went back) counts as 0."""
        if value >= 1 << _CELL_BITS:
            if value > _LARGEST:
                value = _LARGEST
            extra_bits = value.bit_length() - _CELL_BITS
            value = value >> extra_bits << extra_bits
        elif value < 0:
            value = 0
        self.cells[value] = self.cells.get(value, 0) + 1
        self.count += 1

    def percentile(self, share: float) -> int:
        """Return the largest value of the cell that contains the quantile ``share`` (0..1); 0 if empty."""
        wanted = share * self.count
        seen = 0
        for smallest in sorted(self.cells):
            seen += self.cells[smallest]
            if seen >= wanted:
                return smallest | (1 << max(0, smallest.bit_length() - _CELL_BITS)) - 1
        return 0

    def clear(self) -> None:
        """Clear all values."""
        #: The smallest value of a cell -> its count.
        self.cells: dict[int, int] = {}
        self.count = 0


_RING_FIELDS: Final = tuple(field.name for field in fields(SecondStats))[1:]


class BrokerStatsManager:
    """The counters of one broker.

    :param now_ms: the time at which counting begins, ms since 1970.
    :param max_entries: bound of the totals per topic and per group; further ones count only for the broker.
    """

    def __init__(self, now_ms: int, max_entries: int = 100_000) -> None:
        self.started_ms = now_ms
        self.totals = Traffic()
        self.put_failures = 0
        #: Pulls answered with and without messages.
        self.pulls_found = 0
        self.pulls_missed = 0
        self.put_latency_us_max = 0
        self.get_latency_us_max = 0
        self.topics: dict[str, Traffic] = {}
        self.groups: dict[tuple[str, str], Traffic] = {}
        self._broker_samples: TrafficSamples[str] = TrafficSamples()
        self._topic_samples: TrafficSamples[str] = TrafficSamples()
        self._group_samples: TrafficSamples[tuple[str, str]] = TrafficSamples()
        self._max_entries = max_entries
        self._rings = {name: array("q", bytes(8 * HISTORY_SECONDS)) for name in _RING_FIELDS}
        self._second = now_ms // 1_000
        self._first_second = self._second
        self._current = Traffic()
        self._current_pulls = [0, 0]
        #: Totals at the last midnight (UTC) and at the one before: (messages in, messages out).
        self.today_morning = (0, 0)
        self.yesterday_morning = (0, 0)
        self._day = now_ms // _DAY_MS
        self._put_us = PutLatencyHistogram()
        self._deliver_ms = PutLatencyHistogram()
        self._put_times = PutTimeDistribution()
        #: The second that was closed last, and its 99.9th percentile of send latency in microseconds.
        self._put_p999_us = (0, 0)

    # ------------------------------------------------------------------------------ recording

    def record_put(self, topic: str, messages: int, size_bytes: int, latency_us: int, now_ms: int) -> None:
        """Count ``messages`` stored messages, with ``size_bytes`` in the commit log."""
        if now_ms // 1_000 != self._second:
            self.advance(now_ms)
        self._current.in_messages += messages
        self._current.in_bytes += size_bytes
        self.totals.in_messages += messages
        self.totals.in_bytes += size_bytes
        self.totals.in_requests += 1
        if latency_us > self.put_latency_us_max:
            self.put_latency_us_max = latency_us
        self._put_us.record(latency_us)
        traffic = self.topics.get(topic) or self._new(self.topics, topic)
        traffic.in_messages += messages
        traffic.in_bytes += size_bytes
        traffic.in_requests += 1

    def record_pull(
        self, topic: str, group: str, messages: int, size_bytes: int, oldest_store_ms: int, now_ms: int
    ) -> None:
        """Count ``messages`` messages sent to ``group``; the oldest was stored at ``oldest_store_ms``."""
        if now_ms // 1_000 != self._second:
            self.advance(now_ms)
        self.pulls_found += 1
        self._current_pulls[0] += 1
        self._deliver_ms.record(now_ms - oldest_store_ms)
        for traffic in (
            self._current,
            self.totals,
            self.topics.get(topic) or self._new(self.topics, topic),
            self.groups.get((topic, group)) or self._new(self.groups, (topic, group)),
        ):
            traffic.out_messages += messages
            traffic.out_bytes += size_bytes
            traffic.out_requests += 1

    def record_pull_missed(self, now_ms: int) -> None:
        """Count a pull that found nothing to send."""
        if now_ms // 1_000 != self._second:
            self.advance(now_ms)
        self.pulls_missed += 1
        self._current_pulls[1] += 1

    def record_get_latency(self, latency_us: int) -> None:
        """Record how long reading the store for one pull took."""
        if latency_us > self.get_latency_us_max:
            self.get_latency_us_max = latency_us

    def forget_topic(self, topic: str) -> None:
        """Delete the counters of a deleted topic."""
        self.topics.pop(topic, None)
        self._topic_samples.forget(lambda known: known == topic)
        self._forget_groups([key for key in self.groups if key[0] == topic])

    def forget_group(self, group: str) -> None:
        """Delete the counters of a deleted group."""
        self._forget_groups([key for key in self.groups if key[1] == group])

    def _forget_groups(self, keys: Sequence[tuple[str, str]]) -> None:
        for key in keys:
            del self.groups[key]
        gone = dict.fromkeys(keys)
        self._group_samples.forget(lambda known: known in gone)

    def _new(self, table: dict[_Key, Traffic], key: _Key) -> Traffic:
        traffic = Traffic()
        if len(table) < self._max_entries:
            table[key] = traffic
        return traffic

    # ------------------------------------------------------------------------------ seconds

    def advance(self, now_ms: int) -> None:
        """Close all seconds before the one of ``now_ms``.

        A clock that goes back slightly closes nothing; one that was set back starts these seconds again.
        """
        second = now_ms // 1_000
        if second < self._second - CLOCK_SWAYS_S:
            self._go_back_to(second)
        if second <= self._second:
            return
        self._close_second()
        for skipped in range(max(self._second + 1, second - HISTORY_SECONDS), second):
            for ring in self._rings.values():
                ring[skipped % HISTORY_SECONDS] = 0
        self._second = second
        if now_ms // _DAY_MS != self._day:
            self._day = now_ms // _DAY_MS
            self.yesterday_morning = self.today_morning
            self.today_morning = (self.totals.in_messages, self.totals.out_messages)

    def _go_back_to(self, second: int) -> None:
        """Discard the counts of the seconds from ``second`` on, and of those that they overwrote."""
        for gone in range(second, min(self._second, second + HISTORY_SECONDS - 1) + 1):
            for ring in self._rings.values():
                ring[gone % HISTORY_SECONDS] = 0
        self._second = second
        self._first_second = min(self._first_second, second)

    def _close_second(self) -> None:
        at = self._second % HISTORY_SECONDS
        current, rings = self._current, self._rings
        for name in ("in_messages", "in_bytes", "out_messages", "out_bytes"):
            rings[name][at] = getattr(current, name)
        rings["put_p50_us"][at] = self._put_us.percentile(0.5)
        rings["put_p99_us"][at] = self._put_us.percentile(0.99)
        self._put_p999_us = (self._second, self._put_us.percentile(0.999))
        self._put_times.add(self._second, self._put_us.cells)
        rings["deliver_p50_ms"][at] = self._deliver_ms.percentile(0.5)
        rings["deliver_p99_ms"][at] = self._deliver_ms.percentile(0.99)
        rings["pulls_found"][at], rings["pulls_missed"][at] = self._current_pulls
        self._current = Traffic()
        self._current_pulls = [0, 0]
        self._put_us.clear()
        self._deliver_ms.clear()

    def last_second(self, now_ms: int) -> SecondStats:
        """Return the last full second."""
        return self.history(now_ms, 1)[-1]

    def put_p999_us(self, now_ms: int) -> int:
        """Return the 99.9th percentile of send latency in the last full second, in microseconds; 0 without sends."""
        self.advance(now_ms)
        second, value_us = self._put_p999_us
        return value_us if second == self._second - 1 else 0

    def put_time_distribution(self, now_ms: int) -> str:
        """Return the latency distribution of sends in the last full minute (:class:`PutTimeDistribution`)."""
        self.advance(now_ms)
        return self._put_times.last_minute(self._second)

    def history(self, now_ms: int, seconds: int = HISTORY_SECONDS) -> list[SecondStats]:
        """Return the last ``seconds`` full seconds, oldest first; never empty, at most :data:`HISTORY_SECONDS`."""
        self.advance(now_ms)
        count = max(1, min(seconds, HISTORY_SECONDS - 1))
        return [self._second_stats(second) for second in range(self._second - count, self._second)]

    def _second_stats(self, second: int) -> SecondStats:
        at = second % HISTORY_SECONDS
        return SecondStats(second, *(self._rings[name][at] for name in _RING_FIELDS))

    def per_second(self, field: str, now_ms: int, seconds: int) -> float:
        """Return the average of ring ``field`` over the last ``seconds`` full seconds, or over fewer soon after the
        start.
        """
        self.advance(now_ms)
        count = min(seconds, HISTORY_SECONDS - 1, self._second - self._first_second)
        if count <= 0:
            return 0.0
        ring: Sequence[int] = self._rings[field]
        return sum(ring[second % HISTORY_SECONDS] for second in range(self._second - count, self._second)) / count

    # ------------------------------------------------------------------------------ minute, hour, day

    def sample(self) -> None:
        """Sample all totals; called every ``SAMPLE_INTERVAL_MS``."""
        self._broker_samples.sample({_BROKER: self.totals})
        self._topic_samples.sample(self.topics)
        self._group_samples.sample(self.groups)

    def broker_data(self, stats_name: str) -> BrokerStatsData:
        """Return the counters of the whole broker, for names of ``STATS_NAMES`` that begin with BROKER."""
        return self._broker_samples.data(_BROKER, stats_name)

    def topic_data(self, stats_name: str, topic: str) -> BrokerStatsData | None:
        """Return the counters of messages put into ``topic``; None if nothing was put."""
        traffic = self.topics.get(topic)
        return self._topic_samples.data(topic, stats_name) if traffic is not None and traffic.in_requests else None

    def group_data(self, stats_name: str, topic: str, group: str) -> BrokerStatsData | None:
        """Return the counters of messages that ``group`` received from ``topic``; None if it received none."""
        return self._group_samples.data((topic, group), stats_name) if (topic, group) in self.groups else None

    def topic_minute(self, stats_name: str, topic: str) -> BrokerStatsItem:
        """Return only the last minute of :meth:`topic_data`; zeros if nothing was put."""
        return self._topic_samples.item(topic, SampleSpan.MINUTE, stats_name)

    def group_minute(self, stats_name: str, topic: str, group: str) -> BrokerStatsItem:
        """Return only the last minute of :meth:`group_data`."""
        return self._group_samples.item((topic, group), SampleSpan.MINUTE, stats_name)

    def group_get_tps(self, topic: str, group: str) -> float:
        """Return the messages per second that ``group`` got from ``topic`` in the last minute (RocketMQ's
        ``consumeTps``).
        """
        return self._group_samples.item((topic, group), SampleSpan.MINUTE, "GROUP_GET_NUMS").tps
