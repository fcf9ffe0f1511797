"""Spares trips through the lab's loop: where nobody else can run, whoever runs goes on at once.

A step gives way so that others may run first. When nobody else is ready, the loop comes straight back to the same
actor; when nothing else is due before an answer, it comes straight to the answer. Leaving out the way there and back
changes nothing in the order of what happens, and searches, which run small worlds thousands of times, spend a third of
their time on it. For worlds without a journal: what goes on in place is numbered as an event is, but ``on_event`` does
not hear of it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from engine.runtime.lab.lab_actor import YIELD
from engine.runtime.step import NO_WAIT

if TYPE_CHECKING:
    from engine.runtime.lab.lab_loop import LabLoop


class LabShortCuts:
    """Made before the first task of a world; from then on its steps take short cuts."""

    def __init__(self, loop: LabLoop) -> None:
        assert loop.schedule.scheduler is None and loop.on_event is None, "somebody wants to see every event"
        self._loop = loop
        self._schedule = loop.schedule
        loop.use_step_hook(self._step)

    def _step(self, label: str) -> Awaitable[None]:
        """As :func:`~engine.runtime.lab.lab_actor.lab_step`."""
        loop, schedule = self._loop, self._schedule
        event = loop.current
        assert event is not None, "a lab step outside of an event"
        actor = event.actor
        if not schedule.ready and loop.event_number < loop.last_event_number and not loop.stop_asked():
            event.label = label
            if (schedule.gate is None or schedule.gate(event)) and actor.node.alive:
                loop.event_number += 1
                actor.steps += 1
                return NO_WAIT
        actor.next_label = label
        return YIELD

    def pass_time(self, delay_us: int) -> bool:
        """Let time pass while an event runs, unless something else would happen meanwhile; whether it did."""
        loop, schedule = self._loop, self._schedule
        due_us = schedule.now_us + delay_us
        if schedule.ready or due_us > loop.until_us or loop.event_number >= loop.last_event_number:
            return False
        next_due_us = schedule.next_due_us()
        # What is due at the same time was there first.
        if (next_due_us is not None and next_due_us <= due_us) or loop.stop_asked():
            return False
        schedule.now_us = due_us
        loop.event_number += 1
        return True
