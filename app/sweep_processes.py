"""Spreads seeds and schedules of the lab over processes of this machine.

Each process is a fresh interpreter (spawn). The result does not depend on which process runs a piece.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Generic, TypeVar

from app.foundation.worker_process import live_with_parent
from engine.lab.run.spread import spread_here

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class ProcessSpread:
    """A :class:`~engine.lab.run.spread.Spread` over ``processes`` processes; with one, the work is done in this
    process.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes

    def __call__(
        self, function: Callable[[_Item], _Result], items: Sequence[_Item]
    ) -> Generator[tuple[int, _Result], None, None]:
        if self._processes == 1 or len(items) == 1:
            yield from spread_here(function, items)
            return
        # Not multiprocessing's Pool: it kills processes that may hold the lock of its queue, and waits for that lock.
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(min(self._processes, len(items)), context, _prepare)
        try:
            numbered = _Numbered(function)
            for future in as_completed([executor.submit(numbered, item) for item in enumerate(items)]):
                yield future.result()
        finally:
            executor.shutdown(cancel_futures=True)


class _Numbered(Generic[_Item, _Result]):
    """Keeps an item's number with its result."""

    def __init__(self, function: Callable[[_Item], _Result]) -> None:
        self._function = function

    def __call__(self, numbered: tuple[int, _Item]) -> tuple[int, _Result]:
        """Run one item."""
        index, item = numbered
        return index, self._function(item)


def _prepare() -> None:
    live_with_parent()
    # What is imported by now stays: the collector need not examine it after every world.
    gc.collect()
    gc.freeze()
