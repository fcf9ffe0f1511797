"""A process queue: what a consumer holds of one queue."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.picture.lock import LocalLock
from engine.client.queues.message_tree import TreeNode


class ProcessQueue(TypedDict):
    """A process queue of a consumer in a lab world."""

    topic: str
    broker: str
    queue_id: int
    #: Messages that are not consumed yet; None: the tree is empty.
    tree: TreeNode | None
    #: Messages that an orderly listener has now.
    consuming_tree: TreeNode | None
    message_count: int
    cached_bytes: int
    #: The member has lost the queue.
    dropped: bool
    #: The broker has granted its lock.
    locked: bool
    #: The group's progress as the member knows it; None: not known yet.
    consume_offset: int | None
    next_pull_offset: int | None
    last_pull_us: int
    pull_in_flight: bool
    consume_lock: LocalLock
    #: Why it is not pulled: "count", "size", "span" or None.
    flow_control: str | None
    #: Reason -> how many times it was the reason.
    flow_control_times: dict[str, int]
    #: Of an orderly consumer, like all below: when the broker's lock was last granted or renewed.
    locked_us: NotRequired[int]
    lock_lease_ms: NotRequired[int]
    local_lock: NotRequired[LocalLock]
    consuming: NotRequired[bool]
    #: Since when a worker has been at it; None: no worker is.
    slice_us: NotRequired[int | None]
    #: How long a worker may.
    slice_ms: NotRequired[int]
    try_unlock_times: NotRequired[int]
