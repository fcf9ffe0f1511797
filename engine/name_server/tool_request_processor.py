"""What only tools ask a name server: key-value configuration, write permission, its own settings, lists of special
topics (RocketMQ: part of ``DefaultRequestProcessor``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.name_server.errors import SettingFixed
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
from engine.remoting.channel import Channel
from engine.remoting.remoting_server import RemotingServer

if TYPE_CHECKING:
    from engine.name_server.name_server import NameServer

#: Bits of ``topicSysFlag`` (``TopicSysFlag``): the topic belongs to a unit; consumers of units subscribe to it.
_UNIT = 1
_UNIT_SUB = 2


class ToolRequestProcessor:
    """Codes 100-102, 205, 219, 304, 311-313, 318, 319 and 327."""

    def __init__(self, name_server: NameServer) -> None:
        self._name_server = name_server
        self._kv = name_server.kv_config_manager
        self._routes = name_server.route_info_manager

    def register_at(self, server: RemotingServer) -> None:
        """Make ``server`` bring its requests here."""
        for code, processor in (
            (RequestCode.PUT_KV_CONFIG, self.put_kv_config),
            (RequestCode.GET_KV_CONFIG, self.get_kv_config),
            (RequestCode.DELETE_KV_CONFIG, self.delete_kv_config),
            (RequestCode.GET_KVLIST_BY_NAMESPACE, self.get_kv_list_by_namespace),
            (RequestCode.WIPE_WRITE_PERM_OF_BROKER, self.wipe_write_perm_of_broker),
            (RequestCode.ADD_WRITE_PERM_OF_BROKER, self.add_write_perm_of_broker),
            (RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, self.get_system_topic_list),
            (RequestCode.GET_UNIT_TOPIC_LIST, self.get_unit_topic_list),
            (RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, self.get_has_unit_sub_topic_list),
            (RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, self.get_has_unit_sub_ununit_topic_list),
            (RequestCode.UPDATE_NAMESRV_CONFIG, self.update_namesrv_config),
            (RequestCode.GET_NAMESRV_CONFIG, self.get_namesrv_config),
        ):
            server.register_processor(code, processor)

    # ------------------------------------------------------------------------------ key-value configuration

    async def put_kv_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 100."""
        header = PutKVConfigRequestHeader.decode(request.ext_fields)
        await self._kv.put(header.namespace, header.key, header.value)
        return request.reply(ResponseCode.SUCCESS)

    def get_kv_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 101."""
        header = KVConfigRequestHeader.decode(request.ext_fields)
        value = self._kv.get(header.namespace, header.key)
        if value is None:
            remark = f"namespace {header.namespace[:100]!r} has no key {header.key[:100]!r}"
            return request.reply(ResponseCode.QUERY_NOT_FOUND, remark)
        return request.reply(ResponseCode.SUCCESS, header=GetKVConfigResponseHeader(value))

    async def delete_kv_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 102. What is not there counts as deleted."""
        header = KVConfigRequestHeader.decode(request.ext_fields)
        await self._kv.delete(header.namespace, header.key)
        return request.reply(ResponseCode.SUCCESS)

    def get_kv_list_by_namespace(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 219."""
        namespace = GetKVListByNamespaceRequestHeader.decode(request.ext_fields).namespace
        table = self._kv.namespace(namespace)
        if table is None:
            return request.reply(ResponseCode.QUERY_NOT_FOUND, f"nothing was put into namespace {namespace[:100]!r}")
        return request.reply(ResponseCode.SUCCESS, body=KVTable(table).to_json())

    # ------------------------------------------------------------------------------ write permission

    def wipe_write_perm_of_broker(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 205."""
        broker_name = WritePermOfBrokerRequestHeader.decode(request.ext_fields).broker_name
        count = self._routes.wipe_write_perm(broker_name)
        return request.reply(ResponseCode.SUCCESS, header=WipeWritePermOfBrokerResponseHeader(count))

    def add_write_perm_of_broker(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 327."""
        broker_name = WritePermOfBrokerRequestHeader.decode(request.ext_fields).broker_name
        count = self._routes.add_write_perm(broker_name)
        return request.reply(ResponseCode.SUCCESS, header=AddWritePermOfBrokerResponseHeader(count))

    # ------------------------------------------------------------------------------ lists of topics

    def get_system_topic_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 304: topics named after clusters and brokers; a tool asks the broker named for the others (305)."""
        topics, broker_addr = self._routes.system_topics()
        return request.reply(ResponseCode.SUCCESS, body=TopicList(tuple(topics), broker_addr).to_json())

    def get_unit_topic_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 311: topics that belong to a unit of a deployment."""
        return self._topics_by_flag(request, lambda flag: bool(flag & _UNIT))

    def get_has_unit_sub_topic_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 312: topics to which consumers of units subscribe."""
        return self._topics_by_flag(request, lambda flag: bool(flag & _UNIT_SUB))

    def get_has_unit_sub_ununit_topic_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 313: those of 312 that belong to no unit."""
        return self._topics_by_flag(request, lambda flag: bool(flag & _UNIT_SUB) and not flag & _UNIT)

    def _topics_by_flag(self, request: RemotingCommand, is_wanted: Callable[[int], bool]) -> RemotingCommand:
        topics = self._routes.topics_by_flag(is_wanted)
        return request.reply(ResponseCode.SUCCESS, body=TopicList(tuple(topics)).to_json())

    # ------------------------------------------------------------------------------ settings

    def update_namesrv_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 318: change settings, all or none."""
        try:
            self._name_server.configuration.update(parse_properties(request.body))
        except SettingFixed as refusal:
            return request.reply(ResponseCode.NO_PERMISSION, str(refusal))
        return request.reply(ResponseCode.SUCCESS)

    def get_namesrv_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 319: all settings as Java properties text."""
        port = int(self._name_server.address.rpartition(":")[2])
        return request.reply(
            ResponseCode.SUCCESS, body=format_properties(self._name_server.configuration.settings(port))
        )
