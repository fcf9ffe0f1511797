"""The actors and the running timers of a lab world: the parts of the view that belong to no single node."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import ACTORS_SHOWN, TIMERS_SHOWN

if TYPE_CHECKING:
    from app.picture.world.actor import Actor, Timer
    from engine.runtime.lab.lab_event import LabEvent
    from engine.runtime.lab.lab_journal import LabJournal
    from engine.runtime.lab.lab_runtime import LabMachines


class ActorsView:
    """Keeps the objects of actors and timers that did not change, so that a patch need not compare them."""

    def __init__(self, world: LabMachines) -> None:
        self._world = world
        self._actors: dict[int, tuple[object, Actor]] = {}
        self._timers: dict[int, tuple[LabEvent, Timer]] = {}

    def actors(self) -> list[Actor]:
        """Return tasks and links, with what each will do next where that is known, and how long it is held."""
        waiting: dict[int, str] = {}
        for event in self._world.loop.schedule.pending_events():
            if not event.is_cancelled:
                waiting.setdefault(event.actor.number, event.label)
        shown: dict[int, tuple[object, Actor]] = {}
        for actor in islice(self._world.actors(), ACTORS_SHOWN):
            made_from = (waiting.get(actor.number), actor.held_until_us, actor.steps, actor.name)
            known = self._actors.get(actor.number)
            if known is None or known[0] != made_from:
                view: Actor = {
                    "name": actor.name,
                    "node": actor.node.name,
                    "label": made_from[0] or "",
                    "held_until_us": actor.held_until_us,
                    "steps": actor.steps,
                    "ready": actor.number in waiting,
                }
                known = (made_from, view)
            shown[actor.number] = known
        self._actors = shown
        return [view for _, view in shown.values()]

    def timers(self) -> list[Timer]:
        """Return the timers that expire next, the first one first."""
        schedule, journal = self._world.loop.schedule, self._world.journal
        shown: dict[int, tuple[LabEvent, Timer]] = {}
        before: Counter[tuple[int, int]] = Counter()
        for event in schedule.next_timers(TIMERS_SHOWN):
            index = before[event.actor.number, event.due_us]
            before[event.actor.number, event.due_us] += 1
            known = self._timers.get(id(event))
            if known is None or known[0] is not event or known[1]["index"] != index:
                known = (event, _timer_view(event, journal, index))
            shown[id(event)] = known
        self._timers = shown
        return [view for _, view in shown.values()]


def _timer_view(event: LabEvent, journal: LabJournal, index: int) -> Timer:
    cause = event.cause - journal.dropped - 1
    started_us = journal.entries[cause].time_us if 0 <= cause < len(journal.entries) else 0
    name = event.actor.name
    label = event.label
    if label == "timer":
        # A sleep or a timeout: the name of its task says what it is for.
        label = name.partition("/")[2] or name
    return {
        "node": event.actor.node.name,
        "actor": name,
        "label": label,
        "started_us": started_us,
        "due_us": event.due_us,
        "index": index,
    }
