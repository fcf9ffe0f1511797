"""What the explorer varies: where one actor stands still, and for how long.

A schedule is a set of stalls; everything else follows from scenario and seed. A stall is addressed by what an actor is
about to do ("C1/worker-0 is about to call the listener for the third time"), not by an event number: event numbers
shift as soon as anything before them does.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.lab.command import Command


class StepPoint(NamedTuple):
    """An actor is about to do ``label`` (see :func:`engine.runtime.step.step`) for the ``occurrence``-th time.

    Counted from 1 at the beginning of the explorer's window.
    """

    actor: str
    label: str
    occurrence: int

    @property
    def node(self) -> str:
        """The node on which it runs."""
        return self.actor.partition("/")[0]


class Stall(NamedTuple):
    """At ``point`` the actor (or its ``whole_node``, as in a long garbage collection) stands still for ``ms``."""

    point: StepPoint
    ms: int
    whole_node: bool = False

    def begin(self) -> Command:
        """The lab command that does it."""
        if self.whole_node:
            return Command("pause-node", self.point.node)
        return Command("hold", self.point.actor, {"ms": self.ms})

    def end(self) -> Command | None:
        """The lab command that ends it; None: it ends by itself."""
        return Command("resume-node", self.point.node) if self.whole_node else None


#: Several stalls, in the order in which they take effect.
Stalls = tuple[Stall, ...]
