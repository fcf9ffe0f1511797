"""A RocketMQ 4.x client in pure Python on asyncio. It only uses the wire protocol, so it works with any 4.x broker.

Users import its public classes from here::

    from engine.client import DefaultMQProducer, DefaultMQPushConsumer, Message
"""

from engine.client.allocation.allocate_machine_room_nearby import AllocateMachineRoomNearby
from engine.client.allocation.allocate_message_queue_averagely import AllocateMessageQueueAveragely
from engine.client.allocation.allocate_message_queue_averagely_by_circle import AllocateMessageQueueAveragelyByCircle
from engine.client.allocation.allocate_message_queue_by_config import AllocateMessageQueueByConfig
from engine.client.allocation.allocate_message_queue_by_machine_room import AllocateMessageQueueByMachineRoom
from engine.client.allocation.allocate_message_queue_consistent_hash import AllocateMessageQueueConsistentHash
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from engine.client.callbacks.consume_message_hook import ConsumeMessageContext, ConsumeMessageHook, ConsumeReturnType
from engine.client.callbacks.consume_orderly import ConsumeOrderlyContext, ConsumeOrderlyStatus
from engine.client.callbacks.message_queue_selector import (
    SelectMessageQueueByConsistentHash,
    SelectMessageQueueByMachineRoom,
    SelectMessageQueueByRandom,
    select_message_queue_by_hash,
)
from engine.client.callbacks.send_message_hook import SendMessageContext, SendMessageHook
from engine.client.callbacks.send_result import SendResult, SendStatus
from engine.client.callbacks.transaction_listener import LocalTransactionState, TransactionListener
from engine.client.consumer.default_mq_pull_consumer import DefaultMQPullConsumer
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.consumer.pull_result import PullResult, PullStatus
from engine.client.foundation.errors import (
    ClientNotRunning,
    IllegalClientArgument,
    MQBrokerError,
    MQClientError,
    NameServerUnreachable,
    NoBroker,
    NoRoute,
    RequestFailed,
    RequestTimedOut,
    SendFailed,
    TooManyPendingRequests,
    TooManyPendingSends,
)
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.client.producer.list_splitter import ListSplitter
from engine.client.producer.reply_message import create_reply_message, is_expired, is_request
from engine.client.producer.transaction_mq_producer import TransactionMQProducer, TransactionSendResult
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.enums import ConsumeFromWhere, ExpressionType, MessageModel
from engine.protocol.message.message import Message, MessageExt

__all__ = [
    "AllocateMachineRoomNearby",
    "AllocateMessageQueueAveragely",
    "AllocateMessageQueueAveragelyByCircle",
    "AllocateMessageQueueByConfig",
    "AllocateMessageQueueByMachineRoom",
    "AllocateMessageQueueConsistentHash",
    "ClientNotRunning",
    "ConsumeConcurrentlyContext",
    "ConsumeConcurrentlyStatus",
    "ConsumeFromWhere",
    "ConsumeMessageContext",
    "ConsumeMessageHook",
    "ConsumeOrderlyContext",
    "ConsumeOrderlyStatus",
    "ConsumeReturnType",
    "DefaultMQProducer",
    "DefaultMQPullConsumer",
    "DefaultMQPushConsumer",
    "ExpressionType",
    "IllegalClientArgument",
    "ListSplitter",
    "LocalTransactionState",
    "MQBrokerError",
    "MQClientError",
    "Message",
    "MessageExt",
    "MessageModel",
    "MessageQueue",
    "NameServerUnreachable",
    "NoBroker",
    "NoRoute",
    "PullResult",
    "PullStatus",
    "RequestFailed",
    "RequestTimedOut",
    "SelectMessageQueueByConsistentHash",
    "SelectMessageQueueByMachineRoom",
    "SelectMessageQueueByRandom",
    "SendFailed",
    "SendMessageContext",
    "SendMessageHook",
    "SendResult",
    "SendStatus",
    "TooManyPendingRequests",
    "TooManyPendingSends",
    "TransactionListener",
    "TransactionMQProducer",
    "TransactionSendResult",
    "create_reply_message",
    "is_expired",
    "is_request",
    "select_message_queue_by_hash",
]
