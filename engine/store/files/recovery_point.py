"""The file ``config/recoveryPoint.json``: the positions up to which data is known to be on disk. RocketMQ has no such
file.

RocketMQ's checkpoint knows times only, so after a normal exit it must believe that every consume queue is whole: a
queue whose folder was deleted or cut stays empty, although the commit log still has its messages. With this file the
store knows at each start

* up to which position of the commit log all consume-queue entries are durable: after it they are written again,
* which queues existed at that position, and their lengths: a missing or shorter one is rebuilt,
* which index files are durable,
* how far the log itself was flushed: if it is shorter now, flushed messages are gone, and the start says so.

Without the file (a folder that RocketMQ wrote, or a deleted file) consume queues and index are built from the log.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.protocol.json_form.json_text import dumps_pretty_json
from engine.store.files.config_file import ConfigFile

PATH = "config/recoveryPoint.json"


class QueueExtent(NamedTuple):
    """The logical extent of a consume queue: the first offset of its first file, and the offset after its last
    entry.
    """

    first_offset: int
    max_offset: int


@dataclass(slots=True)
class RecoveryPoint:
    """A record of what is durable.

    :ivar dispatched_offset: commit-log position up to which the consume queues are complete.
    :ivar flushed_offset: commit-log position up to which the log is.
    :ivar log_min_offset: where the log began; None in a point of an earlier version.
    :ivar is_clean: True when it was written by a normal shutdown.
    :ivar queues: what each consume queue holds, by (topic, queue id).
    :ivar index_files: entry count per index file name.
    """

    dispatched_offset: int = 0
    flushed_offset: int = 0
    is_clean: bool = False
    queues: dict[tuple[str, int], QueueExtent] = field(default_factory=dict)
    index_files: dict[str, int] = field(default_factory=dict)
    log_min_offset: int | None = None


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(dumps_pretty_json(content))


def load_recovery_point(file: ConfigFile) -> RecoveryPoint | None:
    """Load the recovery point; None if it is missing or inconsistent."""
    data = file.load()
    if data is None:
        return None
    # A changed digit would be trusted and hide messages. A point of an earlier version has no checksum.
    checksum = data.pop("crc", None)
    if checksum is not None and checksum != _checksum(data):
        return None
    try:
        queues = {
            (str(topic), int(queue_id)): QueueExtent(int(first_offset), int(max_offset))
            for topic, by_id in data["consumeQueues"].items()
            for queue_id, (first_offset, max_offset) in by_id.items()
        }
        point = RecoveryPoint(
            int(data["dispatchedOffset"]),
            int(data["flushedOffset"]),
            bool(data["clean"]),
            queues,
            {str(name): int(count) for name, count in data["indexFiles"].items()},
            int(data["logMinOffset"]) if "logMinOffset" in data else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    numbers = (point.dispatched_offset, point.flushed_offset, *point.index_files.values())
    extents_fit = all(0 <= first <= end for first, end in queues.values())
    return point if extents_fit and all(number >= 0 for number in numbers) else None


def save_recovery_point(file: ConfigFile, point: RecoveryPoint) -> None:
    """Replace the file. Raises ``DiskFault``."""
    by_topic: dict[str, dict[str, list[int]]] = {}
    for (topic, queue_id), extent in point.queues.items():
        by_topic.setdefault(topic, {})[str(queue_id)] = list(extent)
    content = {
        "logMinOffset": point.log_min_offset,
        "dispatchedOffset": point.dispatched_offset,
        "flushedOffset": point.flushed_offset,
        "clean": point.is_clean,
        "consumeQueues": by_topic,
        "indexFiles": point.index_files,
    }
    file.save({**content, "crc": _checksum(content)})
