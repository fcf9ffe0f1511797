"""Shortening of a schedule that was found: fewer stalls first, then shorter ones.

Fewer: delta debugging (Zeller and Hildebrandt, ``ddmin``): the result still fails, and without any one of its parts it
does not. Shorter: a stall of 20 ms says more than one of 2 s, it happens in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from engine.lab.explorer.stall import Stalls

_T = TypeVar("_T")

#: Durations that are tried instead of a stall's own, shortest first.
SHORTER_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 1_500, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000)


def ddmin(parts: Sequence[_T], fails: Callable[[tuple[_T, ...]], bool]) -> tuple[_T, ...]:
    """Return a minimal part of ``parts``, in order, that still ``fails``: without any one of its elements, it does not.

    ``parts`` as a whole must fail.
    """
    kept = tuple(parts)
    if kept and fails(()):
        return ()
    pieces = 2
    while len(kept) >= 2:
        size = -(-len(kept) // pieces)
        cuts = [(start, start + size) for start in range(0, len(kept), size)]
        smaller = next((kept[a:b] for a, b in cuts if fails(kept[a:b])), None)
        if smaller is not None:
            kept, pieces = smaller, 2
            continue
        rest = next((kept[:a] + kept[b:] for a, b in cuts if len(cuts) > 2 and fails(kept[:a] + kept[b:])), None)
        if rest is not None:
            kept, pieces = rest, max(pieces - 1, 2)
        elif pieces >= len(kept):
            break
        else:
            pieces = min(len(kept), pieces * 2)
    return kept


def shorten(stalls: Stalls, fails: Callable[[Stalls], bool]) -> Stalls:
    """Return the same stalls, each in turn made as short as :data:`SHORTER_MS` allows while the schedule still
    ``fails``.
    """
    for index, stall in enumerate(stalls):
        for ms in SHORTER_MS:
            if ms >= stall.ms:
                break
            shorter = (*stalls[:index], stall._replace(ms=ms), *stalls[index + 1 :])
            if fails(shorter):
                stalls = shorter
                break
    return stalls
