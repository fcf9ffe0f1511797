"""Connected clients, as tools see them, and tools' requests that the broker forwards to them (RocketMQ: part of
``AdminBrokerProcessor``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.broker.delivery.broker_to_client import BrokerToClient
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.store_lookups import message_with_id
from engine.broker.tables.client_channel_info import ClientChannelInfo
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.producer_manager import ProducerManager
from engine.protocol.body.admin_bodies import GetConsumerStatusBody, ProducerInfo, ProducerTableInfo
from engine.protocol.body.bodies import ClientConnection, ConsumerConnection, ProducerConnection
from engine.protocol.command.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.store.message_store import MessageStore


@dataclass(frozen=True)
class ClientAdminProcessor:
    """The processor of codes 203, 204, 223, 307, 309 and 328."""

    config: BrokerConfig
    store: MessageStore
    consumers: ConsumerManager
    producers: ProducerManager
    broker_to_client: BrokerToClient

    # ------------------------------------------------------------------------- connected clients

    @answers(RequestCode.GET_CONSUMER_CONNECTION_LIST, GetConsumerConnectionListRequestHeader)
    def get_consumer_connection_list(self, header: GetConsumerConnectionListRequestHeader) -> ConsumerConnection:
        """Return members and subscriptions of a consumer group (code 203)."""
        info = self.consumers.online_group(header.consumer_group, ResponseCode.CONSUMER_NOT_ONLINE)
        return ConsumerConnection(
            connections(info.channel_info_table.values()),
            info.subscription_table,
            info.consume_type,
            info.message_model,
            info.consume_from_where,
        )

    @answers(RequestCode.GET_PRODUCER_CONNECTION_LIST, GetProducerConnectionListRequestHeader)
    def get_producer_connection_list(self, header: GetProducerConnectionListRequestHeader) -> ProducerConnection:
        """Return members of a producer group (code 204)."""
        group = header.producer_group
        clients = self.producers.clients_of_group(group)
        if not clients:
            raise RequestRefused(f"no producer of group {group!r} is connected")
        return ProducerConnection(connections(clients))

    @answers(RequestCode.GET_ALL_PRODUCER_INFO)
    def get_all_producer_info(self) -> ProducerTableInfo:
        """Return all producer groups with their members (code 328)."""
        table = {
            group: [
                ProducerInfo(
                    client.client_id,
                    f"/{client.channel.remote_address}",  # as Java prints an address without a host name
                    client.language_name,
                    client.version,
                    client.last_update_ms,
                )
                for client in clients.values()
            ]
            for group, clients in self.producers
        }
        return ProducerTableInfo(table)

    # ------------------------------------------------------------------------------ forwarded requests

    @answers(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, GetConsumerStatusRequestHeader)
    async def get_consumer_status(self, header: GetConsumerStatusRequestHeader) -> GetConsumerStatusBody:
        """Return the offsets that the members of a group have (code 223)."""
        return await self.broker_to_client.consumer_status(header.topic, header.group, header.client_addr)

    @answers(RequestCode.GET_CONSUMER_RUNNING_INFO, GetConsumerRunningInfoRequestHeader, RemotingCommand)
    async def get_consumer_running_info(
        self, header: GetConsumerRunningInfoRequestHeader, request: RemotingCommand
    ) -> RemotingCommand:
        """Request the running info of a consumer (code 307)."""
        return await self.broker_to_client.call_consumer(
            request, header.consumer_group, header.client_id, request.ext_fields, request.body
        )

    @answers(RequestCode.CONSUME_MESSAGE_DIRECTLY, ConsumeMessageDirectlyResultRequestHeader, RemotingCommand)
    async def consume_message_directly(
        self, header: ConsumeMessageDirectlyResultRequestHeader, request: RemotingCommand
    ) -> RemotingCommand:
        """Have a consumer consume the message with the given offset id now (code 309)."""
        message = message_with_id(self.store, header.msg_id or "")
        record = None if message is None else self.store.commit_log.record_at(message.commit_log_offset)
        if record is None:
            raise RequestRefused(f"there is no message {header.msg_id}")
        fields = request.ext_fields | {"brokerName": self.config.broker_name}
        return await self.broker_to_client.call_consumer(
            request, header.consumer_group, header.client_id or "", fields, record
        )


def connections(clients: Iterable[ClientChannelInfo]) -> list[ClientConnection]:
    """Return the clients as tools see them."""
    return [
        ClientConnection(client.client_id, client.channel.remote_address, client.language_name, client.version)
        for client in clients
    ]
