"""Planning of tasks: how much of each queue to read, in ranges of offsets that are packed so that a task is worth its
start.

A Python task costs Spark 25 to 35 ms before it reads anything, as much as reading tens of thousands of messages. So
short ranges of several queues share a task, and long ones are split among several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from engine.pipeline.source.cluster.queue_offsets import QueueKey

#: Messages that a task can read at little cost on top of its start.
_SMALL_TASK_RECORDS = 50_000


class OffsetRange(NamedTuple):
    """Messages ``start`` to ``end - 1`` of one queue, on the broker whose master is at ``address``."""

    queue: QueueKey
    address: str
    start: int
    end: int

    @property
    def size(self) -> int:
        """Return the number of offsets."""
        return self.end - self.start


def plan_partitions(
    ranges: Iterable[OffsetRange], min_partitions: int, max_records_per_partition: int
) -> list[InputPartition]:
    """Return tasks that read all of ``ranges`` (empty ones are left out), each at most ``max_records_per_partition``.

    The value of each is its ranges, grouped by broker, in the order of offsets. There are at least ``min_partitions``
    if there are as many messages.
    """
    wanted = [item for item in ranges if item.size > 0]
    total = sum(item.size for item in wanted)
    # Rounded down: tasks that are a message too long would be one too few.
    piece_max = min(max_records_per_partition, max(1, total // min_partitions))
    pack_max = min(piece_max, _SMALL_TASK_RECORDS)
    tasks: list[list[OffsetRange]] = []
    room = 0
    for piece in _pieces(wanted, piece_max):
        if piece.size > room:
            tasks.append([])
            room = pack_max
        tasks[-1].append(piece)
        room -= piece.size
    return [InputPartition(tuple(task)) for task in tasks]


def _pieces(ranges: Sequence[OffsetRange], piece_max: int) -> Iterable[OffsetRange]:
    """Yield the ranges by broker and queue, with longer ones cut into equal pieces."""
    for item in sorted(ranges, key=lambda item: (item.address, item.queue, item.start)):
        pieces = -(-item.size // piece_max)
        for number in range(pieces):
            start = item.start + item.size * number // pieces
            yield item._replace(start=start, end=item.start + item.size * (number + 1) // pieces)


def share_limit(lags: Mapping[QueueKey, int], max_rows: int, turn: int = 0) -> dict[QueueKey, int]:
    """Return how many messages to read of each queue: ``max_rows`` in all, or all if there are fewer.

    The shares are proportional to what each queue holds, so that all reach their end together. Every queue with
    messages gets at least one: otherwise a short queue would wait for as long as long ones grow. If more queues have
    messages than the limit allows, they take turns.

    :param turn: how many messages were assigned before, in all micro-batches together.
    """
    total = sum(lags.values())
    if total <= max_rows:
        return dict(lags)
    waiting = sorted((queue for queue, lag in lags.items() if lag > 0), key=lambda queue: (-lags[queue], queue))
    shares = dict.fromkeys(lags, 0)
    if len(waiting) > max_rows:
        return shares | dict.fromkeys(_next_in_turn(lags, max_rows, turn), 1)
    rest, total_left = max_rows - len(waiting), total - len(waiting)
    shares |= {queue: 1 + rest * (lags[queue] - 1) // total_left for queue in waiting}
    # Rounding down leaves fewer rows than there are queues; the queues with the largest lag get them.
    not_full = [queue for queue in waiting if shares[queue] < lags[queue]]
    for queue in not_full[: max_rows - sum(shares.values())]:
        shares[queue] += 1
    return shares


def _next_in_turn(lags: Mapping[QueueKey, int], count: int, turn: int) -> list[QueueKey]:
    """Return the first ``count`` queues with messages at or after position ``turn`` of the ring of all queues.

    A queue without messages keeps its position. So ``count`` messages later the search begins at a position that is not
    after the last one served: no queue is skipped, however many others have messages.
    """
    ring = sorted(lags)
    first = turn % len(ring)
    return [queue for queue in ring[first:] + ring[:first] if lags[queue] > 0][:count]
