"""The option ``maxBytesPerTrigger``: sizes of ranges, estimated from entries of their consume queues.

An entry has the stored size of its message, so none of the messages is read. Entries travel as JSON, a hundred bytes
each, so of a long range only some are requested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.pipeline.source.cluster.queue_offsets import Offsets, QueueKey
from engine.pipeline.source.reader.offset_range import share_limit

#: Number of equal pieces of a range; entries are requested from the beginning of each.
_PIECES = 4
#: Entries of one estimate, shared among all pieces, and the least of each piece.
_ENTRIES, _ENTRIES_MIN = 1_024, 4
#: How often a range is shortened and estimated again: its beginning may have larger messages than the whole.
_ROUNDS_MAX = 4


#: Returns the sizes in entries of each queue: from an offset on, at most a number of them.
_AskSizes = Callable[[Offsets, int], Mapping[QueueKey, list[int]]]


def share_bytes(
    ask: _AskSizes, begins: Offsets, lags: Mapping[QueueKey, int], max_bytes: int, turn: int = 0
) -> dict[QueueKey, int]:
    """Return how many messages to read of each queue: about ``max_bytes`` in all and at least one message, or all if
    they are smaller.

    :param ask: :meth:`~engine.pipeline.source.cluster.cluster.Cluster.entry_sizes`.
    :param begins: where to read on in each queue.
    :param turn: as in :func:`~engine.pipeline.source.reader.offset_range.share_limit`.
    """
    shares = dict(lags)
    for _ in range(_ROUNDS_MAX):
        rows = sum(shares.values())
        # With no rows there may be no queues either: the topic is deleted, or all brokers are away.
        if rows <= 1 or (size := _estimate_bytes(ask, begins, shares)) <= max_bytes:
            break
        shares = share_limit(lags, max(1, rows * max_bytes // size), turn)
    return shares


def _estimate_bytes(ask: _AskSizes, begins: Offsets, shares: Mapping[QueueKey, int]) -> int:
    """Return the stored size of the next messages; exact for pieces all of whose entries are requested."""
    count = max(_ENTRIES_MIN, _ENTRIES // (_PIECES * len(shares)))
    total = 0
    for piece in range(_PIECES):
        firsts = {queue: share * piece // _PIECES for queue, share in shares.items()}
        lengths = {queue: share * (piece + 1) // _PIECES - firsts[queue] for queue, share in shares.items()}
        starts = {queue: begins[queue] + firsts[queue] for queue, length in lengths.items() if length}
        for queue, found in ask(starts, count).items():
            sizes = found[: lengths[queue]]
            # Messages that are deleted by now have no entry, and no size.
            total += sum(sizes) * lengths[queue] // max(1, len(sizes))
    return total
