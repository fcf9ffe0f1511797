"""Copies of stored messages that are stored again: after a delay, or because a consumer sent them back (RocketMQ:
``ScheduleMessageService.messageTimeup``, ``AbstractSendMessageProcessor``).
"""

from __future__ import annotations

from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import encode_properties
from engine.store.log.store_message import StoreMessage
from engine.store.queues.dispatch_request import dispatched_fields


def message_again(message: MessageExt, topic: str, queue_id: int, store_host: bytes) -> StoreMessage:
    """Return ``message``, with its current properties, as a new message for another topic and queue. No sender waits
    for its flush.

    :param store_host: the broker's address, as :func:`engine.protocol.message.addresses.encode_host` encodes it.
    """
    tags_code, keys, unique_key = dispatched_fields(message.properties)
    return StoreMessage(
        topic=topic,
        queue_id=queue_id,
        body=message.body,
        properties_string=encode_properties(message.properties),
        born_timestamp=message.born_timestamp,
        born_host=encode_host(message.born_host),
        store_host=store_host,
        flag=message.flag,
        sys_flag=message.sys_flag,
        tags_code=tags_code,
        keys=keys,
        unique_key=unique_key,
        reconsume_times=message.reconsume_times,
        wait_store_ok=False,
    )
