"""Says which groups had not read what the store deleted (RocketMQ: nothing; there a group finds out that its offset is
gone, code 21, and goes on behind the gap).

The store knows no groups, so it reports queues and offsets; how far each group was is known here. Three kinds of
readers: groups with a stored offset, which had read what lies before it; the delivery of delayed messages; and nobody,
where no group ever stored an offset. Groups that keep their offsets themselves (broadcasting) are not seen.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.protocol.names import SCHEDULE_TOPIC
from engine.store.services.clean_service import DeletedMessages

logger = logging.getLogger("glassmq.broker")

#: Named one by one; of the others the log says how many there are.
_TOPICS_NAMED_MAX = 20
_GROUPS_NAMED_MAX = 10


class UnreadDeletions:
    """Called by the store after each deletion.

    :param offsets: how far the groups are.
    :param delay_offsets: how far the delivery of each delay level is.
    """

    def __init__(self, offsets: ConsumerOffsetManager, delay_offsets: Mapping[int, int]) -> None:
        self._offsets = offsets
        self._delay_offsets = delay_offsets

    def messages_deleted(self, deleted: Sequence[DeletedMessages]) -> None:
        """Log what had not been read, topic by topic."""
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
        """Topic -> reader -> queue id -> offset."""
        readers: dict[str, dict[str, Mapping[int, int]]] = {}
        for topic, group, offsets in self._offsets.entries():
            if topic in topics:
                readers.setdefault(topic, {})[group] = offsets
        if SCHEDULE_TOPIC in topics:
            by_queue = {level - 1: offset for level, offset in self._delay_offsets.items()}
            readers[SCHEDULE_TOPIC] = {"the delivery of delayed messages": by_queue}
        return readers


def _unread(parts: Iterable[DeletedMessages], offsets: Mapping[int, int]) -> int:
    """How many of them lie behind what was read; of a queue without offset nothing was."""
    return sum(max(0, part.end - max(part.start, offsets.get(part.queue_id, 0))) for part in parts)
