"""The life cycle of a producer or consumer (RocketMQ: ``ServiceState``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum

from engine.client.foundation.errors import ClientNotRunning
from engine.runtime.started_parts import Ending, PartsState, StartedParts, StartRefused


class ServiceState(StrEnum):
    """The states of a client."""

    CREATE_JUST = "CREATE_JUST"
    RUNNING = "RUNNING"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"
    START_FAILED = "START_FAILED"


#: As in RocketMQ, a start counts as failed until it has succeeded.
_STATES = {
    PartsState.NEW: ServiceState.CREATE_JUST,
    PartsState.STARTING: ServiceState.START_FAILED,
    PartsState.RUNNING: ServiceState.RUNNING,
    PartsState.ENDING: ServiceState.SHUTDOWN_ALREADY,
    PartsState.ENDED: ServiceState.SHUTDOWN_ALREADY,
}


class ServiceLife:
    """The life cycle of one client, based on :class:`~engine.runtime.started_parts.StartedParts`.

    :param who: names the client in errors, e.g. ``"producer group orders"``.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._parts = StartedParts(who)

    @property
    def state(self) -> ServiceState:
        """Return RocketMQ's name of the state."""
        return _STATES[self._parts.state]

    def ends_with(self, ending: Ending) -> None:
        """Have ``ending`` called when the client ends, or its start fails; before those that were added earlier."""
        self._parts.add(ending)

    @asynccontextmanager
    async def starting(self) -> AsyncIterator[None]:
        """Run a start inside this context, completely or not at all.

        Raises :class:`ClientNotRunning` for a second start, and if the client is shut down meanwhile.
        """
        try:
            async with self._parts.starting():
                yield
        except StartRefused as refused:
            raise ClientNotRunning(str(refused)) from None

    async def end(self) -> None:
        """End everything, in any state, as :meth:`StartedParts.end` does."""
        await self._parts.end()

    @property
    def is_starting(self) -> bool:
        """Return True while its start is in progress."""
        return self._parts.state is PartsState.STARTING

    @property
    def is_running(self) -> bool:
        """Return True between a successful start and the shutdown."""
        return self._parts.state is PartsState.RUNNING

    def require_running(self) -> None:
        """Raise :class:`ClientNotRunning` unless the client runs."""
        if not self.is_running:
            hint = "call start() first" if self.state is ServiceState.CREATE_JUST else "make a new one"
            raise ClientNotRunning(f"{self._who} is {self.state}, not RUNNING: {hint}")
