"""All dead letters of one group, in the order in which they died (RocketMQ: nothing; its dashboard looks at queue 0).

Brokers put them into queue 0 of %DLQ%group. Who gives that topic more queues, or sends there, finds some in others. The
order over all queues is that of the commit log, and it numbers them: the number of a dead letter is how many the group
had before. It never changes, as offsets do not, and with one queue it is the offset.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.message.message import MessageExt
from engine.protocol.names import dlq_topic
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.message_store import MessageStore


class DeadLetterQueues:
    """The group's queues in ``store``.

    :param config: of the dead-letter topic; None: there are no dead letters.
    """

    def __init__(self, store: MessageStore, group: str, config: TopicConfig | None) -> None:
        self._store = store
        self._topic = topic = dlq_topic(group)
        queue_nums = 0 if config is None else config.queue_nums
        #: Queue id -> its offsets.
        self._offsets = {
            queue_id: range(max(0, store.min_offset(topic, queue_id)), store.max_offset(topic, queue_id))
            for queue_id in range(queue_nums)
        }

    @property
    def min_number(self) -> int:
        """Of the oldest one that is kept."""
        return sum(offsets.start for offsets in self._offsets.values())

    @property
    def max_number(self) -> int:
        """Of the next one to come."""
        return sum(offsets.stop for offsets in self._offsets.values())

    @property
    def newest_ms(self) -> int:
        """When the newest one was stored; 0: there is none."""
        store, topic = self._store, self._topic
        return max((store.last_store_timestamp(topic, queue_id) for queue_id in self._offsets), default=0)

    def messages(self, start: int, count: int) -> list[MessageExt]:
        """At most ``count`` dead letters, from number ``start`` on; without those that are damaged."""
        log = range(self._store.commit_log.max_offset)
        # The numbers of one queue need no search.
        firsts = [start] if len(self._offsets) == 1 else self._firsts(bisect_left(log, start, key=self._count_before))
        found: list[tuple[int, int, int]] = []
        for queue_id, first in zip(self._offsets, firsts, strict=True):
            entries = self._store.consume_queue_entries(self._topic, queue_id, first, count)
            found += [
                (place, queue_id, offset)
                for offset, (place, size, _) in enumerate(entries, first)
                if size != FILLER_SIZE
            ]
        read = self._store.message_in_queue
        messages = [read(self._topic, queue_id, offset) for _, queue_id, offset in sorted(found)[:count]]
        return [message for message in messages if message is not None]

    def _count_before(self, place: int) -> int:
        return sum(self._firsts(place))

    def _firsts(self, place: int) -> list[int]:
        """Of each queue the offset of the first one that lies at ``place`` of the commit log or behind it."""
        return [
            offsets.start + bisect_left(offsets, place, key=partial(self._place, queue_id))
            for queue_id, offsets in self._offsets.items()
        ]

    def _place(self, queue_id: int, offset: int) -> int:
        """Where the dead letter at ``offset`` of its queue lies in the commit log."""
        ((place, _, _),) = self._store.consume_queue_entries(self._topic, queue_id, offset, 1)
        return place
