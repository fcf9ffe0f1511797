"""Certificates made for one run of the tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True, slots=True)
class Certificates:
    """An issuer, a certificate that it issued for this machine, and one of another issuer whom nobody knows."""

    ca: Path
    certificate: Path
    key: Path
    client_certificate: Path
    client_key: Path
    strangers_ca: Path
    strangers_certificate: Path
    strangers_key: Path


def make_certificates(folder: Path) -> Certificates:
    """Write PEM files into ``folder``."""
    ca, strangers_ca = trustme.CA(), trustme.CA()
    paths = {"ca": folder / "ca.pem", "strangers_ca": folder / "strangers-ca.pem"}
    ca.cert_pem.write_to_path(str(paths["ca"]))
    strangers_ca.cert_pem.write_to_path(str(paths["strangers_ca"]))
    for name, issuer, subject in (
        ("", ca, "127.0.0.1"),
        ("client", ca, "client.example"),
        ("strangers", strangers_ca, "127.0.0.1"),
    ):
        issued = issuer.issue_cert(subject)
        prefix = f"{name}_" if name else ""
        certificate, key = folder / f"{name or 'server'}.pem", folder / f"{name or 'server'}.key"
        issued.cert_chain_pems[0].write_to_path(str(certificate))
        issued.private_key_pem.write_to_path(str(key))
        paths |= {f"{prefix}certificate": certificate, f"{prefix}key": key}
    return Certificates(**paths)
