"""What the explorer varies: where an actor stands still or its process dies, and for how long; which frames are lost.

A schedule is a set of stalls; everything else follows from scenario and seed. A stall is addressed by what an actor is
about to do ("C1/worker-0 is about to call the listener for the third time"), not by an event number: event numbers
shift as soon as anything before them does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from engine.lab.scenario.scenario import Command

#: Instead of a duration: for ever.
FOR_EVER_MS = 0


class StepPoint(NamedTuple):
    """An actor is about to do ``label`` (see :func:`engine.runtime.step.step`) for the ``occurrence``-th time.

    Or a link, ``P1->B1``, is about to carry the ``occurrence``-th frame that is called ``label``.

    Counted from 1 at the beginning of the explorer's window.
    """

    actor: str
    label: str
    occurrence: int

    @property
    def node(self) -> str:
        """The node on which it runs."""
        return self.actor.partition("/")[0]

    @property
    def is_frame(self) -> bool:
        """Whether it is a frame on a link: it can be lost, and nothing else."""
        return "->" in self.actor


class StallKind(StrEnum):
    """Who does nothing meanwhile, and what is left of it."""

    #: The actor stands still.
    HOLD = "hold"
    #: Its whole node stands still, as in a long garbage collection.
    PAUSE = "pause"
    #: Its process is killed. What it had in hand is gone; it is started anew afterwards, or never.
    CRASH = "crash"
    #: The frame is lost. It has no duration: it never comes.
    LOSS = "loss"


class Stall(NamedTuple):
    """At ``point``, before the actor goes on, ``kind`` happens and lasts ``ms``; a crash may last for ever, a loss
    does."""

    point: StepPoint
    ms: int
    kind: StallKind = StallKind.HOLD

    def begin(self) -> Command:
        """The lab command that does it."""
        match self.kind:
            case StallKind.HOLD:
                return Command("hold", self.point.actor, {"ms": self.ms})
            case StallKind.PAUSE:
                return Command("pause-node", self.point.node)
            case StallKind.CRASH:
                return Command("crash", self.point.node)
            case StallKind.LOSS:
                return Command("drop-next", self.point.actor, {"frame": self.point.label})

    def end(self) -> Command | None:
        """The lab command that ends it; None: it ends by itself, or never."""
        if self.kind is StallKind.PAUSE:
            return Command("resume-node", self.point.node)
        if self.kind is StallKind.CRASH and self.ms != FOR_EVER_MS:
            return Command("restart", self.point.node)
        return None


#: Several stalls, in the order in which they take effect.
Stalls = tuple[Stall, ...]
