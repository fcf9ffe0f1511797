"""Consume queues and files, as tools look at and clean them (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from engine.broker.filters.expression_message_filter import message_filter_for
from engine.broker.filters.queue_entry_data import queue_entry_data
from engine.protocol.body.admin_bodies import QueryConsumeQueueResponseBody
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.command.headers import QueryConsumeQueueRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ExpressionType
from engine.protocol.json_form.json_text import dumps_pretty_json
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.runtime.port import DiskFault
from engine.store.reading.message_filter import MessageFilter

if TYPE_CHECKING:
    from engine.broker.broker import Broker

logger = logging.getLogger("glassmq.broker")

#: Most entries in one reply; RocketMQ sends up to a whole file, 300,000 of them.
_ENTRIES_MAX = 10_000


class StoreAdminProcessor:
    """Codes 306, 321 and 329."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def query_consume_queue(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 321: entries of a consume queue, with the subscription of a group to compare them with."""
        header = QueryConsumeQueueRequestHeader.decode(request.ext_fields)
        topic, queue_id, index = header.topic, header.queue_id, header.index
        store = self._broker.store
        config = self._broker.topic_config_manager.topic_config_table.get(topic)
        known = 0 if config is None else max(config.read_queue_nums, config.write_queue_nums)
        if not 0 <= queue_id < known:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"topic {topic!r} has no queue {queue_id} on this broker")
        min_index, max_index = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        if not min_index <= index < max_index:
            # RocketMQ answers SUCCESS without a body here, and mqadmin stops with a NullPointerException.
            return request.reply(
                ResponseCode.SYSTEM_ERROR,
                f"{topic} queue {queue_id} has no entry {index}; there are {max_index - min_index}, "
                f"from {min_index} on",
            )
        count = max(0, min(header.count, _ENTRIES_MAX))
        subscription, filter_data, message_filter = self._filter_of(header.consumer_group, topic)
        entries = [
            queue_entry_data(entry, unit, message_filter)
            for entry, unit in store.consume_queue_units(topic, queue_id, index, count)
        ]
        body = QueryConsumeQueueResponseBody(subscription, filter_data, entries, max_index, min_index)
        return request.reply(ResponseCode.SUCCESS, body=body.to_json())

    def _filter_of(
        self, group: str | None, topic: str
    ) -> tuple[SubscriptionData | None, str | None, MessageFilter | None]:
        """The subscription of ``group``, its expression for people, and what it lets through."""
        if group is None:
            return None, None, None
        subscription = self._broker.consumer_manager.find_subscription_data(group, topic)
        if subscription is None:
            return None, f"{group}@{topic} is not online!", None
        filters = self._broker.consumer_filter_manager
        data = filters.get(topic, group) if subscription.expression_type != ExpressionType.TAG else None
        # "null": a subscription by tags has no such data.
        text = "null" if data is None else dumps_pretty_json(data.to_dict()).decode()
        return subscription, text, message_filter_for(subscription, data, filters, filter_support_retry=False)

    def clean_expired_consume_queue(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 306: delete consume-queue files whose messages have all left the commit log.

        RocketMQ also deletes the last file of such a queue; its next message then gets offset 0, and groups that
        stand further do not see it. Here the last file stays, and with it the offset.
        """
        try:
            self._broker.store.delete_expired_consume_queues()
        except DiskFault as fault:
            return request.reply(ResponseCode.SYSTEM_ERROR, str(fault))
        return request.reply(ResponseCode.SUCCESS)

    def delete_expired_commit_log(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 329: delete commit-log files older than the retention time now, not only at the hour for it."""
        try:
            count = self._broker.store.delete_expired_commit_log()
        except DiskFault as fault:
            return request.reply(ResponseCode.SYSTEM_ERROR, str(fault))
        logger.info("%s demands it: %d expired commit-log files are deleted", channel.remote_address, count)
        return request.reply(ResponseCode.SUCCESS)
