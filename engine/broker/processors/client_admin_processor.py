"""Connected clients, as tools see them, and what tools ask of them through the broker (RocketMQ: part of
``AdminBrokerProcessor``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.broker.foundation.errors import RequestRefused
from engine.broker.tables.client_channel_info import ClientChannelInfo
from engine.protocol.body.admin_bodies import ProducerInfo, ProducerTableInfo
from engine.protocol.body.bodies import ClientConnection, ConsumerConnection, ProducerConnection
from engine.protocol.command.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class ClientAdminProcessor:
    """Codes 203, 204, 223, 307, 309 and 328."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    # ------------------------------------------------------------------------------ who is there

    def get_consumer_connection_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 203: members and subscriptions of a consumer group."""
        group = GetConsumerConnectionListRequestHeader.decode(request.ext_fields).consumer_group
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        if info is None:
            return request.reply(ResponseCode.CONSUMER_NOT_ONLINE, f"no consumer of group {group!r} is connected")
        body = ConsumerConnection(
            connections(info.channel_info_table.values()),
            info.subscription_table,
            info.consume_type,
            info.message_model,
            info.consume_from_where,
        )
        return request.reply(ResponseCode.SUCCESS, body=body.to_json())

    def get_producer_connection_list(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 204: members of a producer group."""
        group = GetProducerConnectionListRequestHeader.decode(request.ext_fields).producer_group
        clients = self._broker.producer_manager.clients_of_group(group)
        if not clients:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"no producer of group {group!r} is connected")
        return request.reply(ResponseCode.SUCCESS, body=ProducerConnection(connections(clients)).to_json())

    def get_all_producer_info(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 328: all producer groups with their members."""
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
            for group, clients in self._broker.producer_manager
        }
        return request.reply(ResponseCode.SUCCESS, body=ProducerTableInfo(table).to_json())

    # ------------------------------------------------------------------------------ questions passed on

    async def get_consumer_status(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 223: which offsets the members of a group have noted."""
        header = GetConsumerStatusRequestHeader.decode(request.ext_fields)
        ask = self._broker.broker_to_client.consumer_status
        try:
            body = await ask(header.topic, header.group, header.client_addr)
        except RequestRefused as refusal:
            return refusal.reply_to(request)
        return request.reply(ResponseCode.SUCCESS, body=body.to_json())

    async def get_consumer_running_info(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 307: ask a consumer how it is."""
        header = GetConsumerRunningInfoRequestHeader.decode(request.ext_fields)
        return await self._ask_member(
            request, header.consumer_group, header.client_id, request.ext_fields, request.body
        )

    async def consume_message_directly(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 309: let a consumer consume the message whose offset id is given, now."""
        header = ConsumeMessageDirectlyResultRequestHeader.decode(request.ext_fields)
        _, offset = decode_offset_message_id(header.msg_id or "")
        record = self._broker.store.raw_message_at(offset)
        if record is None:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"there is no message {header.msg_id}")
        fields = request.ext_fields | {"brokerName": self._broker.config.broker_name}
        return await self._ask_member(request, header.consumer_group, header.client_id or "", fields, record)

    async def _ask_member(
        self, request: RemotingCommand, group: str, client_id: str, fields: dict[str, str], body: bytes
    ) -> RemotingCommand:
        try:
            return await self._broker.broker_to_client.call_consumer(request, group, client_id, fields, body)
        except RequestRefused as refusal:
            return refusal.reply_to(request)


def connections(clients: Iterable[ClientChannelInfo]) -> list[ClientConnection]:
    """The clients as tools are shown them."""
    return [
        ClientConnection(client.client_id, client.channel.remote_address, client.language_name, client.version)
        for client in clients
    ]
