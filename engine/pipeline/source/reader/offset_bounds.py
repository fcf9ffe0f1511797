"""Bounds of a read: from options and times to offsets of each queue."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import partial

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import wrong_option
from engine.pipeline.source.cluster.node_client import NOTHING_FOUND_CODES, PULL_BYTES
from engine.pipeline.source.cluster.queue_offsets import EARLIEST, LATEST, QueueKey, list_queues
from engine.pipeline.source.decoding.stored_batch import StoredBatch
from engine.pipeline.source.reader.options import Bound, ReadOptions, start_after_end
from engine.pipeline.source.reader.range_puller import report_loss
from engine.protocol.body.question import look


class OffsetBounds:
    """Resolve bounds for the queues of one read; minima and maxima are requested once."""

    def __init__(self, cluster: Cluster, queues: Sequence[QueueKey], options: ReadOptions) -> None:
        self._cluster = cluster
        self._options = options
        self.queues = list(queues)
        self.minima = cluster.min_offsets(self.queues)
        self.maxima = cluster.max_offsets(self.queues)

    def between(self, starting: Bound, ending: Bound) -> tuple[dict[QueueKey, int], dict[QueueKey, int]]:
        """Return the offsets at which each queue begins and ends. Raises ``ROCKETMQ_WRONG_OPTION`` for a start after
        its end.

        An empty range that begins where it ends is a valid result.
        """
        starts, ends = self.resolve(starting), self.resolve(ending)
        for queue in self.queues:
            if starts[queue] > ends[queue]:
                raise start_after_end(starting, ending, f"{queue}: offset {starts[queue]}", f"offset {ends[queue]}")
        return starts, ends

    def resolve(self, bound: Bound) -> dict[QueueKey, int]:
        """Return the offsets for ``bound``."""
        option = bound.option
        named = bound.offsets
        strangers = [queue for queue in named if queue not in self.minima]
        if strangers:
            raise wrong_option(
                option, f"there is no queue {list_queues(strangers)}; allowed: {list_queues(self.queues)}"
            )
        wanted = {queue: named.get(queue, bound.everywhere) for queue in self.queues}
        times = {queue: time_ms for queue, time_ms in wanted.items() if bound.are_times and time_ms >= 0}
        rest = {queue: offset for queue, offset in wanted.items() if queue not in times}
        return {queue: self._resolve_one(queue, offset, option) for queue, offset in rest.items()} | self.at_time(times)

    def _resolve_one(self, queue: QueueKey, offset: int, option: str) -> int:
        low, high = self.minima[queue], self.maxima[queue]
        if offset == EARLIEST:
            return low
        if offset == LATEST:
            return high
        if not low <= offset <= high:
            holds = f"holds {low} to {high - 1}" if low < high else f"is empty, its next message gets offset {high}"
            text = f"option {option!r}: offset {offset} is wanted, the queue {holds}"
            report_loss(self._options.fail_on_data_loss, queue, text)
        return min(max(offset, low), high)

    def at_time(self, timestamps_ms: Mapping[QueueKey, int]) -> dict[QueueKey, int]:
        """Return the offset of the first message of each queue that was stored at its time or later; the maximum if
        there is no such message.

        Brokers answer with the message nearest to the time, before or after it, and with any of several in one
        millisecond. So the answer is only where the search begins: single messages are pulled around it.
        """
        near = self._cluster.offsets_near(
            {queue: time_ms for queue, time_ms in timestamps_ms.items() if self.minima[queue] < self.maxima[queue]}
        )
        return {
            queue: self._first_at(queue, time_ms, near[queue]) if queue in near else self.maxima[queue]
            for queue, time_ms in timestamps_ms.items()
        }

    def _first_at(self, queue: QueueKey, time_ms: int, near: int) -> int:
        """Search from ``near`` in doubling steps until the time is in between, then by bisection."""
        low, high = self.minima[queue], self.maxima[queue]
        at = min(max(near, low), high - 1)
        stored_ms, step = partial(self._stored_ms, queue), 1
        if stored_ms(at) < time_ms:
            low = at + 1
            while low < high and stored_ms(min(low + step, high) - 1) < time_ms:
                low, step = min(low + step, high), step * 2
            high = min(low + step, high)
        else:
            high = at
            while high > low and stored_ms(max(high - step, low)) >= time_ms:
                high, step = max(high - step, low), step * 2
            low = max(high - step, low)
        return bisect_left(range(high), time_ms, low, high, key=stored_ms)

    def _stored_ms(self, queue: QueueKey, offset: int) -> int:
        """Return when a message was stored; -1 for one that was deleted meanwhile, since that is older than all
        others.
        """
        asked = look(queue, offset, 1, group=self._options.consumer_group, max_bytes=PULL_BYTES)
        data = self._cluster.ask_queue(queue, asked, without=NOTHING_FOUND_CODES)
        return -1 if data is None else int(StoredBatch(data).number("store_timestamp")[0])
