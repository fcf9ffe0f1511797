"""The variations of the explorer: pauses and deaths of actors at a step, and lost frames.

A schedule is a set of stalls; everything else follows from scenario and seed. A stall is addressed by what an actor is
about to do ("C1/worker-0 is about to call the listener for the third time"), not by an event number: event numbers
shift as soon as anything before them does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from engine.lab.scenario.scenario import Command

#: Used as a duration: forever.
FOR_EVER_MS = 0


class StepPoint(NamedTuple):
    """The point at which an actor is about to do ``label`` (see :func:`engine.runtime.step.step`) for the
    ``occurrence``-th time.

    On a link, ``P1->B1``, the point at which it is about to carry the ``occurrence``-th frame named ``label``.

    Counted from 1 at the beginning of the explorer's window.
    """

    actor: str
    label: str
    occurrence: int

    @property
    def node(self) -> str:
        """Return the node on which the actor runs."""
        return self.actor.partition("/")[0]

    @property
    def is_frame(self) -> bool:
        """Return whether it is a frame on a link, which can only be lost."""
        return "->" in self.actor


class StallKind(StrEnum):
    """The kind of a stall: what stops, and what survives."""

    #: The actor pauses.
    HOLD = "hold"
    #: Its whole node pauses, as in a long garbage collection.
    PAUSE = "pause"
    #: Its process is killed. Its state in memory is lost; it is started again afterwards, or never.
    CRASH = "crash"
    #: The frame is lost. It has no duration: it never comes.
    LOSS = "loss"


class Stall(NamedTuple):
    """A stall: at ``point``, before the actor continues, ``kind`` happens and lasts ``ms``; a crash may last forever, a
    loss does.
    """

    point: StepPoint
    ms: int
    kind: StallKind = StallKind.HOLD

    def begin(self) -> Command:
        """Return the lab command that begins the stall."""
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
        """Return the lab command that ends it; None if it ends by itself, or never."""
        if self.kind is StallKind.PAUSE:
            return Command("resume-node", self.point.node)
        if self.kind is StallKind.CRASH and self.ms != FOR_EVER_MS:
            return Command("restart", self.point.node)
        return None


#: Several stalls, in the order in which they take effect.
Stalls = tuple[Stall, ...]
