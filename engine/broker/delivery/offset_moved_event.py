"""The event of a group that requested an offset which its queue does not have (RocketMQ: ``OffsetMovedEvent``).

To be notified of consumers whose offset was moved, subscribe to topic OFFSET_MOVED_EVENT; the tag is the group.
"""

from __future__ import annotations

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import PullMessageRequestHeader
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.message.message_properties import (
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    decode_properties,
    encode_properties,
)
from engine.protocol.names import OFFSET_MOVED_EVENT_TOPIC
from engine.store.log.store_message import StoreMessage
from engine.store.queues.dispatch_request import dispatched_fields


def offset_moved_event(
    header: PullMessageRequestHeader, offset_new: int, broker_name: str, host: bytes, now_ms: int
) -> StoreMessage:
    """Return the event for the pull ``header``, which continues at ``offset_new``. ``host`` is the broker's own
    address.
    """
    group = header.consumer_group
    event = {
        "consumerGroup": group,
        "messageQueue": MessageQueue(header.topic, broker_name, header.queue_id).to_dict(),
        "offsetNew": offset_new,
        "offsetRequest": header.queue_offset,
    }
    text = encode_properties({PROPERTY_TAGS: group, PROPERTY_KEYS: group})
    tags_code, keys, _ = dispatched_fields(decode_properties(text))  # a client may choose any group name
    return StoreMessage(
        topic=OFFSET_MOVED_EVENT_TOPIC,
        queue_id=0,
        body=dumps_json(event),
        properties_string=text,
        born_timestamp=now_ms,
        born_host=host,
        store_host=host,
        tags_code=tags_code,
        keys=keys,
    )
