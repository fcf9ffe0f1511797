"""Encryption of live connections: who offers it, who demands it, whom one believes (RocketMQ: ``TlsHelper``).

A connection that is encrypted carries the same frames; nothing above the network knows of it. The lab has no TLS: its
links carry frames, and what they show about order and loss does not depend on it.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.runtime.port import RuntimeFault

#: The first byte of every TLS connection: a record of type "handshake". A frame's first byte is the highest of its
#: length, which is 0 for anything below 16 MiB and 1 at the most.
TLS_FIRST_BYTE = b"\x16"


class TlsMode(StrEnum):
    """What a server does with connections (RocketMQ: ``tls.server.mode``)."""

    #: No connection is encrypted.
    DISABLED = "disabled"
    #: Encrypted and plain ones are served: the first byte tells which it is.
    PERMISSIVE = "permissive"
    #: Plain ones are closed.
    ENFORCING = "enforcing"


class TlsUnusable(RuntimeFault):
    """A certificate or key cannot be used; the text names the file and why."""


@dataclass(frozen=True, slots=True)
class ServerTls:
    """How a node's listeners encrypt.

    :param certificate: PEM file with the certificate, and those that lead from it to its issuer.
    :param key: PEM file with its private key, without a pass phrase.
    :param client_ca: PEM file; clients must show a certificate issued by one of these. None: they need none.
    """

    mode: TlsMode = TlsMode.DISABLED
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext | None:
        """What connections are encrypted with; None when they are not. Raises :class:`TlsUnusable`."""
        if self.mode is TlsMode.DISABLED:
            return None
        assert self.certificate is not None and self.key is not None, "TLS needs a certificate and its key"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load_own(context, self.certificate, self.key)
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            _trust(context, self.client_ca)
            # This process is a client of its own name server, and shows this certificate there.
            _trust(context, self.certificate)
        return context


@dataclass(frozen=True, slots=True)
class ClientTls:
    """How a node encrypts the connections that it makes.

    :param ca: PEM file with the issuers (or the very certificates) to believe. None: those that this machine trusts.
    :param verify: False believes any server: what is sent cannot be read on the way, but may go to the wrong one.
    :param check_host: whether the certificate must be for the address that is connected to.
    :param certificate: PEM file with this client's own certificate, for servers that want one; with ``key``.
    """

    ca: Path | None = None
    verify: bool = True
    check_host: bool = True
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """What connections are encrypted with. Raises :class:`TlsUnusable`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = self.verify and self.check_host
        context.verify_mode = ssl.CERT_REQUIRED if self.verify else ssl.CERT_NONE
        if self.ca is not None:
            _trust(context, self.ca)
        elif self.verify:
            context.load_default_certs()
        if self.certificate is not None and self.key is not None:
            _load_own(context, self.certificate, self.key)
        return context


def own_client_tls(server: ServerTls) -> ClientTls | None:
    """How a server's process connects to itself: it believes exactly the certificate that it shows to others.

    None while plain connections are taken.
    """
    if server.mode is not TlsMode.ENFORCING:
        return None
    return ClientTls(ca=server.certificate, check_host=False, certificate=server.certificate, key=server.key)


def _load_own(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    try:
        # The pass phrase is never asked for at the terminal: a key that has one is refused.
        context.load_cert_chain(certificate, key, password=_refuse_pass_phrase)
    except (OSError, ValueError) as failure:  # ssl.SSLError is an OSError
        raise TlsUnusable(f"certificate {certificate} with key {key} cannot be used: {_reason(failure)}") from failure


def _refuse_pass_phrase() -> str:
    raise ValueError("the key has a pass phrase; give one without")


def _trust(context: ssl.SSLContext, issuers: Path) -> None:
    try:
        context.load_verify_locations(cafile=issuers)
    except OSError as failure:
        raise TlsUnusable(f"issuers {issuers} cannot be used: {_reason(failure)}") from failure
    # A certificate may be trusted itself, without the one that issued it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _reason(failure: Exception) -> str:
    if isinstance(failure, ssl.SSLError):
        return str(failure.reason or failure)
    return str(getattr(failure, "strerror", None) or failure)
