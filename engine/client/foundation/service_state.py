"""The life of a producer or consumer (RocketMQ: ``ServiceState``)."""

from __future__ import annotations

from enum import StrEnum

from engine.client.foundation.errors import ClientNotRunning


class ServiceState(StrEnum):
    """Where in its life a client is."""

    CREATE_JUST = "CREATE_JUST"
    RUNNING = "RUNNING"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"
    START_FAILED = "START_FAILED"


#: From each state, the states that may follow. A client is never started twice.
TRANSITIONS: dict[ServiceState, tuple[ServiceState, ...]] = {
    ServiceState.CREATE_JUST: (ServiceState.START_FAILED, ServiceState.SHUTDOWN_ALREADY),
    ServiceState.START_FAILED: (ServiceState.RUNNING, ServiceState.SHUTDOWN_ALREADY),
    ServiceState.RUNNING: (ServiceState.SHUTDOWN_ALREADY,),
    ServiceState.SHUTDOWN_ALREADY: (),
}


class ServiceLife:
    """The state of one client. As in RocketMQ a start assumes failure until it has succeeded.

    :param who: names the client in errors, e.g. ``"producer group orders"``.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self.state = ServiceState.CREATE_JUST

    def enter(self, state: ServiceState) -> None:
        """Go on to ``state``. Raises :class:`ClientNotRunning` when it may not follow the present one."""
        if state not in TRANSITIONS[self.state]:
            raise ClientNotRunning(f"{self._who} is {self.state}: it cannot become {state}; make a new one")
        self.state = state

    @property
    def is_running(self) -> bool:
        """True between a successful start and the shutdown."""
        return self.state is ServiceState.RUNNING

    def require_running(self) -> None:
        """Raise :class:`ClientNotRunning` unless the client runs."""
        if not self.is_running:
            hint = "call start() first" if self.state is ServiceState.CREATE_JUST else "make a new one"
            raise ClientNotRunning(f"{self._who} is {self.state}, not RUNNING: {hint}")
