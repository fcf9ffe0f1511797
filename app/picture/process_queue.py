"""A process queue: what a consumer holds of one queue."""

from __future__ import annotations

from typing import TypedDict

from app.picture.lock import LocalLock
from engine.client.queues.message_tree import TreeNode


class HeldMessages(TypedDict):
    """The messages of a tree."""

    count: int
    #: Queue offset of the first and of the last one; None: it is not known, or the tree is empty.
    first: int | None
    last: int | None


class ProcessQueue(TypedDict):
    """A process queue of a consumer: as a live one reports it (code 307), or as a lab world has it.

    A value that the kind of client does not report is None.
    """

    topic: str
    broker: str
    queue_id: int
    #: The tree of messages that are not consumed yet; its lower levels may be left out. None: it is empty.
    tree: TreeNode | None
    #: The tree of messages that an orderly listener has now.
    consuming_tree: TreeNode | None
    #: What is in ``tree``.
    waiting: HeldMessages | None
    #: What is in ``consuming_tree``.
    in_hand: HeldMessages | None
    #: Of both.
    message_count: int | None
    #: A live client reports full mebibytes.
    cached_bytes: int | None
    #: The member has lost the queue.
    dropped: bool | None
    #: The broker has granted its lock.
    locked: bool | None
    #: When the broker's lock was last granted or renewed.
    locked_us: int | None
    #: How long the member trusts it.
    lock_lease_ms: int | None
    #: The group's progress as the member knows it; None: not known yet.
    consume_offset: int | None
    last_pull_us: int | None
    last_consume_us: int | None
    #: Why it is not pulled: "count", "size", "span" or None.
    flow_control: str | None
    try_unlock_times: int | None
    consume_lock: LocalLock | None
    #: Of an orderly consumer, as the next one.
    local_lock: LocalLock | None
    #: Its chain of consume requests runs.
    consuming: bool | None


class WorldProcessQueue(ProcessQueue):
    """A process queue of a consumer in a lab world."""

    next_pull_offset: int | None
    pull_in_flight: bool
    #: Reason of flow control -> how many times it was the reason.
    flow_control_times: dict[str, int]
    #: Since when a worker of an orderly consumer has been at it; None: no worker is.
    slice_us: int | None
    #: How long a worker may.
    slice_ms: int
