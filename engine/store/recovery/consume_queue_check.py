"""A check of whether the entries of a consume queue that were on disk are usable. RocketMQ 4.9.8 does not check them.

Not every entry is compared with the log: that would cost as much as rebuilding the queue. Damage from a crash, a full
disk or a careless copy shows in the file's length, in a hole, or at its end.
"""

from __future__ import annotations

from engine.protocol.message.record_layout import IDENTITY, MESSAGE_MAGIC
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES, FILLER_SIZE
from engine.store.files.recovery_point import QueueExtent
from engine.store.log.commit_log import CommitLog
from engine.store.queues.consume_queue import ConsumeQueue

#: The number of entries at the end of a queue that are checked one by one.
_ENTRIES_CHECKED = 64


def why_not_usable(
    queue: ConsumeQueue, extent: QueueExtent, commit_log: CommitLog, dispatched_offset: int
) -> str | None:
    """Return what is wrong with ``queue``; None if nothing is.

    The queue is known to have had ``extent`` on disk when the log was dispatched up to ``dispatched_offset``.
    """
    durable = extent.max_offset
    if queue.max_offset == 0:
        return "is missing"
    if queue.first_entry_offset > extent.first_offset:
        return f"begins at offset {queue.first_entry_offset} instead of {extent.first_offset}"
    if queue.max_offset < durable:
        return f"ends at offset {queue.max_offset} instead of {durable}"
    if not queue.files.is_contiguous:
        return "lacks a file in the middle"
    return _why_entries_are_wrong(queue, durable, commit_log, dispatched_offset)


def _why_entries_are_wrong(
    queue: ConsumeQueue, durable: int, commit_log: CommitLog, dispatched_offset: int
) -> str | None:
    """Look for a hole in the last file, and check its last entries one by one."""
    files = queue.files
    start = max(files.files[-1].start_offset, 0)
    data = files.read(start, durable * ENTRY_SIZE_BYTES - start)
    # No 20 consecutive bytes are all zero: the size in an entry is not, and neither is the offset that follows it.
    hole = data.find(bytes(ENTRY_SIZE_BYTES))
    if hole >= 0:
        return f"has a hole at offset {(start + hole) // ENTRY_SIZE_BYTES}"
    following: int | None = None
    for queue_offset, (commit_log_offset, size, _) in queue.entries_backward(durable):
        if queue_offset < durable - _ENTRIES_CHECKED:
            break
        if size == FILLER_SIZE:
            continue
        if size <= 0 or not 0 <= commit_log_offset <= dispatched_offset - size:
            return f"has no valid entry at offset {queue_offset}"
        if following is not None and commit_log_offset + size > following:
            return f"has entries out of order at offset {queue_offset}"
        if following is None and not _is_entry_right(queue, queue_offset, commit_log_offset, size, commit_log):
            return f"points to another message at offset {queue_offset}"
        following = commit_log_offset
    return None


def _is_entry_right(
    queue: ConsumeQueue, queue_offset: int, commit_log_offset: int, size: int, commit_log: CommitLog
) -> bool:
    file = commit_log.files.find(commit_log_offset)
    if file is None or commit_log_offset + size > file.end_offset:
        return True  # expired, or past the end of the log, which is checked later
    record = file.file.read_at(commit_log_offset - file.start_offset, size)
    if len(record) < IDENTITY.size:
        return True  # the log is damaged there, not the queue
    found_size, magic, queue_id, found_offset, place = IDENTITY.unpack_from(record)
    if (found_size, magic, place) != (size, MESSAGE_MAGIC, commit_log_offset):
        return True  # as before
    return (queue_id, found_offset) == (queue.queue_id, queue_offset) and queue.topic_block in record
