"""The sender of pulls, which also reads their replies (RocketMQ: ``PullAPIWrapper``)."""

from __future__ import annotations

import logging

from engine.client.consumer.pull_result import STATUS_OF_CODE, PullResult, PullStatus
from engine.client.foundation.errors import IllegalClientArgument, MQBrokerError, MQClientError
from engine.client.instance.mq_client_api import read_reply
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.body.topic_route_data import MASTER_ID
from engine.protocol.command.headers import PullMessageRequestHeader, PullMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import decode_messages, message_without_content
from engine.protocol.message.message_properties import PROPERTY_MAX_OFFSET, PROPERTY_MIN_OFFSET
from engine.protocol.system_flags import pull_system_flag

_log = logging.getLogger("glassmq.client")

#: Brokers below V4_1_0_SNAPSHOT do not know SQL92 expressions.
SQL92_BROKER_VERSION = 232


class PullApiWrapper:
    """A wrapper that remembers from which broker (master or slave) each queue should be pulled.

    :param group: the consumer group.
    """

    def __init__(self, instance: MQClientInstance, group: str) -> None:
        self._instance = instance
        self._group = group
        self._suggested_broker_ids: dict[MessageQueue, int] = {}

    async def pull(
        self,
        queue: MessageQueue,
        subscription: SubscriptionData,
        offset: int,
        max_messages: int,
        *,
        commit_offset: int | None,
        suspend_ms: int | None,
        post_subscription: bool,
        timeout_ms: int,
    ) -> PullResult:
        """Pull once.

        :param commit_offset: the group's progress, which the broker stores with the pull; None: nothing to store.
        :param suspend_ms: how long the broker may wait for a message; None: it answers immediately.
        :param post_subscription: send the expression along; else the broker uses the last heartbeat's.

        Raises :class:`MQClientError`; with code FLOW_CONTROL if the broker requests a pause.
        """
        address, is_slave = await self._address(queue)
        if subscription.expression_type != ExpressionType.TAG:
            self._check_broker_knows_sql(address, subscription)
        header = PullMessageRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=max_messages,
            sys_flag=pull_system_flag(
                # Do not send the progress to a slave: only the master stores it.
                commit_offset=commit_offset is not None and not is_slave,
                suspend=suspend_ms is not None,
                subscription=post_subscription,
            ),
            commit_offset=commit_offset or 0,
            suspend_timeout_millis=suspend_ms or 0,
            subscription=subscription.sub_string if post_subscription else None,
            sub_version=subscription.sub_version,
            expression_type=subscription.expression_type,
        )
        reply = await self._instance.consumer_api.pull_message(address, header, timeout_ms)
        return self._read(reply, queue, subscription, address, offset)

    async def _address(self, queue: MessageQueue) -> tuple[str, bool]:
        broker_id = self._suggested_broker_ids.get(queue, MASTER_ID)
        try:
            return self._instance.route_table.address_to_pull_from(queue.broker_name, broker_id)
        except MQClientError:
            await self._instance.update_route(queue.topic)
            return self._instance.route_table.address_to_pull_from(queue.broker_name, broker_id)

    def _check_broker_knows_sql(self, address: str, subscription: SubscriptionData) -> None:
        version = self._instance.broker_versions.get(address, SQL92_BROKER_VERSION)
        if version < SQL92_BROKER_VERSION:
            raise IllegalClientArgument(
                f"broker {address} has version {version}; {subscription.expression_type} needs {SQL92_BROKER_VERSION}"
            )

    def _read(
        self, reply: RemotingCommand, queue: MessageQueue, subscription: SubscriptionData, address: str, offset: int
    ) -> PullResult:
        what = f"pull from {queue}"
        status = STATUS_OF_CODE.get(reply.code)
        if status is None:
            raise MQBrokerError(reply.code, reply.remark, address, what)
        header = read_reply(lambda: PullMessageResponseHeader.decode(reply.ext_fields), what)
        self._suggested_broker_ids[queue] = header.suggest_which_broker_id
        next_begin_offset = header.next_begin_offset
        messages: list[MessageExt] = []
        if status is PullStatus.FOUND:
            messages = _decode(reply.body, queue, range(offset, next_begin_offset))
            if sum(message.store_size for message in messages) < len(reply.body):
                next_begin_offset = messages[-1].queue_offset + 1  # the remaining messages are pulled again
        wanted = [message for message in messages if subscription.matches_tag(message.tags) or not message.topic]
        for message in wanted:
            message.properties[PROPERTY_MIN_OFFSET] = str(header.min_offset)
            message.properties[PROPERTY_MAX_OFFSET] = str(header.max_offset)
            message.broker_name = queue.broker_name
            message.topic = message.topic or queue.topic
        unreadable = [message for message in wanted if message.unreadable is not None]
        for message in unreadable:
            _log.warning("group %s: %s offset %d: %s", self._group, queue, message.queue_offset, message.unreadable)
        return PullResult(
            status,
            next_begin_offset,
            header.min_offset,
            header.max_offset,
            tuple([message for message in wanted if message.unreadable is None] if unreadable else wanted),
            len(messages) - len(wanted),
            tuple(unreadable),
        )


def _decode(data: bytes, queue: MessageQueue, offsets: range) -> list[MessageExt]:
    """Decode the messages of a reply up to one with an invalid position; if that is the first, return its readable
    parts.

    A reply of 64 KiB may contain compressed bodies of 2 GiB: beyond the maximum of one message, the others are left for
    the next pull.

    :param offsets: the valid queue offsets; an unreadable message may have any.
    """
    try:
        messages = decode_messages(data, decompress=True, bodies_max_bytes=DECOMPRESSED_MAX_BYTES)
    except MalformedMessage as error:
        return [message_without_content(queue.queue_id, offsets.start, -1, str(error))]
    begin = offsets.start
    for number, message in enumerate(messages):
        if message.unreadable is not None and not begin <= message.queue_offset < offsets.stop:
            return messages[:number] or [message_without_content(queue.queue_id, begin, -1, message.unreadable)]
        begin = message.queue_offset + 1
    return messages
