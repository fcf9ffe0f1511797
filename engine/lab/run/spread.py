"""Independent pieces of work, spread over this process, several processes, or a cluster.

    for index, result in spread(function, items): ...

A caller with much to compute (seeds, schedules) takes a :data:`Spread` and knows nothing about processes. Worlds
computed in this way have no viewers, and call :func:`silence_logging`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Spread(Protocol):
    """Call ``function`` with every item, anywhere; yield (index of the item, result) as results come.

    ``function`` is a function of a module, or a ``functools.partial`` of one: it is pickled by name. An error ends
    everything. Closing the iterator discards unfinished work. It may end early, if a stop was requested.
    """

    def __call__(
        self, function: Callable[[_Item], _Result], items: Sequence[_Item]
    ) -> Generator[tuple[int, _Result], None, None]: ...


def spread_here(
    function: Callable[[_Item], _Result], items: Sequence[_Item]
) -> Generator[tuple[int, _Result], None, None]:
    """Process the items one after the other, in this process."""
    for index, item in enumerate(items):
        yield index, function(item)


def in_order(results: Iterator[tuple[int, _Result]]) -> Iterator[_Result]:
    """Yield the results in the order of their items: each as soon as all before it are there."""
    waiting: dict[int, _Result] = {}
    wanted = 0
    for index, result in results:
        waiting[index] = result
        while wanted in waiting:
            yield waiting.pop(wanted)
            wanted += 1


def silence_logging() -> None:
    """Silence the engine's warnings: faults in a lab are made on purpose, and the checkers report what went wrong."""
    for name in ("glassmq", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
