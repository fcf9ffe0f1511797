"""The addresses through which a run of this server reaches its name server and broker."""

from __future__ import annotations

from engine.runtime.live.live_tls import ServerTls, own_client_tls

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "[::1]", "": "127.0.0.1"}


def reachable(address: str) -> str:
    """Return ``host:port`` under which this machine reaches a server that listens at ``address``."""
    host, _, port = address.rpartition(":")
    return f"{_ANY.get(host, host)}:{port}"


def tls_options(server: ServerTls) -> tuple[str, ...]:
    """Return options of ``glassmq pipeline``; none while plain connections are accepted."""
    tls = own_client_tls(server)
    if tls is None:
        return ()
    # The certificate itself is trusted: its name need not be this address.
    return ("--tls-any-host", f"--tls-ca={tls.ca}", f"--tls-cert={tls.certificate}", f"--tls-key={tls.key}")
