"""Which brokers were slow or failed, and until when they are better avoided (RocketMQ: ``LatencyFaultToleranceImpl``).

Different from RocketMQ: times come from the monotonic clock, so that setting the wall clock neither frees nor locks out
a broker.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.port import Clock


@dataclass(slots=True)
class FaultItem:
    """What is held against one broker.

    :ivar current_latency_ms: how long its last send took.
    :ivar available_from_ms: on the monotonic clock; from then on it counts as any other broker (``startTimestamp``).
    """

    broker_name: str
    current_latency_ms: int
    available_from_ms: int


class LatencyFaultTolerance:
    """One entry per broker name that was ever sent to; a client knows few brokers, so nothing is thrown out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: broker name -> the last judgement (``faultItemTable``).
        self.fault_items: dict[str, FaultItem] = {}
        #: Which of the better half is taken next (``whichItemWorst``).
        self._turn = 0

    def update_fault_item(self, broker_name: str, current_latency_ms: int, not_available_duration_ms: int) -> None:
        """Note how a send went; the newest judgement replaces the one before, be it better or worse."""
        available_from_ms = self._now_ms() + not_available_duration_ms
        self.fault_items[broker_name] = FaultItem(broker_name, current_latency_ms, available_from_ms)

    def is_available(self, broker_name: str) -> bool:
        """Whether nothing is held against the broker now."""
        item = self.fault_items.get(broker_name)
        return item is None or item.available_from_ms <= self._now_ms()

    def remove(self, broker_name: str) -> None:
        """Forget the broker: it serves the topic no more."""
        self.fault_items.pop(broker_name, None)

    def pick_one_at_least(self) -> str | None:
        """A broker to use when all are to be avoided: those of the better half take turns. None: no broker is known.

        Better is who is available, then who was faster, then who may be used earlier.
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
