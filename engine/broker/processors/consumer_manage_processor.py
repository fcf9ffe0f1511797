"""Members, offsets and queue locks of consumer groups (RocketMQ: ``ConsumerManageProcessor``; the locks are served by
``AdminBrokerProcessor`` there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.foundation.store_lookups import is_in_memory
from engine.broker.processors.client_manage_processor import check_client_id
from engine.protocol.body.bodies import GetConsumerListByGroupResponseBody, LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.command.headers import (
    GetConsumerListByGroupRequestHeader,
    OffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.names import validate_group, validate_topic
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class ConsumerManageProcessor:
    """Codes 38, 14, 15, 41 and 42."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def get_consumer_list_by_group(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 38: the client ids of the members that are connected now."""
        group = GetConsumerListByGroupRequestHeader.decode(request.ext_fields).consumer_group
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        if info is None:
            return request.reply(ResponseCode.SYSTEM_ERROR, f"no consumer of group {group!r} is connected")
        body = GetConsumerListByGroupResponseBody(tuple(info.client_ids))
        return request.reply(ResponseCode.SUCCESS, body=body.to_json())

    def query_consumer_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 14.

        A group without a stored offset is told 0 when the queue still begins at 0 and its first message is recent
        enough to be in memory; only else 22, after which the client applies its consumeFromWhere. That is why a new
        group on a young topic starts at the first message even with CONSUME_FROM_LAST_OFFSET.
        """
        header = QueryConsumerOffsetRequestHeader.decode(request.ext_fields)
        group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
        offset = self._broker.consumer_offset_manager.query_offset(group, topic, queue_id)
        if offset < 0:
            store = self._broker.store
            if store.min_offset(topic, queue_id) > 0 or not is_in_memory(store, topic, queue_id, 0):
                return request.reply(
                    ResponseCode.QUERY_NOT_FOUND, f"group {group} has no offset of {topic} queue {queue_id}"
                )
            offset = 0
        return request.reply(ResponseCode.SUCCESS, header=OffsetResponseHeader(offset))

    def update_consumer_offset(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 15. Unlike RocketMQ, offsets of unknown topics and queues and negative offsets are refused: each would
        stay in the table for ever.
        """
        header = UpdateConsumerOffsetRequestHeader.decode(request.ext_fields)
        topic = header.topic
        config = self._broker.topic_config_manager.topic_config_table.get(topic)
        if config is None:
            return request.reply(ResponseCode.TOPIC_NOT_EXIST, f"topic {topic!r} does not exist on this broker")
        queue_nums = max(config.read_queue_nums, config.write_queue_nums)
        if not 0 <= header.queue_id < queue_nums:
            return request.reply(
                ResponseCode.SYSTEM_ERROR,
                f"queue id {header.queue_id} of topic {topic}; allowed: 0 to {queue_nums - 1}",
            )
        if header.commit_offset < 0:
            return request.reply(
                ResponseCode.SYSTEM_ERROR, f"commitOffset is {header.commit_offset}; allowed: 0 and more"
            )
        validate_group(header.consumer_group)
        self._broker.consumer_offset_manager.commit_offset(
            channel.remote_address, header.consumer_group, topic, header.queue_id, header.commit_offset
        )
        return request.reply(ResponseCode.SUCCESS)

    def lock_batch_mq(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 41: the queues of the request that the client now holds."""
        body = self._lock_request(request)
        locked = self._broker.rebalance_lock_manager.try_lock_batch(body.consumer_group, body.mq_set, body.client_id)
        return request.reply(ResponseCode.SUCCESS, body=LockBatchResponseBody(locked).to_json())

    def unlock_batch_mq(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 42."""
        body = self._lock_request(request)
        self._broker.rebalance_lock_manager.unlock_batch(body.consumer_group, body.mq_set, body.client_id)
        return request.reply(ResponseCode.SUCCESS)

    @staticmethod
    def _lock_request(request: RemotingCommand) -> LockBatchRequestBody:
        body = LockBatchRequestBody.from_json(request.body)
        validate_group(body.consumer_group)
        check_client_id(body.client_id)
        for queue in body.mq_set:
            validate_topic(queue.topic)
            validate_topic(queue.broker_name)  # a broker's name is a topic too
        return body
