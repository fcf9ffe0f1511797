"""Stored offsets, as tools see and change them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.delivery.broker_to_client import BrokerToClient
from engine.broker.delivery.schedule_message_service import ScheduleMessageService
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.command.headers import (
    CloneGroupOffsetRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.names import validate_group
from engine.protocol.request_code import RequestCode
from engine.remoting.processor import answers
from engine.store.message_store import MessageStore

#: The value for "do not correct this queue": the compared group's offset is smaller than all others.
_NO_CORRECTION = (1 << 63) - 1


@dataclass(frozen=True)
class OffsetAdminProcessor:
    """The processor of codes 43, 45, 222, 308 and 314."""

    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    schedule: ScheduleMessageService
    broker_to_client: BrokerToClient

    @answers(RequestCode.GET_ALL_CONSUMER_OFFSET)
    def get_all_consumer_offset(self) -> bytes:
        """Return the content of ``consumerOffset.json`` (code 43)."""
        return dumps_json(self.offsets.to_dict())

    @answers(RequestCode.GET_ALL_DELAY_OFFSET)
    def get_all_delay_offset(self) -> bytes:
        """Return the content of ``delayOffset.json`` (code 45)."""
        return dumps_json({"offsetTable": self.schedule.offset_table})

    @answers(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ResetOffsetRequestHeader, RemotingCommand)
    async def invoke_broker_to_reset_offset(
        self, header: ResetOffsetRequestHeader, request: RemotingCommand
    ) -> ResetOffsetBody:
        """Reset the members of a group to the offsets at a time (code 222). The reply is sent once that is on disk."""
        offsets = self.broker_to_client.reset_offset(
            header.topic, header.group, header.timestamp, is_force=header.is_force, language=request.language
        )
        await self.offsets.persist()
        return ResetOffsetBody(offsets)

    @answers(RequestCode.CLONE_GROUP_OFFSET, CloneGroupOffsetRequestHeader)
    async def clone_group_offset(self, header: CloneGroupOffsetRequestHeader) -> None:
        """Copy the offsets of one group to another (code 314).

        Without a topic, those of all the source's topics are copied. RocketMQ then examines all topics and clones none
        of them, because it uses the topic of the request, which is missing.
        """
        validate_group(header.dest_group)
        manager, source = self.offsets, header.src_group
        info = self.consumers.get_consumer_group_info(source)
        subscribed = {} if info is None or header.offline else info.subscription_table
        for topic in [header.topic] if header.topic else manager.topics_of_group(source):
            is_known = topic in self.topics.topic_config_table
            if is_known and (not subscribed or topic in subscribed):
                manager.clone_offset(source, header.dest_group, topic)
        await manager.persist()

    @answers(RequestCode.QUERY_CORRECTION_OFFSET, QueryCorrectionOffsetHeader)
    def query_correction_offset(self, header: QueryCorrectionOffsetHeader) -> bytes:
        """Return per queue of a topic the smallest offset of all groups but ``filterGroups`` (code 308).

        The value is 2^63 - 1 where the compared group's offset is smaller still. The command is for monitoring tools.
        RocketMQ calls its query for the compared group with swapped arguments, so it never finds it, and *deletes* the
        stored offsets of the filtered groups; neither is done here.
        """
        manager, topic = self.offsets, header.topic
        left_out = dict.fromkeys(name.strip() for name in (header.filter_groups or "").split(","))
        smallest: dict[int, int] = {}
        for known_topic, group, offsets in manager.entries():
            if known_topic != topic or group in left_out:
                continue
            for queue_id, offset in offsets.items():
                if offset >= self.store.min_offset(topic, queue_id):
                    smallest[queue_id] = min(offset, smallest.get(queue_id, offset))
        for queue_id, offset in manager.offsets_of(header.compare_group, topic).items():
            if smallest.get(queue_id, offset) > offset:
                smallest[queue_id] = _NO_CORRECTION
        return dumps_json({"correctionOffsets": smallest})
