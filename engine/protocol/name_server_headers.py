"""Headers between clients, brokers and the name server: codes 103-106, 322."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engine.protocol.command_header import CommandHeader, Int32, Int64


@dataclass(slots=True)
class GetRouteInfoRequestHeader(CommandHeader):
    """GET_ROUTEINFO_BY_TOPIC (105)."""

    topic: str
    accept_standard_json_only: bool | None = None


@dataclass(slots=True)
class RegisterBrokerRequestHeader(CommandHeader):
    """``body_crc32`` is the CRC-32 of the body without its sign bit; 0 is "not given" (older brokers)."""

    #: Here the broker\'s name travels under its full name.
    WIRE_NAMES: ClassVar[Mapping[str, str]] = {}

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Int64
    compressed: bool = False
    body_crc32: Int32 | None = 0


@dataclass(slots=True)
class RegisterBrokerResponseHeader(CommandHeader):
    """The reply of REGISTER_BROKER: where a slave finds its master."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


@dataclass(slots=True)
class UnregisterBrokerRequestHeader(CommandHeader):
    """UNREGISTER_BROKER (104)."""

    #: Here the broker\'s name travels under its full name.
    WIRE_NAMES: ClassVar[Mapping[str, str]] = {}

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(slots=True)
class QueryDataVersionRequestHeader(CommandHeader):
    """QUERY_DATA_VERSION (322): does the name server know the broker's newest topics?"""

    #: Here the broker\'s name travels under its full name.
    WIRE_NAMES: ClassVar[Mapping[str, str]] = {}

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(slots=True)
class QueryDataVersionResponseHeader(CommandHeader):
    """The reply of QUERY_DATA_VERSION; its body is the DataVersion that the name server knows."""

    changed: bool


@dataclass(slots=True)
class GetTopicsByClusterRequestHeader(CommandHeader):
    """GET_TOPICS_BY_CLUSTER (224)."""

    cluster: str
