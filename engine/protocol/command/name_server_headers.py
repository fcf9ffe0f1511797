"""Headers between clients, brokers and the name server: codes 100-106, 205, 219, 224, 322, 327."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class GetRouteInfoRequestHeader(CommandHeader):
    """The header of GET_ROUTEINFO_BY_TOPIC (105)."""

    topic: str
    accept_standard_json_only: bool | None = None


class RegisterBrokerRequestHeader(CommandHeader, wire_names={}):
    """The header of REGISTER_BROKER (103). ``body_crc32`` is the CRC-32 of the body without its sign bit; 0 is "not
    given" (older brokers).
    """

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Int64
    compressed: bool = False
    body_crc32: Int32 | None = 0


class RegisterBrokerResponseHeader(CommandHeader):
    """The reply of REGISTER_BROKER: the address at which a slave finds its master."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnregisterBrokerRequestHeader(CommandHeader, wire_names={}):
    """The header of UNREGISTER_BROKER (104)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class QueryDataVersionRequestHeader(CommandHeader, wire_names={}):
    """The header of QUERY_DATA_VERSION (322), which checks whether the name server has the broker's newest topics."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class QueryDataVersionResponseHeader(CommandHeader):
    """The reply of QUERY_DATA_VERSION; its body is the DataVersion that the name server has."""

    changed: bool


class GetTopicsByClusterRequestHeader(CommandHeader):
    """The header of GET_TOPICS_BY_CLUSTER (224)."""

    cluster: str


class PutKVConfigRequestHeader(CommandHeader):
    """The header of PUT_KV_CONFIG (100)."""

    namespace: str
    key: str
    value: str


class KVConfigRequestHeader(CommandHeader):
    """The header of GET_KV_CONFIG (101) and DELETE_KV_CONFIG (102)."""

    namespace: str
    key: str


class GetKVConfigResponseHeader(CommandHeader):
    """The reply of GET_KV_CONFIG."""

    value: str | None = None


class GetKVListByNamespaceRequestHeader(CommandHeader):
    """The header of GET_KVLIST_BY_NAMESPACE (219)."""

    namespace: str


class WritePermOfBrokerRequestHeader(CommandHeader, wire_names={}):
    """The header of WIPE_WRITE_PERM_OF_BROKER (205) and ADD_WRITE_PERM_OF_BROKER (327)."""

    broker_name: str


class WipeWritePermOfBrokerResponseHeader(CommandHeader):
    """The reply of WIPE_WRITE_PERM_OF_BROKER: how many of the broker's topics are no longer writable."""

    wipe_topic_count: Int32


class AddWritePermOfBrokerResponseHeader(CommandHeader):
    """The reply of ADD_WRITE_PERM_OF_BROKER: how many of the broker's topics are readable and writable now."""

    add_topic_count: Int32
