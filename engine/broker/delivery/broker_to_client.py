"""Requests of the broker to connected consumers, mostly on behalf of a tool (RocketMQ: ``Broker2Client``).

A reset of offsets is carried out by the group's members: each drops its queues, waits 10 s for its listeners, stores
the new offsets and starts again. That is why the group must be online; for an offline group, tools change the stored
offsets themselves. RocketMQ 4.9 leaves the stored offsets to the members alone. Here the broker also stores the new
ones, and accepts no older ones for a while. Pull consumers do not follow a reset, so their offsets stay.

Simplified: members are notified one after the other without waiting (oneway), as in RocketMQ; queries go to all members
in parallel instead of one after the other.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.tables.client_channel_info import ClientChannelInfo
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.body.admin_bodies import GetConsumerStatusBody, ResetOffsetBodyForC
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    GetConsumerStatusRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    ResetOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ConsumeType, LanguageCode
from engine.protocol.errors import ProtocolError
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError, RemotingTimeout, RequestRefused
from engine.runtime.future_waits import all_ended
from engine.store.message_store import MessageStore

logger = logging.getLogger("glassmq.broker")

#: ``Broker2Client.callClient`` and ``getConsumeStatus``.
CALL_TIMEOUT_MS = 10_000
STATUS_TIMEOUT_MS = 5_000
#: The first protocol versions (``MQVersion``) that understand 220 and 221, and 307 and 309.
V3_0_7_SNAPSHOT = 28
V3_1_8_SNAPSHOT = 62
#: The timestamp that means the newest offset instead of a time.
LATEST = -1


@dataclass(frozen=True)
class BrokerToClient:
    """Requests to members of consumer groups."""

    config: BrokerConfig
    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    #: Groups whose members must be notified of a membership change in this turn of the loop.
    _changed_groups: dict[str, None] = field(default_factory=dict)

    # --------------------------------------------------------------------- notifications

    def notify_consumer_ids_changed(self, group: str) -> None:
        """Notify the members of ``group`` of a change (RocketMQ: ``DefaultConsumerIdsChangeListener``).

        Changes within one turn of the loop are combined: when 1,000 members reconnect together, each is notified a few
        times and not 1,000 times.
        """
        if not self._changed_groups:
            asyncio.get_running_loop().call_soon(self._notify_changed_groups)
        self._changed_groups[group] = None

    def _notify_changed_groups(self) -> None:
        """Ask all members to rebalance."""
        groups = list(self._changed_groups)
        self._changed_groups.clear()
        for group in groups:
            info = self.consumers.get_consumer_group_info(group)
            for channel in [] if info is None else info.channels:
                header = NotifyConsumerIdsChangedRequestHeader(group)
                channel.send_oneway(RemotingCommand.request(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header))

    # ------------------------------------------------------------------------------ offsets

    def reset_offset(
        self, topic: str, group: str, timestamp_ms: int, *, is_force: bool, language: int
    ) -> dict[MessageQueue, int]:
        """Reset all members of ``group`` to the offsets at ``timestamp_ms`` (:data:`LATEST`: to the end).

        Without ``is_force`` a queue only moves back. The tool's ``language`` decides the body, as in RocketMQ. A group
        whose members have subscribed to the topic needs no stored offset: they store the first one after 10 s. RocketMQ
        refuses until then, and of several brokers some have reset already. Returns the new offsets. Raises
        :class:`RequestRefused`.
        """
        info = self.consumers.get_consumer_group_info(group)
        is_subscribed = info is not None and topic in info.subscription_table
        offsets = self._offsets_to_reset(topic, group, timestamp_ms, is_force, is_subscribed)
        if info is None:
            raise RequestRefused(
                f"group {group} is not online, so nobody can reset its offsets on {topic}",
                ResponseCode.CONSUMER_NOT_ONLINE,
            )
        members = list(info.channel_info_table.values())
        for member in members:
            _check_version(member, V3_0_7_SNAPSHOT)
        if info.consume_type is ConsumeType.CONSUME_PASSIVELY:
            for queue, offset in offsets.items():
                self.offsets.commit_offset("a reset", group, topic, queue.queue_id, offset)
                self.offsets.resets.begin(group, topic, queue.queue_id, offset)
        is_cpp = language == LanguageCode.CPP
        body = ResetOffsetBodyForC(offsets).to_json() if is_cpp else ResetOffsetBody(offsets).to_json()
        for member in members:
            # As captured: isForce is not forwarded.
            header = ResetOffsetRequestHeader(topic, group, timestamp_ms, is_force=False)
            member.channel.send_oneway(RemotingCommand.request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body))
            logger.info("%s of group %s is notified of new offsets of %s", member.client_id, group, topic)
        return offsets

    def _offsets_to_reset(
        self, topic: str, group: str, timestamp_ms: int, is_force: bool, is_subscribed: bool
    ) -> dict[MessageQueue, int]:
        config = self.topics.topic_config_table.get(topic)
        if config is None:
            raise RequestRefused(f"topic {topic!r} does not exist on this broker")
        offsets: dict[MessageQueue, int] = {}
        for queue_id in range(config.write_queue_nums):
            known = self.offsets.query_offset(group, topic, queue_id)
            if known < 0 and not is_subscribed:
                raise RequestRefused(f"group {group!r} has no offset of {topic} queue {queue_id}")
            if timestamp_ms == LATEST:
                wanted = self.store.max_offset(topic, queue_id)
            else:
                wanted = self.store.offset_by_time(topic, queue_id, timestamp_ms)
            queue = MessageQueue(topic, self.config.broker_name, queue_id)
            offsets[queue] = max(0, wanted) if is_force or known < 0 or wanted < known else known
        return offsets

    # ------------------------------------------------------------------------------ queries

    async def consumer_status(self, topic: str, group: str, client_id: str | None) -> GetConsumerStatusBody:
        """Return the offsets of ``topic`` per member of ``group``, or only those of member ``client_id``.

        A member that does not answer is left out. Raises :class:`RequestRefused`.
        """
        online = self.consumers.online_group(group).channel_info_table.values()
        members = [member for member in online if not client_id or member.client_id == client_id]
        for member in members:
            _check_version(member, V3_0_7_SNAPSHOT)
        asking = {member.client_id: asyncio.ensure_future(self._offsets_of(member, topic, group)) for member in members}
        await all_ended(asking.values())
        table = {client_id: answer for client_id, asked in asking.items() if (answer := asked.result()) is not None}
        return GetConsumerStatusBody({}, table)

    async def _offsets_of(self, member: ClientChannelInfo, topic: str, group: str) -> dict[MessageQueue, int] | None:
        header = GetConsumerStatusRequestHeader(topic, group)
        request = RemotingCommand.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header)
        try:
            reply = await member.channel.call(request, STATUS_TIMEOUT_MS)
            if reply.code != ResponseCode.SUCCESS or not reply.body:
                return None
            return dict(GetConsumerStatusBody.from_json(reply.body).message_queue_table)
        except (RemotingError, ProtocolError) as error:
            logger.warning("%s does not report its offsets of %s: %s", member.client_id, topic, error)
            return None

    async def call_consumer(
        self, request: RemotingCommand, group: str, client_id: str, ext_fields: dict[str, str], body: bytes
    ) -> RemotingCommand:
        """Forward ``request`` to one member and return its answer. Raises :class:`RequestRefused`."""
        info = self.consumers.get_consumer_group_info(group)
        member = None if info is None else info.find_client(client_id)
        if member is None:
            raise RequestRefused(f"consumer {client_id[:100]!r} of group {group!r} is not connected")
        _check_version(member, V3_1_8_SNAPSHOT)
        relayed = RemotingCommand.request(request.code, body=body)
        relayed.ext_fields = ext_fields
        try:
            answer = await member.channel.call(relayed, CALL_TIMEOUT_MS)
        except RemotingTimeout as error:
            raise RequestRefused(
                f"consumer {client_id} of {group}: {error}", ResponseCode.CONSUME_MSG_TIMEOUT
            ) from error
        except RemotingError as error:
            raise RequestRefused(f"consumer {client_id} of {group}: {error}") from error
        reply = request.reply(ResponseCode.SUCCESS, answer.remark, body=answer.body)
        reply.code, reply.ext_fields = answer.code, answer.ext_fields
        return reply


def _check_version(member: ClientChannelInfo, least: int) -> None:
    if member.version < least:
        raise RequestRefused(
            f"client {member.client_id} speaks protocol version {member.version}, which cannot do this; "
            f"needed: {least} or newer"
        )
