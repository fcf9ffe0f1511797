"""Shares the rows that a micro-batch may have among the queues."""

from __future__ import annotations

from collections.abc import Mapping

from engine.pipeline.source.queue_offsets import QueueKey


def share_limit(lags: Mapping[QueueKey, int], max_rows: int, turn: int = 0) -> dict[QueueKey, int]:
    """How many messages to read of each queue: ``max_rows`` in all, or all if there are fewer.

    In proportion to what each queue holds, so that all get to their end together. Every queue with messages gets one
    at least: else a short queue would wait as long as long ones grow. Where more queues have messages than the limit
    allows, they take turns.

    :param turn: how many messages were given out before, in all micro-batches together.
    """
    total = sum(lags.values())
    if total <= max_rows:
        return dict(lags)
    waiting = sorted((queue for queue, lag in lags.items() if lag > 0), key=lambda queue: (-lags[queue], queue))
    shares = dict.fromkeys(lags, 0)
    if len(waiting) > max_rows:
        return shares | dict.fromkeys(_next_in_turn(lags, max_rows, turn), 1)
    for queue in waiting:
        shares[queue] = 1
    rest = max_rows - len(waiting)
    left = {queue: lags[queue] - shares[queue] for queue in waiting}
    total_left = sum(left.values())
    for queue in waiting:
        shares[queue] += rest * left[queue] // total_left
    # Rounding down leaves fewer rows over than there are queues; those furthest behind get them.
    over = max_rows - sum(shares.values())
    for queue in waiting:
        if over == 0:
            break
        if shares[queue] < lags[queue]:
            shares[queue] += 1
            over -= 1
    return shares


def _next_in_turn(lags: Mapping[QueueKey, int], count: int, turn: int) -> list[QueueKey]:
    """The first ``count`` queues with messages at or behind place ``turn`` of the ring of all queues.

    A queue without messages keeps its place. So ``count`` messages later the ring is looked at from a place that is not
    behind the last one served: no queue is passed over, however many others have messages.
    """
    ring = sorted(lags)
    first = turn % len(ring)
    return [queue for queue in ring[first:] + ring[:first] if lags[queue] > 0][:count]
