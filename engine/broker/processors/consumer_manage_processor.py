"""Members, offsets and queue locks of consumer groups (RocketMQ: ``ConsumerManageProcessor``; the locks are served by
``AdminBrokerProcessor`` there).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.foundation.store_lookups import is_in_memory
from engine.broker.processors.client_manage_processor import check_client_id
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.rebalance_lock_manager import RebalanceLockManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.body.bodies import GetConsumerListByGroupResponseBody, LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.command.headers import (
    GetConsumerListByGroupRequestHeader,
    OffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.names import validate_group, validate_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.store.message_store import MessageStore


@dataclass(frozen=True)
class ConsumerManageProcessor:
    """The processor of codes 38, 14, 15, 41 and 42."""

    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    locks: RebalanceLockManager

    @answers(RequestCode.GET_CONSUMER_LIST_BY_GROUP, GetConsumerListByGroupRequestHeader)
    def get_consumer_list_by_group(
        self, header: GetConsumerListByGroupRequestHeader
    ) -> GetConsumerListByGroupResponseBody:
        """Return the client ids of the members that are connected now (code 38)."""
        return GetConsumerListByGroupResponseBody(tuple(self.consumers.online_group(header.consumer_group).client_ids))

    @answers(RequestCode.QUERY_CONSUMER_OFFSET, QueryConsumerOffsetRequestHeader)
    def query_consumer_offset(self, header: QueryConsumerOffsetRequestHeader) -> OffsetResponseHeader:
        """Return the stored offset of a group (code 14).

        A group without a stored offset gets 0 if the queue still begins at 0 and its first message is recent enough to
        be in memory; otherwise it gets response code 22, after which the client applies its consumeFromWhere. That is
        why a new group on a young topic starts at the first message even with CONSUME_FROM_LAST_OFFSET.
        """
        group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
        offset = self.offsets.query_offset(group, topic, queue_id)
        if offset < 0:
            if self.store.min_offset(topic, queue_id) > 0 or not is_in_memory(self.store, topic, queue_id, 0):
                raise RequestRefused(
                    f"group {group} has no offset of {topic} queue {queue_id}", ResponseCode.QUERY_NOT_FOUND
                )
            offset = 0
        return OffsetResponseHeader(offset)

    @answers(RequestCode.UPDATE_CONSUMER_OFFSET, UpdateConsumerOffsetRequestHeader, Channel)
    def update_consumer_offset(self, header: UpdateConsumerOffsetRequestHeader, channel: Channel) -> None:
        """Store an offset (code 15).

        Unlike RocketMQ, offsets of unknown topics and queues and negative offsets are refused: each would stay in the
        table forever. So are members' offsets that are older than a reset.
        """
        topic, queue_id, offset = header.topic, header.queue_id, header.commit_offset
        queue_nums = self.topics.known_topic(topic).queue_nums
        if not 0 <= queue_id < queue_nums:
            allowed = f"queue id {queue_id} of topic {topic}; allowed: 0 to {queue_nums - 1}"
            raise RequestRefused(allowed)
        if offset < 0:
            raise RequestRefused(f"commitOffset is {offset}; allowed: 0 and more")
        validate_group(header.consumer_group)
        group, address = header.consumer_group, channel.remote_address
        info = self.consumers.get_consumer_group_info(group)
        if info is None or channel not in info.channel_info_table:
            self.offsets.resets.end(group, topic, queue_id)
        elif not self.offsets.lets_commit(address, group, topic, queue_id, offset):
            raise RequestRefused(f"offset {offset} of {topic} queue {queue_id} is older than a reset of group {group}")
        self.offsets.commit_offset(address, group, topic, queue_id, offset)

    @answers(RequestCode.LOCK_BATCH_MQ, LockBatchRequestBody)
    def lock_batch_mq(self, body: LockBatchRequestBody) -> LockBatchResponseBody:
        """Lock queues and return those of the request that the client now has (code 41)."""
        _check_lock_request(body)
        return LockBatchResponseBody(self.locks.try_lock_batch(body.consumer_group, body.mq_set, body.client_id))

    @answers(RequestCode.UNLOCK_BATCH_MQ, LockBatchRequestBody)
    def unlock_batch_mq(self, body: LockBatchRequestBody) -> None:
        """Release queues (code 42)."""
        _check_lock_request(body)
        self.locks.unlock_batch(body.consumer_group, body.mq_set, body.client_id)


def _check_lock_request(body: LockBatchRequestBody) -> None:
    validate_group(body.consumer_group)
    check_client_id(body.client_id)
    for queue in body.mq_set:
        validate_topic(queue.topic)
        validate_topic(queue.broker_name)  # a broker's name is also a topic
