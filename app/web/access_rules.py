"""The requirements of :mod:`app.web.access_gate` for clients of the page server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from app.web.embedding_origins import LOOPBACK_ORIGINS


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
    """Return the name in a Host header, lower case, without port and brackets."""
    text = host_header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def is_loopback(host: str) -> bool:
    """Return True for ``localhost`` and addresses of the loopback network."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
