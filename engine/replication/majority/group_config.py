"""Members of a group of brokers (RocketMQ: ``dLegerPeers`` and ``dLegerSelfId`` of ``MessageStoreConfig``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PEER = re.compile(r"([A-Za-z0-9_]{1,32})-([^\s;]+:\d{1,5})")


class GroupUnclear(Exception):
    """A text is not a valid list of the group's members."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Configuration of one member.

    :ivar name: name of this member.
    :ivar addresses: name -> ``"host:port"`` of all members. Timeouts are settings of each member's broker.
    """

    name: str
    addresses: Mapping[str, str]

    @property
    def own_address(self) -> tuple[str, int]:
        """Return the host and the port on which this member listens for the others."""
        host, _, port = self.addresses[self.name].rpartition(":")
        return host, int(port)


def parse_group(peers: str, name: str) -> GroupConfig:
    """Return the configuration of the member ``name`` of :func:`parse_peers`. Raises :class:`GroupUnclear`."""
    addresses = parse_peers(peers)
    if name not in addresses:
        raise GroupUnclear(f"{name!r} is not one of the members {', '.join(addresses)}")
    return GroupConfig(name, addresses)


def parse_peers(peers: str) -> dict[str, str]:
    """Parse ``peers`` in DLedger's form, ``n0-127.0.0.1:40911;n1-127.0.0.1:40912``. Raises :class:`GroupUnclear`."""
    addresses: dict[str, str] = {}
    for text in peers.split(";"):
        found = _PEER.fullmatch(text.strip())
        if found is None or not 0 < int(found[2].rpartition(":")[2]) < 65_536:
            raise GroupUnclear(f"{text!r} is not a member; write members as n0-127.0.0.1:40911;n1-127.0.0.1:40912")
        if found[1] in addresses or found[2] in addresses.values():
            raise GroupUnclear(f"{text!r}: each member has a name and an address of its own")
        addresses[found[1]] = found[2]
    return addresses
