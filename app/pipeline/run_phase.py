"""The phases of a run and the transitions between them."""

from __future__ import annotations

from enum import StrEnum

from engine.runtime.state_table import successor


class RunPhase(StrEnum):
    """The phase of a run."""

    STARTING = "starting"  # the process exists, Spark is starting
    RUNNING = "running"
    STOPPING = "stopping"  # it was asked to stop; within seconds nothing of it is left
    ENDED = "ended"  # it completed its work
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended: only its reports are left."""
        return self not in _NEXT


#: Phase -> the phases that may follow.
_NEXT: dict[RunPhase, tuple[RunPhase, ...]] = {
    RunPhase.STARTING: (RunPhase.RUNNING, RunPhase.STOPPING, RunPhase.ENDED, RunPhase.FAILED, RunPhase.STOPPED),
    RunPhase.RUNNING: (RunPhase.STOPPING, RunPhase.ENDED, RunPhase.FAILED, RunPhase.STOPPED),
    RunPhase.STOPPING: (RunPhase.ENDED, RunPhase.FAILED, RunPhase.STOPPED),
}


def follow(old: RunPhase, new: RunPhase) -> RunPhase:
    """Return ``new``, if it may follow ``old``. Raises :class:`~engine.runtime.state_table.IllegalStateChange`."""
    return successor(_NEXT, old, new, "a run")
