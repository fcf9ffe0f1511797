"""The processor of tools' requests to a name server: key-value configuration, write permission, its own settings, lists
of special topics (RocketMQ: part of ``DefaultRequestProcessor``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.name_server.kv_config_manager import KVConfigManager
from engine.name_server.name_server_configuration import NameServerConfiguration
from engine.name_server.route_info_manager import RouteInfoManager
from engine.protocol.body.bodies import KVTable, TopicList
from engine.protocol.command.headers import (
    AddWritePermOfBrokerResponseHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    KVConfigRequestHeader,
    PutKVConfigRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
    WritePermOfBrokerRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.properties_text import format_properties, parse_properties
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.remoting.remoting_server import RemotingServer

#: Bits of ``topicSysFlag`` (``TopicSysFlag``): the topic belongs to a unit; consumers of units subscribe to it.
_UNIT = 1
_UNIT_SUB = 2


@dataclass(frozen=True)
class ToolRequestProcessor:
    """The processor of codes 100-102, 205, 219, 304, 311-313, 318, 319 and 327.

    :ivar server: the server, for its address.
    """

    routes: RouteInfoManager
    kv_configs: KVConfigManager
    configuration: NameServerConfiguration
    server: RemotingServer

    # ------------------------------------------------------------------------------ key-value configuration

    @answers(RequestCode.PUT_KV_CONFIG, PutKVConfigRequestHeader)
    async def put_kv_config(self, header: PutKVConfigRequestHeader) -> None:
        """Store a text (code 100)."""
        await self.kv_configs.put(header.namespace, header.key, header.value)

    @answers(RequestCode.GET_KV_CONFIG, KVConfigRequestHeader)
    def get_kv_config(self, header: KVConfigRequestHeader) -> GetKVConfigResponseHeader:
        """Return a text (code 101)."""
        value = self.kv_configs.get(header.namespace, header.key)
        if value is None:
            remark = f"namespace {header.namespace[:100]!r} has no key {header.key[:100]!r}"
            raise RequestRefused(remark, ResponseCode.QUERY_NOT_FOUND)
        return GetKVConfigResponseHeader(value)

    @answers(RequestCode.DELETE_KV_CONFIG, KVConfigRequestHeader)
    async def delete_kv_config(self, header: KVConfigRequestHeader) -> None:
        """Delete a text (code 102). A missing one counts as deleted."""
        await self.kv_configs.delete(header.namespace, header.key)

    @answers(RequestCode.GET_KVLIST_BY_NAMESPACE, GetKVListByNamespaceRequestHeader)
    def get_kv_list_by_namespace(self, header: GetKVListByNamespaceRequestHeader) -> KVTable:
        """Return all texts of a namespace (code 219)."""
        table = self.kv_configs.namespace(header.namespace)
        if table is None:
            remark = f"nothing was put into namespace {header.namespace[:100]!r}"
            raise RequestRefused(remark, ResponseCode.QUERY_NOT_FOUND)
        return KVTable(table)

    # ------------------------------------------------------------------------------ write permission

    @answers(RequestCode.WIPE_WRITE_PERM_OF_BROKER, WritePermOfBrokerRequestHeader)
    def wipe_write_perm_of_broker(self, header: WritePermOfBrokerRequestHeader) -> WipeWritePermOfBrokerResponseHeader:
        """Remove a broker's write permission (code 205)."""
        return WipeWritePermOfBrokerResponseHeader(self.routes.wipe_write_perm(header.broker_name))

    @answers(RequestCode.ADD_WRITE_PERM_OF_BROKER, WritePermOfBrokerRequestHeader)
    def add_write_perm_of_broker(self, header: WritePermOfBrokerRequestHeader) -> AddWritePermOfBrokerResponseHeader:
        """Restore a broker's write permission (code 327)."""
        return AddWritePermOfBrokerResponseHeader(self.routes.add_write_perm(header.broker_name))

    # ------------------------------------------------------------------------------ lists of topics

    @answers(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    def get_system_topic_list(self) -> TopicList:
        """Return topics named after clusters and brokers (code 304); a tool asks the named broker for the
        others (305).
        """
        topics, broker_addr = self.routes.system_topics()
        return TopicList(tuple(topics), broker_addr)

    @answers(RequestCode.GET_UNIT_TOPIC_LIST)
    def get_unit_topic_list(self) -> TopicList:
        """Return topics that belong to a unit of a deployment (code 311)."""
        return self._topics_by_flag(lambda flag: bool(flag & _UNIT))

    @answers(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST)
    def get_has_unit_sub_topic_list(self) -> TopicList:
        """Return topics to which consumers of units subscribe (code 312)."""
        return self._topics_by_flag(lambda flag: bool(flag & _UNIT_SUB))

    @answers(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)
    def get_has_unit_sub_ununit_topic_list(self) -> TopicList:
        """Return topics to which consumers of units subscribe but which belong to no unit (code 313)."""
        return self._topics_by_flag(lambda flag: bool(flag & _UNIT_SUB) and not flag & _UNIT)

    def _topics_by_flag(self, is_wanted: Callable[[int], bool]) -> TopicList:
        return TopicList(tuple(self.routes.topics_by_flag(is_wanted)))

    # ------------------------------------------------------------------------------ settings

    @answers(RequestCode.UPDATE_NAMESRV_CONFIG, RemotingCommand)
    def update_namesrv_config(self, request: RemotingCommand) -> None:
        """Change settings, all or none (code 318)."""
        self.configuration.update(parse_properties(request.body))

    @answers(RequestCode.GET_NAMESRV_CONFIG)
    def get_namesrv_config(self) -> bytes:
        """Return all settings as Java properties text (code 319)."""
        return format_properties(self.configuration.settings(int(self.server.address.rpartition(":")[2])))
