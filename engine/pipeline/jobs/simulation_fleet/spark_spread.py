"""Spreads pieces of work over Spark: one task per piece, results as the tasks end.

Results come back through an accumulator: Spark hands a task's part of it to the driver when the task has succeeded, and
counts a task that was run twice once. So a table moves while the job runs, and nothing waits for the slowest piece.
"""

from __future__ import annotations

import functools
import gc
import threading
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.accumulators import AccumulatorParam

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

#: How often the driver looks for results.
_LOOK_S = 0.05


class SparkSpread:
    """A :class:`~engine.lab.run.spread.Spread` over the executors of ``spark``.

    :param is_stopped: asked all the time; when it says yes, what runs is cancelled and the results end.
    """

    def __init__(self, spark: SparkSession, is_stopped: Callable[[], bool] = lambda: False) -> None:
        self._context = spark.sparkContext
        self._is_stopped = is_stopped

    @property
    def workers(self) -> int:
        """How many tasks run at a time, as far as Spark knows by now."""
        return max(1, self._context.defaultParallelism)

    def __call__(
        self, function: Callable[[_Item], _Result], items: Sequence[_Item]
    ) -> Generator[tuple[int, _Result], None, None]:
        """See :class:`~engine.lab.run.spread.Spread`."""
        if not items:
            return
        context, group = self._context, f"spread-{uuid.uuid4()}"
        arrived = context.accumulator([], _Gathered())
        failures: list[BaseException] = []

        run_piece = functools.partial(_run_piece, function, arrived)

        def run() -> None:
            # A job group counts for the thread that set it.
            context.setJobGroup(group, "lab", interruptOnCancel=True)
            try:
                context.parallelize(list(enumerate(items)), len(items)).foreach(run_piece)
            except Exception as error:  # the thread that waits raises it
                failures.append(error)

        thread = threading.Thread(target=run, name="spread", daemon=True)
        thread.start()
        taken = 0
        try:
            while not self._is_stopped():
                was_alive = thread.is_alive()
                fresh = arrived.value[taken:]
                # Handed over is forgotten here: a sweep of a million seeds has some ten thousand results.
                arrived.value[taken : taken + len(fresh)] = [None] * len(fresh)
                taken += len(fresh)
                yield from fresh
                if not was_alive and not fresh:
                    break
                if not fresh:
                    time.sleep(_LOOK_S)
        finally:
            if thread.is_alive():
                context.cancelJobGroup(group)
        if failures and not self._is_stopped():
            raise failures[0]


def _run_piece(function: Callable[[Any], Any], arrived: Any, numbered: tuple[int, Any]) -> None:
    """What a task does with its piece."""
    _settle()
    index, item = numbered
    arrived.add([(index, function(item))])


@functools.cache
def _settle() -> None:
    """Once per worker. What is imported by now stays: the collector need not look at it after every world."""
    gc.collect()
    gc.freeze()


class _Gathered(AccumulatorParam[list[Any]]):
    """A list that grows."""

    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802 - Spark calls it so
        value1.extend(value2)
        return value1
