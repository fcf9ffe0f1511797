"""A report of the groups that had not read deleted messages (RocketMQ has none; there a group finds that its offset is
gone, code 21, and continues after the gap).

The store does not know groups, so it reports queues and offsets; the progress of each group is known here. There are
three cases: groups with a stored offset, which had read everything before it; the delivery of delayed messages; and no
reader, if no group ever stored an offset. Groups that keep their offsets themselves (broadcasting) are not visible
here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.protocol.names import SCHEDULE_TOPIC
from engine.store.services.clean_service import DeletedMessages

logger = logging.getLogger("glassmq.broker")

#: How many readers are logged one by one; of the others the log only says how many there are.
_TOPICS_NAMED_MAX = 20
_GROUPS_NAMED_MAX = 10


class UnreadDeletions:
    """A listener that the store calls after each deletion.

    :param offsets: the stored offsets of groups.
    :param delay_offsets: the offset up to which each delay level was delivered.
    """

    def __init__(self, offsets: ConsumerOffsetManager, delay_offsets: Mapping[int, int]) -> None:
        self._offsets = offsets
        self._delay_offsets = delay_offsets

    def messages_deleted(self, deleted: Sequence[DeletedMessages]) -> None:
        """Log the unread messages, topic by topic."""
        lines = list(self._lines(deleted))
        for line in lines[:_TOPICS_NAMED_MAX]:
            logger.warning("%s", line)
        if len(lines) > _TOPICS_NAMED_MAX:
            logger.warning("so were messages of %d more topics", len(lines) - _TOPICS_NAMED_MAX)

    def _lines(self, deleted: Sequence[DeletedMessages]) -> Iterable[str]:
        by_topic: dict[str, list[DeletedMessages]] = {}
        for part in deleted:
            by_topic.setdefault(part.topic, []).append(part)
        readers = self._readers_of(by_topic)
        for topic, parts in by_topic.items():
            count = sum(part.end - part.start for part in parts)
            if topic not in readers:
                yield f"{count} messages of topic {topic} were deleted; no group has ever read that topic"
                continue
            unread = {group: _unread(parts, offsets) for group, offsets in readers[topic].items()}
            behind = sorted(((missed, group) for group, missed in unread.items() if missed), reverse=True)
            named = ", ".join(f"{missed} by {group}" for missed, group in behind[:_GROUPS_NAMED_MAX])
            if len(behind) > _GROUPS_NAMED_MAX:
                named += f" and some by {len(behind) - _GROUPS_NAMED_MAX} more groups"
            if behind:
                yield f"{count} messages of topic {topic} were deleted; not read: {named}"

    def _readers_of(self, topics: Mapping[str, object]) -> dict[str, dict[str, Mapping[int, int]]]:
        """Return topic -> reader -> queue id -> offset."""
        readers: dict[str, dict[str, Mapping[int, int]]] = {}
        for topic, group, offsets in self._offsets.entries():
            if topic in topics:
                readers.setdefault(topic, {})[group] = offsets
        if SCHEDULE_TOPIC in topics:
            by_queue = {level - 1: offset for level, offset in self._delay_offsets.items()}
            readers[SCHEDULE_TOPIC] = {"the delivery of delayed messages": by_queue}
        return readers


def _unread(parts: Iterable[DeletedMessages], offsets: Mapping[int, int]) -> int:
    """Return how many deleted messages come after the read offset; in a queue without an offset nothing was read."""
    return sum(max(0, part.end - max(part.start, offsets.get(part.queue_id, 0))) for part in parts)
