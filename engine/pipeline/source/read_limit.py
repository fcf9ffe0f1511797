"""Shares the rows that a micro-batch may have among the queues."""

from __future__ import annotations

from collections.abc import Mapping

from engine.pipeline.source.queue_offsets import QueueKey


def share_limit(lags: Mapping[QueueKey, int], max_rows: int) -> dict[QueueKey, int]:
    """How many messages to read of each queue: ``max_rows`` in all, or all if there are fewer.

    In proportion to what each queue holds, so that all get to their end together. Every queue with messages gets one
    at least, as far as the limit goes: else a short queue would wait as long as long ones grow.
    """
    total = sum(lags.values())
    if total <= max_rows:
        return dict(lags)
    waiting = sorted((queue for queue, lag in lags.items() if lag > 0), key=lambda queue: (-lags[queue], queue))
    shares = dict.fromkeys(lags, 0)
    for queue in waiting[:max_rows]:
        shares[queue] = 1
    rest = max_rows - min(len(waiting), max_rows)
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
