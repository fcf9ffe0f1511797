"""Answers brokers and clients (RocketMQ: ``DefaultRequestProcessor`` of the name server); what only tools ask is in
``tool_request_processor.py``.
"""

from __future__ import annotations

import zlib

from engine.name_server.errors import RegistrationRefused
from engine.name_server.kv_config_manager import ORDER_TOPIC_NAMESPACE, KVConfigManager
from engine.name_server.name_server_config import NameServerConfig
from engine.name_server.route_info_manager import RouteInfoManager
from engine.protocol.body.bodies import KVTable, RegisterBrokerBody, TopicList
from engine.protocol.body.data_version import DataVersion
from engine.protocol.command.headers import (
    DeleteTopicRequestHeader,
    GetRouteInfoRequestHeader,
    GetTopicsByClusterRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnregisterBrokerRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json, loads_json_object
from engine.protocol.names import validate_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.remoting_server import RemotingServer

_CRC_MASK = 0x7FFF_FFFF


class DefaultRequestProcessor:
    """Codes 103-106, 206, 216, 224 and 322."""

    def __init__(
        self, route_info_manager: RouteInfoManager, kv_config_manager: KVConfigManager, config: NameServerConfig
    ) -> None:
        self._routes = route_info_manager
        self._kv = kv_config_manager
        self._config = config

    def register_at(self, server: RemotingServer) -> None:
        """Make ``server`` bring its requests here."""
        for code, processor in (
            (RequestCode.REGISTER_BROKER, self.register_broker),
            (RequestCode.UNREGISTER_BROKER, self.unregister_broker),
            (RequestCode.QUERY_DATA_VERSION, self.query_data_version),
            (RequestCode.GET_ROUTEINFO_BY_TOPIC, self.get_route_info_by_topic),
            (RequestCode.GET_BROKER_CLUSTER_INFO, self.get_broker_cluster_info),
            (RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, self.get_all_topic_list),
            (RequestCode.GET_TOPICS_BY_CLUSTER, self.get_topics_by_cluster),
            (RequestCode.DELETE_TOPIC_IN_NAMESRV, self.delete_topic),
        ):
            server.register_processor(code, processor)

    # ------------------------------------------------------------------------------ brokers

    def register_broker(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 103. A body whose CRC does not fit is refused: half a topic table is worse than none."""
        header = RegisterBrokerRequestHeader.decode(request.ext_fields)
        if header.compressed:
            raise RegistrationRefused("compressed registrations are not understood: set compressedRegister=false")
        crc = zlib.crc32(request.body) & _CRC_MASK
        if header.body_crc32 and header.body_crc32 != crc:
            raise RegistrationRefused(f"the body's CRC is {crc}, the header says {header.body_crc32}")
        for what, text in (("broker name", header.broker_name), ("cluster name", header.cluster_name)):
            if not text.strip() or len(text) > 255:
                raise RegistrationRefused(f"the {what} must have 1 to 255 characters, got {len(text)}")
        wrapper = RegisterBrokerBody.from_json(request.body).topic_config_serialize_wrapper
        for config in wrapper.topic_config_table.values():
            validate_topic(config.topic_name)
        ha_server_addr, master_addr = self._routes.register_broker(header, wrapper, channel)
        ordered = self._kv.namespace(ORDER_TOPIC_NAMESPACE)
        reply_header = RegisterBrokerResponseHeader(ha_server_addr, master_addr)
        body = b"" if ordered is None else KVTable(ordered).to_json()
        return request.reply(ResponseCode.SUCCESS, header=reply_header, body=body)

    def unregister_broker(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 104."""
        header = UnregisterBrokerRequestHeader.decode(request.ext_fields)
        self._routes.unregister_broker(header.broker_name, header.broker_addr, header.broker_id)
        return request.reply(ResponseCode.SUCCESS)

    def query_data_version(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 322: must the broker register, or does this name server know its topics already?"""
        header = QueryDataVersionRequestHeader.decode(request.ext_fields)
        asked = DataVersion.from_dict(loads_json_object(request.body, "a data version"))
        known = self._routes.query_data_version(header.broker_addr)
        if known == asked:
            self._routes.touch(header.broker_addr)
        body = b"" if known is None else dumps_json(known.to_dict())
        return request.reply(ResponseCode.SUCCESS, header=QueryDataVersionResponseHeader(known != asked), body=body)

    # ------------------------------------------------------------------------------ clients and tools

    def get_route_info_by_topic(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 105."""
        topic = GetRouteInfoRequestHeader.decode(request.ext_fields).topic
        route = self._routes.pickup_topic_route_data(topic)
        if route is None:
            return request.reply(ResponseCode.TOPIC_NOT_EXIST, f"no broker has registered topic {topic!r}")
        if self._config.order_message_enable:
            route.order_topic_conf = self._kv.get(ORDER_TOPIC_NAMESPACE, topic)
        return request.reply(ResponseCode.SUCCESS, body=route.to_json())

    def get_broker_cluster_info(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 106."""
        return request.reply(ResponseCode.SUCCESS, body=self._routes.all_cluster_info().to_json())

    def get_all_topic_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 206."""
        return request.reply(ResponseCode.SUCCESS, body=TopicList(tuple(self._routes.all_topics())).to_json())

    def get_topics_by_cluster(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 224."""
        cluster = GetTopicsByClusterRequestHeader.decode(request.ext_fields).cluster
        topics = self._routes.topics_of_cluster(cluster)
        return request.reply(ResponseCode.SUCCESS, body=TopicList(tuple(topics)).to_json())

    def delete_topic(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 216."""
        header = DeleteTopicRequestHeader.decode(request.ext_fields)
        self._routes.delete_topic(header.topic, header.cluster_name or None)
        return request.reply(ResponseCode.SUCCESS)
