"""The requirements of :mod:`app.web.access_gate` for clients of the page server."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from app.web.embedding_origins import LOOPBACK_ORIGINS

#: ``[::1]:8000``, an address of IPv6 without brackets, ``localhost:8000``. What follows a port is not ignored: it may
#: be the name for which another reader takes the header.
_HOST = re.compile(r"\[(?P<bracketed>[^]]*)\](:\d*)?|(?P<address>[^:]*:[^:]*:.*)|(?P<name>[^:]*)(:\d*)?")


@dataclass(frozen=True, slots=True)
class PageAccessRules:
    """The requirements of the gate.

    ``listen_host`` is the address the page server listens on; ``token`` None means that none is needed (allowed on
    loopback only; the command line enforces that); ``allowed_hosts`` are further names that a Host header may carry.
    ``embedding_origins`` are those of other sites whose pages may embed a stage of the lab.
    """

    listen_host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None
    allowed_hosts: tuple[str, ...] = field(default=())
    embedding_origins: tuple[str, ...] = field(default=())

    @property
    def embedders(self) -> tuple[str, ...]:
        """Return the sites that may embed a stage of the lab, apart from this server: on loopback those of this machine
        too.
        """
        return (*(LOOPBACK_ORIGINS if is_loopback(self.listen_host) else ()), *self.embedding_origins)

    @property
    def cookie_name(self) -> str:
        """Return the cookie's name. Cookies are shared by all ports of a host, so the port is part of it."""
        return f"glassmq_token_{self.port}"

    def host_is_allowed(self, host_header: str) -> bool:
        """Return True when a request with this Host header is meant for this server.

        An address literal cannot be rebound by DNS, so any is fine where the server listens on more than loopback.
        """
        name = host_name(host_header)
        if name in ("localhost", *self.allowed_hosts):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not is_loopback(self.listen_host)


def host_name(host_header: str) -> str:
    """Return the name in a Host header, lower case, without port and brackets; empty for what is not name and port."""
    found = _HOST.fullmatch(host_header.strip().lower())
    return (found["bracketed"] or found["address"] or found["name"] or "") if found else ""


def is_loopback(host: str) -> bool:
    """Return True for ``localhost`` and addresses of the loopback network."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
