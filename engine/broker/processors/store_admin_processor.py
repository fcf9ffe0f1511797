"""Administration of consume queues and files (RocketMQ: part of ``AdminBrokerProcessor``)."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.filters.expression_message_filter import message_filter_for
from engine.broker.filters.queue_entry_data import queue_entry_data
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.body.admin_bodies import QueryConsumeQueueResponseBody
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.command.headers import QueryConsumeQueueRequestHeader
from engine.protocol.enums import ExpressionType
from engine.protocol.json_form.json_text import dumps_pretty_json
from engine.protocol.request_code import RequestCode
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.runtime.port import DiskFault
from engine.store.message_store import MessageStore
from engine.store.reading.message_filter import MessageFilter

logger = logging.getLogger("glassmq.broker")

#: The maximum number of entries in one reply; RocketMQ sends up to a whole file, 300,000 of them.
_ENTRIES_MAX = 10_000


@dataclass(frozen=True)
class StoreAdminProcessor:
    """The processor of codes 306, 321 and 329."""

    store: MessageStore
    topics: TopicConfigManager
    consumers: ConsumerManager
    filters: ConsumerFilterManager

    @answers(RequestCode.QUERY_CONSUME_QUEUE, QueryConsumeQueueRequestHeader)
    def query_consume_queue(self, header: QueryConsumeQueueRequestHeader) -> QueryConsumeQueueResponseBody:
        """Return entries of a consume queue, with the subscription of a group to compare them with (code 321)."""
        topic, queue_id, index = header.topic, header.queue_id, header.index
        config = self.topics.topic_config_table.get(topic)
        if not 0 <= queue_id < (0 if config is None else config.queue_nums):
            raise RequestRefused(f"topic {topic!r} has no queue {queue_id} on this broker")
        min_index, max_index = self.store.min_offset(topic, queue_id), self.store.max_offset(topic, queue_id)
        if not min_index <= index < max_index:
            # RocketMQ answers SUCCESS without a body here, and mqadmin stops with a NullPointerException.
            raise RequestRefused(
                f"{topic} queue {queue_id} has no entry {index}; there are {max_index - min_index}, from {min_index} on"
            )
        count = max(0, min(header.count, _ENTRIES_MAX))
        subscription, filter_data, message_filter = self._filter_of(header.consumer_group, topic)
        entries = [
            queue_entry_data(entry, unit, message_filter)
            for entry, unit in self.store.consume_queue_units(topic, queue_id, index, count)
        ]
        return QueryConsumeQueueResponseBody(subscription, filter_data, entries, max_index, min_index)

    def _filter_of(
        self, group: str | None, topic: str
    ) -> tuple[SubscriptionData | None, str | None, MessageFilter | None]:
        """Return the subscription of ``group``, its expression for people, and its filter."""
        if group is None:
            return None, None, None
        subscription = self.consumers.find_subscription_data(group, topic)
        if subscription is None:
            return None, f"{group}@{topic} is not online!", None
        data = self.filters.get(topic, group) if subscription.expression_type != ExpressionType.TAG else None
        # "null": a subscription by tags has no such data.
        text = "null" if data is None else dumps_pretty_json(data.to_dict()).decode()
        return subscription, text, message_filter_for(subscription, data, self.filters, filter_support_retry=False)

    @answers(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
    def clean_expired_consume_queue(self) -> None:
        """Delete consume-queue files whose messages are all gone from the commit log (code 306).

        RocketMQ also deletes the last file of such a queue; its next message then gets offset 0, and groups with a
        greater offset do not receive it. Here the last file stays, and with it the offset.
        """
        try:
            self.store.delete_expired_consume_queues()
        except DiskFault as fault:
            raise RequestRefused(str(fault)) from fault

    @answers(RequestCode.DELETE_EXPIRED_COMMITLOG, Channel)
    def delete_expired_commit_log(self, channel: Channel) -> None:
        """Delete commit-log files older than the retention time now, not only at the configured hour (code 329)."""
        try:
            count = self.store.delete_expired_commit_log()
        except DiskFault as fault:
            raise RequestRefused(str(fault)) from fault
        logger.info("%s demands it: %d expired commit-log files are deleted", channel.remote_address, count)
