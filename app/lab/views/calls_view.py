"""The calls of listeners as bars of time: which consumer got which messages, from when to when."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import CALLS_KEPT, CALLS_SHOWN, IN_FLIGHT_SHOWN
from app.picture.world.listener_call import ListenerBar
from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded, NodeChanged

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

#: Node, topic, broker, queue, offset: a message that a member is processing.
_Place = tuple[str, str, str, int, int]


class CallsView:
    """The calls of listeners in one world."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._history = world.history
        #: The kept calls by (event, node); one that has ended is another object than before.
        self._calls: dict[tuple[int, str], ListenerBar] = {}
        #: A message that is being processed -> its call.
        self._open: dict[_Place, tuple[int, str]] = {}
        self._read = (0, 0, 0)

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
        history, (began, ended, changed) = self._history, self._read
        news: list[ConsumeBegan | ConsumeEnded | NodeChanged] = [
            *history.consumes_began[began:],
            *history.consumes_ended[ended:],
            *history.nodes_changed[changed:],
        ]
        self._read = (len(history.consumes_began), len(history.consumes_ended), len(history.nodes_changed))
        # At the same event, earlier calls end first, and a call that takes no time ends after it has begun.
        news.sort(key=lambda entry: (entry.event, isinstance(entry, ConsumeBegan)))
        early: dict[_Place, ConsumeEnded] = {}
        for entry in news:
            if isinstance(entry, ConsumeBegan):
                self._begin(entry)
                known = early.get(_place(entry))
                if known is not None and known.event == entry.event:
                    self._end(_place(entry), known.time_us, known.result)
            elif isinstance(entry, ConsumeEnded):
                if not self._end(_place(entry), entry.time_us, entry.result):
                    early[_place(entry)] = entry
            else:
                for place in [place for place in self._open if place[0] == entry.node]:
                    self._end(place, entry.time_us, "died")

    def _begin(self, entry: ConsumeBegan) -> None:
        identity = (entry.event, entry.node)
        self._open[_place(entry)] = identity
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
            "result": None,
        }
        if len(self._calls) > CALLS_KEPT:
            del self._calls[next(iter(self._calls))]

    def _end(self, place: _Place, time_us: int, result: str) -> bool:
        """End the call of a message; return whether there was one."""
        identity = self._open.pop(place, None)
        call = None if identity is None else self._calls.get(identity)
        if identity is not None and call is not None and call["until_us"] is None:
            self._calls[identity] = {**call, "until_us": time_us, "result": result}
        return identity is not None


def _place(entry: ConsumeBegan | ConsumeEnded) -> _Place:
    return entry.node, entry.topic, entry.broker, entry.queue_id, entry.queue_offset
