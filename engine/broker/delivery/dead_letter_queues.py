"""The dead letters of one group, in storage order (RocketMQ: none; its dashboard reads queue 0).

Brokers put them into queue 0 of %DLQ%group. Other queues only have some if the topic was given more queues or clients
sent there. The order over all queues is that of the commit log, and it numbers them: the number of a dead letter is how
many the group had before. Like an offset it never changes, and with one queue it is the offset.
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
    """The queues of the group's dead letters in ``store``.

    :param config: the dead-letter topic's configuration; None: there are no dead letters.
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
        """Return the number of the oldest dead letter that is kept."""
        return sum(offsets.start for offsets in self._offsets.values())

    @property
    def max_number(self) -> int:
        """Return the number that the next dead letter will get."""
        return sum(offsets.stop for offsets in self._offsets.values())

    @property
    def newest_ms(self) -> int:
        """Return the store time (ms) of the newest dead letter; 0 without dead letters."""
        store, topic = self._store, self._topic
        return max((store.last_store_timestamp(topic, queue_id) for queue_id in self._offsets), default=0)

    def messages(self, start: int, count: int) -> list[MessageExt]:
        """Return at most ``count`` dead letters, from number ``start`` on, without damaged ones."""
        log = range(self._store.commit_log.max_offset)
        # The numbers of a single queue need no search.
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
        """Return for each queue the offset of the first dead letter at ``place`` of the commit log or after it."""
        return [
            offsets.start + bisect_left(offsets, place, key=partial(self._place, queue_id))
            for queue_id, offsets in self._offsets.items()
        ]

    def _place(self, queue_id: int, offset: int) -> int:
        """Return the commit-log offset of the dead letter at ``offset`` of its queue."""
        ((place, _, _),) = self._store.consume_queue_entries(self._topic, queue_id, offset, 1)
        return place
