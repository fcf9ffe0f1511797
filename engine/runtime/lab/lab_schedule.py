"""The schedule of a lab world: the ready list, the timers, the virtual clock.

The order is a function of the scheduled events, and of ``scheduler``, if set. Only the first ready event of each actor
is ever offered: actors may be reordered, the callbacks inside one actor may not.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from engine.runtime.lab.lab_actor import LabNode
from engine.runtime.lab.lab_event import LabEvent

#: Cancelled timers are removed when the heap has doubled since the last time, but not below this length.
_TIMERS_WORTH_CLEANING = 1_000


class LabSchedule:
    """The schedule of one world."""

    def __init__(self) -> None:
        #: Chooses the next event among the first ready events of all actors that may run. Without it events run in the
        #: order in which they became ready.
        self.scheduler: Callable[[Sequence[LabEvent]], LabEvent] | None = None
        #: Called before each event that has a label; False: not now. The event stays first in line. If the gate has
        #: held its actor or paused or crashed its node, the run continues with other events; otherwise it stops there
        #: (a breakpoint).
        self.gate: Callable[[LabEvent], bool] | None = None
        #: Whether the last run ended at the gate.
        self.stopped_by_gate = False
        #: Virtual time in microseconds; the world began at 0.
        self.now_us = 0
        #: Events that are due, oldest first.
        self.ready: deque[LabEvent] = deque()
        #: Events that were first in line while their actor was held or its node paused.
        self._parked: list[LabEvent] = []
        self._timers: list[tuple[int, int, LabEvent]] = []
        self._timers_after_cleaning = _TIMERS_WORTH_CLEANING
        self._sequence = 0

    def add_timer(self, event: LabEvent) -> None:
        """Make ``event`` ready when it is due; events due at the same time keep their order."""
        self._sequence += 1
        heapq.heappush(self._timers, (event.due_us, self._sequence, event))
        if len(self._timers) > 2 * self._timers_after_cleaning:
            # Most timeouts are cancelled long before they are due.
            self._timers = [timer for timer in self._timers if not timer[2].is_cancelled]
            heapq.heapify(self._timers)
            self._timers_after_cleaning = max(_TIMERS_WORTH_CLEANING, len(self._timers))

    def next_event(self, until_us: int | None) -> LabEvent | None:
        """Take the next event to run, letting time pass if needed.

        ``None``: nothing is due by ``until_us``, or the gate stops the run.
        """
        while True:
            if self.scheduler is None:
                event = self.ready.popleft() if self.ready else None
            else:
                event = self._chosen_event(self.scheduler)
            if event is None:
                if not self._advance(until_us):
                    return None
                continue
            if event.is_cancelled:
                continue
            actor = event.actor
            if actor.held_until_us or actor.node.stands_still:
                self._parked.append(event)
                continue
            if not event.label or self.gate is None or self.gate(event):
                if actor.node.alive:
                    return event
            elif actor.blocked:
                self._parked.append(event)
            elif actor.node.alive:
                self.ready.appendleft(event)
                self.stopped_by_gate = True
                return None

    def enabled_events(self) -> list[LabEvent]:
        """Return the first ready event of every actor that may run now, in the order in which they became ready."""
        first: dict[int, LabEvent] = {}
        for event in self.ready:
            actor = event.actor
            if actor.number not in first and not event.is_cancelled and not actor.blocked:
                first[actor.number] = event
        return list(first.values())

    def peek(self) -> LabEvent | None:
        """Return the event that would run next without a scheduler or a gate, without any change; None if nothing
        would.
        """
        for event in self.ready:
            if not event.is_cancelled and not event.actor.blocked:
                return event
        runnable = (timer for timer in self._timers if not timer[2].is_cancelled and not timer[2].actor.blocked)
        first = min(runnable, default=None, key=lambda timer: timer[:2])
        return first[2] if first is not None else None

    def let_time_pass(self, until_us: int) -> None:
        """Advance to ``until_us``, or to the first event that may run before; nothing runs.

        Due events that are held or paused are set aside in the same order as by a run. Not for worlds with a scheduler
        or a gate.
        """
        event = self.next_event(until_us)
        if event is not None:
            self.ready.appendleft(event)
        else:
            self.now_us = max(self.now_us, until_us)

    def pending_events(self) -> Iterator[LabEvent]:
        """Yield due events that have not run, including cancelled ones: first those that wait for a hold or pause to
        end.
        """
        yield from self._parked
        yield from self.ready

    def next_timers(self, count: int) -> list[LabEvent]:
        """Return up to ``count`` events that are not due yet, in the order in which they will be."""
        timers = ((due_us, number, event) for due_us, number, event in self._timers if not event.is_cancelled)
        return [event for _, _, event in sorted(timers)[:count]]

    def running_timers(self) -> Iterator[LabEvent]:
        """Yield every event that is not due yet, in no particular order."""
        return (event for _, _, event in self._timers if not event.is_cancelled)

    def timers_due_at(self, due_us: int) -> list[LabEvent]:
        """Return the events that will be due at exactly that time, in the order in which they were added."""
        timers = ((number, event) for due, number, event in self._timers if due == due_us and not event.is_cancelled)
        return [event for _, event in sorted(timers)]

    def fire_now(self, event: LabEvent) -> None:
        """Make a timer ready immediately, after all events that are ready already, as if it were due."""
        self._timers = [timer for timer in self._timers if timer[2] is not event]
        heapq.heapify(self._timers)
        event.due_us = self.now_us
        self.ready.append(event)

    def unpark(self) -> None:
        """Put the parked events of actors that may run again before all ready events, because they are older."""
        parked, self._parked = self._parked, []
        free: list[LabEvent] = []
        for event in parked:
            (self._parked if event.actor.blocked else free).append(event)
        self.ready.extendleft(reversed(free))

    def drop_node(self, node: LabNode) -> None:
        """Remove every event of a node that has crashed."""
        self.ready = deque(event for event in self.ready if event.actor.node is not node)
        self._parked = [event for event in self._parked if event.actor.node is not node]
        self._timers = [timer for timer in self._timers if timer[2].actor.node is not node]
        heapq.heapify(self._timers)

    def clear(self) -> None:
        """Remove every event, and the scheduler."""
        self.gate = self.scheduler = None
        self.ready.clear()
        self._parked.clear()
        self._timers.clear()

    def _chosen_event(self, scheduler: Callable[[Sequence[LabEvent]], LabEvent]) -> LabEvent | None:
        options = self.enabled_events()
        if not options:
            # Only cancelled and blocked events are left; the caller handles them one by one.
            return self.ready.popleft() if self.ready else None
        event = options[0] if len(options) == 1 else scheduler(options)
        self.ready.remove(event)
        return event

    def _advance(self, until_us: int | None) -> bool:
        """Advance the clock to the next timer and make all events that are due then ready. False: none, or too late."""
        timers = self._timers
        while timers and timers[0][2].is_cancelled:
            heapq.heappop(timers)
        if not timers or (until_us is not None and timers[0][0] > until_us):
            return False
        self.now_us = max(self.now_us, timers[0][0])
        while timers and timers[0][0] <= self.now_us:
            event = heapq.heappop(timers)[2]
            if not event.is_cancelled:
                self.ready.append(event)
        return True
