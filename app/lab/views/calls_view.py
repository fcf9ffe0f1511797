"""The calls of listeners as bars of time: which consumer got which messages, from when to when."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import CALLS_KEPT, CALLS_SHOWN, IN_FLIGHT_SHOWN

if TYPE_CHECKING:
    from app.picture.world.listener_call import ListenerBar
    from engine.lab.nodes.history import ConsumeBegan
    from engine.lab.witness.deliveries import Delivery
    from engine.lab.world.world import ScenarioWorld


class CallsView:
    """The calls of listeners in one world."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._deliveries = world.witness.deliveries
        #: The kept calls by (event, node); one that has ended is another object than before.
        self._calls: dict[tuple[int, str], ListenerBar] = {}
        #: How many beginnings and ends were read.
        self._begun = self._ended = 0

    def build(self) -> list[ListenerBar]:
        """Return the last calls, the oldest first."""
        self._go_on()
        return [*islice(self._calls.values(), max(0, len(self._calls) - CALLS_SHOWN), None)]

    def between(self, left_us: int, right_us: int, event: int) -> list[ListenerBar]:
        """Return the kept calls that had begun by ``event`` and were under way at some time between the two moments."""
        self._go_on()
        return [
            call
            for call in self._calls.values()
            if call["event"] <= event
            and call["since_us"] <= right_us
            and (call["until_us"] is None or call["until_us"] >= left_us)
        ]

    def _go_on(self) -> None:
        began, ended = self._deliveries.all(), self._deliveries.ended()
        for delivery in began[self._begun :]:
            self._begin(delivery.began)
        for delivery in ended[self._ended :]:
            self._end(delivery)
        self._begun, self._ended = len(began), len(ended)

    def _begin(self, entry: ConsumeBegan) -> None:
        identity = (entry.event, entry.node)
        call = self._calls.get(identity)
        if call is not None:
            if len(call["keys"]) < IN_FLIGHT_SHOWN:
                self._calls[identity] = {**call, "keys": [*call["keys"], entry.key]}
            return
        self._calls[identity] = {
            "event": entry.event,
            "node": entry.node,
            "keys": [entry.key],
            "queue": f"{entry.topic}@{entry.queue_id}",
            "since_us": entry.time_us,
            "until_us": None,
        }
        if len(self._calls) > CALLS_KEPT:
            del self._calls[next(iter(self._calls))]

    def _end(self, delivery: Delivery) -> None:
        """End the call that had the message, unless it has ended with another one."""
        identity, end = (delivery.began.event, delivery.began.node), delivery.end
        call = self._calls.get(identity)
        if call is not None and end is not None and call["until_us"] is None:
            self._calls[identity] = {**call, "until_us": end.time_us}
