"""What the options of ``glassmq serve`` say about replication, groups of brokers and TLS."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from app.foundation.option_types import usage_errors
from app.web.access_rules import is_loopback
from engine.broker.foundation.broker_config import BrokerConfig
from engine.fields.refusal import FieldRefused
from engine.replication.ha.ha_config import HaRole
from engine.runtime.live.live_tls import ServerTls, TlsMode

if TYPE_CHECKING:
    from engine.replication.majority.group_config import GroupConfig


def with_replication(broker: BrokerConfig, slave_of: str | None) -> BrokerConfig:
    """Return the replication settings: a master serves slaves, by default at any free port; a slave gets an id."""
    if slave_of is None:
        if broker.broker_role is HaRole.SLAVE:
            allowed = "other roles, or --slave-of HOST:PORT, the master's own address"
            raise FieldRefused("brokerRole", "SLAVE needs a master", allowed)
        return dataclasses.replace(broker, ha_listen_port=0) if broker.ha_listen_port is None else broker
    return dataclasses.replace(broker, broker_role=HaRole.SLAVE, broker_id=broker.broker_id or 1)


def group_of(
    peers: str | None, name: str | None, tls_mode: str | None, client_ca: Path | None, *, has_rules: bool
) -> GroupConfig | None:
    """Return the group. Its members trust each other's connections, so it must be on one machine or use certificates.

    With access rules, no peer is trusted without a certificate.
    """
    if peers is None or name is None:
        return None
    from engine.replication.majority.group_config import GroupUnclear, parse_group

    with usage_errors(GroupUnclear, option="--group-peers, --group-self"):
        group = parse_group(peers, name)
    hosts = [address.rpartition(":")[0].strip("[]") for address in group.addresses.values()]
    if tls_mode != TlsMode.ENFORCING and not all(is_loopback(host) for host in hosts):
        raise FieldRefused(
            "--group-peers",
            "they are on other machines, and a member trusts anyone who connects",
            "loopback addresses, or --tls-mode enforcing, best with --tls-client-ca",
        )
    if has_rules and client_ca is None:
        raise FieldRefused(
            "--group-peers",
            "with aclEnable only a certificate identifies members, which sign nothing",
            "--tls-mode enforcing with --tls-client-ca, or no aclEnable",
        )
    return group


def tls_of(certificate: Path | None, key: Path | None, client_ca: Path | None, mode_text: str | None) -> ServerTls:
    """Combine the TLS options."""
    mode = TlsMode(mode_text) if mode_text else TlsMode.PERMISSIVE if certificate else TlsMode.DISABLED
    return ServerTls(mode, certificate, key, client_ca)
