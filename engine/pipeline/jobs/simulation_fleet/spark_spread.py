"""A spread of work over Spark: one task per piece, with results as the tasks end.

Results come back through an accumulator: Spark passes a task's part of it to the driver when the task has succeeded,
and counts a task that was run twice only once. So tables update while the job runs, and nothing waits for the slowest
piece.
"""

from __future__ import annotations

import functools
import gc
import threading
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from pyspark.accumulators import AddingAccumulatorParam
from pyspark.sql import SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

#: How often the driver checks for results.
_LOOK_S = 0.05


class SparkSpread:
    """A :class:`~engine.lab.run.spread.Spread` over the executors of ``spark``.

    :param is_stopped: called repeatedly; when it returns True, running tasks are cancelled and the results end.
    """

    def __init__(self, spark: SparkSession, is_stopped: Callable[[], bool] = lambda: False) -> None:
        self._context = spark.sparkContext
        self._is_stopped = is_stopped

    @property
    def workers(self) -> int:
        """Return how many tasks run at a time, as far as Spark knows by now."""
        return max(1, self._context.defaultParallelism)

    def __call__(
        self, function: Callable[[_Item], _Result], items: Sequence[_Item]
    ) -> Generator[tuple[int, _Result], None, None]:
        if not items:
            return
        context, group = self._context, f"spread-{uuid.uuid4()}"
        arrived = context.accumulator([], AddingAccumulatorParam[list[Any]]([]))
        failures: list[BaseException] = []

        run_piece = functools.partial(_run_piece, function, arrived)

        def run() -> None:
            # A job group applies to the thread that set it.
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
                # Results are dropped here once they are handed over: a sweep of a million seeds has some ten thousand.
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
    """Run one piece in a task."""
    _settle()
    index, item = numbered
    arrived.add([(index, function(item))])


@functools.cache
def _settle() -> None:
    """Freeze what is imported so far, once per worker: the garbage collector need not scan it after every world."""
    gc.collect()
    gc.freeze()
