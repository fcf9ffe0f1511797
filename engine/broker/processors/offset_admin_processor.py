"""Stored offsets, as tools see and change them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.foundation.errors import RequestRefused
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.command.headers import (
    CloneGroupOffsetRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.names import validate_group
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker

#: "Do not correct this queue": the compared group is further back than all others.
_NO_CORRECTION = (1 << 63) - 1


class OffsetAdminProcessor:
    """Codes 43, 45, 222, 308 and 314."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def get_all_consumer_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 43: the content of ``consumerOffset.json``."""
        return request.reply(ResponseCode.SUCCESS, body=dumps_json(self._broker.consumer_offset_manager.to_dict()))

    def get_all_delay_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 45: the content of ``delayOffset.json``."""
        table = self._broker.schedule_message_service.offset_table
        return request.reply(ResponseCode.SUCCESS, body=dumps_json({"offsetTable": table}))

    def invoke_broker_to_reset_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 222: have the members of a group go on at the messages of a time."""
        header = ResetOffsetRequestHeader.decode(request.ext_fields)
        try:
            offsets = self._broker.broker_to_client.reset_offset(
                header.topic,
                header.group,
                header.timestamp,
                is_force=header.is_force,
                language=request.language,
            )
        except RequestRefused as refusal:
            return refusal.reply_to(request)
        return request.reply(ResponseCode.SUCCESS, body=ResetOffsetBody(offsets).to_json())

    async def clone_group_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 314: let one group stand where another stands.

        Without a topic: on all of the source's. RocketMQ then looks at all topics and clones none of them, because it
        goes on with the topic of the request, which is missing.
        """
        header = CloneGroupOffsetRequestHeader.decode(request.ext_fields)
        validate_group(header.dest_group)
        manager, source = self._broker.consumer_offset_manager, header.src_group
        info = self._broker.consumer_manager.get_consumer_group_info(source)
        subscribed = {} if info is None or header.offline else info.subscription_table
        for topic in [header.topic] if header.topic else manager.topics_of_group(source):
            is_known = topic in self._broker.topic_config_manager.topic_config_table
            if is_known and (not subscribed or topic in subscribed):
                manager.clone_offset(source, header.dest_group, topic)
        await manager.persist()
        return request.reply(ResponseCode.SUCCESS)

    def query_correction_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 308: per queue of a topic the smallest offset of all groups but ``filterGroups``; where the compared
        group is smaller still, 2^63 - 1.

        Meant for monitoring tools. RocketMQ asks for the compared group with its arguments swapped, so it never finds
        it, and *deletes* the stored offsets of the filtered groups; neither is done here.
        """
        header = QueryCorrectionOffsetHeader.decode(request.ext_fields)
        manager, topic = self._broker.consumer_offset_manager, header.topic
        left_out = dict.fromkeys(name.strip() for name in (header.filter_groups or "").split(","))
        smallest: dict[int, int] = {}
        for known_topic, group, offsets in manager.entries():
            if known_topic != topic or group in left_out:
                continue
            for queue_id, offset in offsets.items():
                if offset >= self._broker.store.min_offset(topic, queue_id):
                    smallest[queue_id] = min(offset, smallest.get(queue_id, offset))
        for queue_id, offset in manager.offsets_of(header.compare_group, topic).items():
            if smallest.get(queue_id, offset) > offset:
                smallest[queue_id] = _NO_CORRECTION
        return request.reply(ResponseCode.SUCCESS, body=dumps_json({"correctionOffsets": smallest}))
