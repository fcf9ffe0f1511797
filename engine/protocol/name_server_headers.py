"""Headers between clients, brokers and the name server: codes 100-106, 205, 219, 224, 322, 327."""

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


@dataclass(slots=True)
class PutKVConfigRequestHeader(CommandHeader):
    """PUT_KV_CONFIG (100)."""

    namespace: str
    key: str
    value: str


@dataclass(slots=True)
class KVConfigRequestHeader(CommandHeader):
    """GET_KV_CONFIG (101) and DELETE_KV_CONFIG (102)."""

    namespace: str
    key: str


@dataclass(slots=True)
class GetKVConfigResponseHeader(CommandHeader):
    """The reply of GET_KV_CONFIG."""

    value: str | None = None


@dataclass(slots=True)
class GetKVListByNamespaceRequestHeader(CommandHeader):
    """GET_KVLIST_BY_NAMESPACE (219)."""

    namespace: str


@dataclass(slots=True)
class WritePermOfBrokerRequestHeader(CommandHeader):
    """WIPE_WRITE_PERM_OF_BROKER (205) and ADD_WRITE_PERM_OF_BROKER (327)."""

    #: Here the broker's name travels under its full name.
    WIRE_NAMES: ClassVar[Mapping[str, str]] = {}

    broker_name: str


@dataclass(slots=True)
class WipeWritePermOfBrokerResponseHeader(CommandHeader):
    """How many topics of the broker may not be written any more."""

    wipe_topic_count: Int32


@dataclass(slots=True)
class AddWritePermOfBrokerResponseHeader(CommandHeader):
    """How many topics of the broker may be read and written now."""

    add_topic_count: Int32
