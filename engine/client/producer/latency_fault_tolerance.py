"""The brokers that were slow or failed, and how long to avoid them (RocketMQ: ``LatencyFaultToleranceImpl``).

Different from RocketMQ: times come from the monotonic clock, so that setting the wall clock neither re-enables nor
excludes a broker.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.port import Clock


@dataclass(slots=True)
class FaultItem:
    """The recorded latency of one broker.

    :ivar current_latency_ms: how long its last send took.
    :ivar available_from_ms: on the monotonic clock; from then on it is available again (``startTimestamp``).
    """

    broker_name: str
    current_latency_ms: int
    available_from_ms: int


class LatencyFaultTolerance:
    """A table with one entry per broker name that was ever used; a client knows few brokers, so no entry is removed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: broker name -> its last entry (``faultItemTable``).
        self.fault_items: dict[str, FaultItem] = {}
        #: The rotation among the better half (``whichItemWorst``).
        self._turn = 0

    def update_fault_item(self, broker_name: str, current_latency_ms: int, not_available_duration_ms: int) -> None:
        """Record the outcome of a send; the newest entry replaces the previous one, whether better or worse."""
        available_from_ms = self._now_ms() + not_available_duration_ms
        self.fault_items[broker_name] = FaultItem(broker_name, current_latency_ms, available_from_ms)

    def is_available(self, broker_name: str) -> bool:
        """Return whether the broker is available now."""
        item = self.fault_items.get(broker_name)
        return item is None or item.available_from_ms <= self._now_ms()

    def remove(self, broker_name: str) -> None:
        """Remove a broker that no longer serves the topic."""
        self.fault_items.pop(broker_name, None)

    def pick_one_at_least(self) -> str | None:
        """Return a broker to use if all are to be avoided, in rotation among the better half. None: no broker is known.

        Brokers are ordered by availability, then by latency, then by the time at which they become available.
        """
        if not self.fault_items:
            return None
        now_ms = self._now_ms()
        ranking = sorted(
            self.fault_items.values(),
            key=lambda item: (item.available_from_ms > now_ms, item.current_latency_ms, item.available_from_ms),
        )
        half = len(ranking) // 2
        if half <= 0:
            return ranking[0].broker_name
        self._turn += 1
        return ranking[self._turn % half].broker_name

    def _now_ms(self) -> int:
        return self._clock.monotonic_us() // 1_000
