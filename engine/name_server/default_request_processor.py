"""The processor of brokers' and clients' requests (RocketMQ: ``DefaultRequestProcessor`` of the name server). Requests
of tools are in ``tool_request_processor.py``.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from engine.name_server.errors import RegistrationRefused
from engine.name_server.kv_config_manager import ORDER_TOPIC_NAMESPACE, KVConfigManager
from engine.name_server.name_server_config import NameServerConfig
from engine.name_server.route_info_manager import RouteInfoManager
from engine.protocol.body.bodies import ClusterInfo, KVTable, RegisterBrokerBody, TopicList
from engine.protocol.body.data_version import DataVersion
from engine.protocol.body.topic_route_data import TopicRouteData
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
from engine.protocol.names import SELF_TEST_TOPIC, is_retry_topic, validate_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers

_CRC_MASK = 0x7FFF_FFFF


@dataclass(frozen=True)
class DefaultRequestProcessor:
    """The processor of codes 103-106, 206, 216, 224 and 322."""

    routes: RouteInfoManager
    kv_configs: KVConfigManager
    config: NameServerConfig

    # ------------------------------------------------------------------------------ brokers

    @answers(RequestCode.REGISTER_BROKER, RegisterBrokerRequestHeader, Channel, RemotingCommand)
    def register_broker(
        self, header: RegisterBrokerRequestHeader, channel: Channel, request: RemotingCommand
    ) -> RemotingCommand:
        """Register a broker (code 103). A body with a wrong CRC is refused: half a topic table is worse than none."""
        if header.compressed:
            raise RegistrationRefused("compressed registrations are not supported: set compressedRegister=false")
        crc = zlib.crc32(request.body) & _CRC_MASK
        if header.body_crc32 and header.body_crc32 != crc:
            raise RegistrationRefused(f"the body's CRC is {crc}, the header says {header.body_crc32}")
        for what, text in (("broker name", header.broker_name), ("cluster name", header.cluster_name)):
            if not text.strip() or len(text) > 255:
                raise RegistrationRefused(f"the {what} must have 1 to 255 characters, got {len(text)}")
        wrapper = RegisterBrokerBody.from_json(request.body).topic_config_serialize_wrapper
        for config in wrapper.topic_config_table.values():
            validate_topic(config.topic_name)
        ha_server_addr, master_addr = self.routes.register_broker(header, wrapper, channel)
        ordered = self.kv_configs.namespace(ORDER_TOPIC_NAMESPACE)
        reply_header = RegisterBrokerResponseHeader(ha_server_addr, master_addr)
        body = b"" if ordered is None else KVTable(ordered).to_json()
        return request.reply(ResponseCode.SUCCESS, header=reply_header, body=body)

    @answers(RequestCode.UNREGISTER_BROKER, UnregisterBrokerRequestHeader)
    def unregister_broker(self, header: UnregisterBrokerRequestHeader) -> None:
        """Remove a broker (code 104)."""
        self.routes.unregister_broker(header.broker_name, header.broker_addr, header.broker_id)

    @answers(RequestCode.QUERY_DATA_VERSION, QueryDataVersionRequestHeader, RemotingCommand)
    def query_data_version(self, header: QueryDataVersionRequestHeader, request: RemotingCommand) -> RemotingCommand:
        """Return whether the broker must register, or this name server has its newest topics already (code 322)."""
        asked = DataVersion.from_dict(loads_json_object(request.body, "a data version"))
        known = self.routes.query_data_version(header.broker_addr)
        if known == asked:
            self.routes.touch(header.broker_addr)
        body = b"" if known is None else dumps_json(known.to_dict())
        return request.reply(ResponseCode.SUCCESS, header=QueryDataVersionResponseHeader(known != asked), body=body)

    # ------------------------------------------------------------------------------ clients and tools

    @answers(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader)
    def get_route_info_by_topic(self, header: GetRouteInfoRequestHeader) -> TopicRouteData:
        """Return the route of a topic (code 105)."""
        route = self.routes.pickup_topic_route_data(header.topic)
        if route is None and self.config.route_missing_retry_topics and is_retry_topic(header.topic):
            route = self.routes.pickup_topic_route_data(SELF_TEST_TOPIC)  # each broker has it, with one queue
        if route is None:
            raise RequestRefused(f"no broker has registered topic {header.topic!r}", ResponseCode.TOPIC_NOT_EXIST)
        if self.config.order_message_enable:
            route.order_topic_conf = self.kv_configs.get(ORDER_TOPIC_NAMESPACE, header.topic)
        return route

    @answers(RequestCode.GET_BROKER_CLUSTER_INFO)
    def get_broker_cluster_info(self) -> ClusterInfo:
        """Return all brokers, and the brokers of each cluster (code 106)."""
        return self.routes.all_cluster_info()

    @answers(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    def get_all_topic_list(self) -> TopicList:
        """Return all topics (code 206)."""
        return TopicList(tuple(self.routes.all_topics()))

    @answers(RequestCode.GET_TOPICS_BY_CLUSTER, GetTopicsByClusterRequestHeader)
    def get_topics_by_cluster(self, header: GetTopicsByClusterRequestHeader) -> TopicList:
        """Return the topics of a cluster (code 224)."""
        return TopicList(tuple(self.routes.topics_of_cluster(header.cluster)))

    @answers(RequestCode.DELETE_TOPIC_IN_NAMESRV, DeleteTopicRequestHeader)
    def delete_topic(self, header: DeleteTopicRequestHeader) -> None:
        """Delete a topic from the routes (code 216)."""
        self.routes.delete_topic(header.topic, header.cluster_name or None)
