"""Finds which of the ports that ``glassmq serve`` needs are taken, all of them before anything starts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from app.web.page_socket import bind_page_socket
from engine.runtime.port import AddressInUse, RuntimeFault

#: How many ports above a taken one are tried for the advice.
_TRIED_PORTS = 100
_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class WantedPort:
    """A port to listen on, and the option that sets it. Port 0, any free one, is never taken."""

    option: str
    host: str
    port: int

    @property
    def is_taken(self) -> bool:
        """Return whether another process listens there. Other errors of an address are left to the start itself."""
        if self.port == 0:
            return False
        try:
            bind_page_socket(self.host, self.port).close()
        except AddressInUse:
            return True
        except RuntimeFault:
            return False
        return False


def explain_taken_ports(wanted: Sequence[WantedPort]) -> str | None:
    """Return one line that names every taken port, its option, and a command that would start; None when all are
    free.
    """
    taken = [one for one in wanted if one.is_taken]
    if not taken:
        return None
    used = {one.port for one in wanted}
    words = []
    for one in taken:
        other = _free_port_above(one, used)
        used.add(other)
        words.append(f"{one.option} {other}")
    verb = "is" if len(taken) == 1 else "are"
    return (
        f"{', '.join(f'{one.host}:{one.port} ({one.option})' for one in taken)} {verb} in use. "
        f"Stop what listens there, or start a second instance with a data folder of its own: "
        f"glassmq serve {' '.join(words)} --data ./data-2"
    )


def _free_port_above(wanted: WantedPort, used: set[int]) -> int:
    """Return a port that is free now; 0, which takes a free one, when none is near."""
    for port in range(wanted.port + 1, min(wanted.port + _TRIED_PORTS, _MAX_PORT) + 1):
        if port in used:
            continue
        with contextlib.suppress(RuntimeFault):
            bind_page_socket(wanted.host, port).close()
            return port
    return 0
