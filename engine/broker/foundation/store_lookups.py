"""Queries of the store that only the broker uses (in RocketMQ: part of ``DefaultMessageStore``)."""

from __future__ import annotations

import asyncio

from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_id import place_of
from engine.protocol.message.record_layout import store_timestamp_of
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.message_store import MessageStore

#: The maximum number of event-loop turns to wait for the dispatcher; it never finishes if the disk accepts nothing.
_TURNS_MAX = 100


async def dispatcher_done(store: MessageStore) -> None:
    """Wait until all earlier messages can be found in their queues and by the index."""
    for _ in range(_TURNS_MAX):
        if not store.dispatcher.pending_count:
            return
        await asyncio.sleep(0)


def message_store_time(store: MessageStore, topic: str, queue_id: int, offset: int) -> int:
    """Return when the message at logical ``offset`` was stored, ms; -1 if absent (``getMessageStoreTimeStamp``)."""
    if offset < store.min_offset(topic, queue_id):
        return -1
    for commit_log_offset, size, _ in store.consume_queue_entries(topic, queue_id, offset, 1):
        record = store.commit_log.record_at(commit_log_offset) if size != FILLER_SIZE else None
        return -1 if record is None else store_timestamp_of(record)
    return -1


def message_with_id(store: MessageStore, offset_message_id: str) -> MessageExt | None:
    """Return the message with that offset message id; None where no message has it, or the text is not such an id.

    RocketMQ takes the offset alone, and so a message of this broker for the id of another one.
    """
    _, offset = place_of(offset_message_id)
    message = store.message_at(offset) if offset >= 0 else None
    return message if message and message.offset_message_id == offset_message_id.upper() else None


def is_in_memory(store: MessageStore, topic: str, queue_id: int, offset: int) -> bool:
    """Return True unless the message at logical ``offset`` is so far from the newest that it counts as on disk only.

    (``checkInDiskByConsumeOffset``; RocketMQ compares with 40 % of the machine's memory.) An offset without a message
    counts as in memory.
    """
    for commit_log_offset, _, _ in store.consume_queue_entries(topic, queue_id, offset, 1):
        distance_bytes = store.commit_log.max_offset - commit_log_offset
        return distance_bytes <= store.config.access_message_in_memory_max_bytes
    return True


def earliest_message_time(store: MessageStore) -> int:
    """Return when the oldest message of the commit log was stored, ms; -1 if it is empty."""
    record = store.commit_log.record_at(store.commit_log.min_offset)
    return -1 if record is None else store_timestamp_of(record)
