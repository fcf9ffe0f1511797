"""Encryption of live connections: modes, certificates and trust (RocketMQ: ``TlsHelper``).

An encrypted connection carries the same frames; nothing above the network is aware of it. The lab has no TLS: its links
carry frames, and their order and loss do not depend on it.
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
    """The modes of a server (RocketMQ: ``tls.server.mode``)."""

    #: No connection is encrypted.
    DISABLED = "disabled"
    #: Encrypted and plain ones are accepted; the first byte distinguishes them.
    PERMISSIVE = "permissive"
    #: Plain ones are closed.
    ENFORCING = "enforcing"


class TlsUnusable(RuntimeFault):
    """A certificate or key cannot be used; the text names the file and why."""


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The encryption of a node's listeners.

    :param certificate: PEM file with the certificate, and the chain to its issuer.
    :param key: PEM file with its private key, without a pass phrase.
    :param client_ca: PEM file; clients must present a certificate issued by one of these. None: not required.
    """

    mode: TlsMode = TlsMode.DISABLED
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context of connections; None if they are not encrypted. Raises :class:`TlsUnusable`."""
        if self.mode is TlsMode.DISABLED:
            return None
        assert self.certificate is not None and self.key is not None, "TLS needs a certificate and its key"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load_own(context, self.certificate, self.key)
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            _trust(context, self.client_ca)
            # This process is a client of its own name server, and presents this certificate there.
            _trust(context, self.certificate)
        return context


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The encryption of a node's outgoing connections.

    :param ca: PEM file with the trusted issuers (or certificates). None: those that this machine trusts.
    :param verify: False trusts any server: data cannot be read in transit, but may go to the wrong server.
    :param check_host: whether the certificate must match the server's address.
    :param certificate: PEM file with this client's own certificate, for servers that require one; with ``key``.
    """

    ca: Path | None = None
    verify: bool = True
    check_host: bool = True
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of outgoing connections. Raises :class:`TlsUnusable`."""
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
    """Return the encryption with which a server's process connects to itself, trusting exactly its own certificate.

    None if plain connections are accepted.
    """
    if server.mode is not TlsMode.ENFORCING:
        return None
    return ClientTls(ca=server.certificate, check_host=False, certificate=server.certificate, key=server.key)


def _load_own(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    try:
        # The pass phrase is never requested at the terminal: a key that has one is refused.
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
    # A certificate may be trusted itself, without its issuer.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _reason(failure: Exception) -> str:
    if isinstance(failure, ssl.SSLError):
        return str(failure.reason or failure)
    return str(getattr(failure, "strerror", None) or failure)
