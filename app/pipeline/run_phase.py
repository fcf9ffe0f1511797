"""The phases of a run and the transitions between them."""

from __future__ import annotations

from enum import StrEnum


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
        return not _WAYS[self]


#: Phase -> the phases that may follow.
_WAYS: dict[RunPhase, frozenset[RunPhase]] = {
    RunPhase.STARTING: frozenset(
        {RunPhase.RUNNING, RunPhase.STOPPING, RunPhase.ENDED, RunPhase.FAILED, RunPhase.STOPPED}
    ),
    RunPhase.RUNNING: frozenset({RunPhase.STOPPING, RunPhase.ENDED, RunPhase.FAILED, RunPhase.STOPPED}),
    RunPhase.STOPPING: frozenset({RunPhase.ENDED, RunPhase.FAILED, RunPhase.STOPPED}),
    RunPhase.ENDED: frozenset(),
    RunPhase.FAILED: frozenset(),
    RunPhase.STOPPED: frozenset(),
}


class IllegalPhase(Exception):
    """There is no transition from the one phase to the other: a program error."""


def follow(old: RunPhase, new: RunPhase) -> RunPhase:
    """Return ``new``, if it may follow ``old``. Raises :class:`IllegalPhase`."""
    if new not in _WAYS[old]:
        raise IllegalPhase(f"a run that is {old} cannot become {new}")
    return new
