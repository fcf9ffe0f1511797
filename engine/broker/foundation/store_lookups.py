"""Questions to the store that only the broker asks (in RocketMQ: part of ``DefaultMessageStore``)."""

from __future__ import annotations

import asyncio

from engine.protocol.message.record_layout import store_timestamp_of
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.message_store import MessageStore

#: Turns of the event loop that are waited for the dispatcher; where the disk takes nothing it never gets done.
_TURNS_MAX = 100


async def dispatcher_done(store: MessageStore) -> None:
    """Returns when what was put before can be found in its queue and by the index."""
    for _ in range(_TURNS_MAX):
        if not store.dispatcher.pending_count:
            return
        await asyncio.sleep(0)


def message_store_time(store: MessageStore, topic: str, queue_id: int, offset: int) -> int:
    """When the message at logical ``offset`` was stored, ms; -1 when there is none (``getMessageStoreTimeStamp``)."""
    if offset < store.min_offset(topic, queue_id):
        return -1
    for commit_log_offset, size, _ in store.consume_queue_entries(topic, queue_id, offset, 1):
        record = store.commit_log.record_at(commit_log_offset) if size != FILLER_SIZE else None
        return -1 if record is None else store_timestamp_of(record)
    return -1


def is_in_memory(store: MessageStore, topic: str, queue_id: int, offset: int) -> bool:
    """True unless the message at logical ``offset`` lies so far behind the newest that it counts as on the disk only.

    (``checkInDiskByConsumeOffset``; RocketMQ compares with 40 % of the machine's memory.) An offset without a message
    counts as in memory.
    """
    for commit_log_offset, _, _ in store.consume_queue_entries(topic, queue_id, offset, 1):
        distance_bytes = store.commit_log.max_offset - commit_log_offset
        return distance_bytes <= store.config.access_message_in_memory_max_bytes
    return True


def earliest_message_time(store: MessageStore) -> int:
    """When the oldest message of the commit log was stored, ms; -1 when there is none."""
    record = store.commit_log.record_at(store.commit_log.min_offset)
    return -1 if record is None else store_timestamp_of(record)
