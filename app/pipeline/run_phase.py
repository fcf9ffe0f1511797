"""The phases of a run and the ways between them."""

from __future__ import annotations

from enum import StrEnum


class RunPhase(StrEnum):
    """Where a run stands."""

    STARTING = "starting"  # the process exists, Spark is on its way
    RUNNING = "running"
    STOPPING = "stopping"  # it was asked to stop; within seconds nothing of it is left
    ENDED = "ended"  # it did all that it had to do
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_over(self) -> bool:
        """Whether nothing of the run is left but what it told."""
        return not _WAYS[self]


#: From each phase to those that may follow.
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
    """No way leads from the one phase to the other: a mistake of the program."""


def follow(old: RunPhase, new: RunPhase) -> RunPhase:
    """``new``, if it may follow ``old``. Raises :class:`IllegalPhase`."""
    if new not in _WAYS[old]:
        raise IllegalPhase(f"a run that is {old} cannot become {new}")
    return new
