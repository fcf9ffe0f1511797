"""Independent pieces of work, and who does them: this process, several processes, or a cluster.

    for index, result in spread(function, items): ...

Whoever has much to compute (seeds, schedules) takes a :data:`Spread` and knows nothing of processes. Worlds that are
computed so are watched by nobody, and :func:`be_quiet`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Spread(Protocol):
    """Calls ``function`` with every item, wherever; yields (index of the item, result) as results come.

    ``function`` is one of a module, or a ``functools.partial`` of one: it travels by name. An error ends it all.
    Closing the iterator gives up what is not done. It may end early, when somebody asked for that.
    """

    def __call__(
        self, function: Callable[[_Item], _Result], items: Sequence[_Item]
    ) -> Generator[tuple[int, _Result], None, None]:
        """See the class."""
        ...


def spread_here(
    function: Callable[[_Item], _Result], items: Sequence[_Item]
) -> Generator[tuple[int, _Result], None, None]:
    """One after the other, in this process."""
    for index, item in enumerate(items):
        yield index, function(item)


def in_order(results: Iterator[tuple[int, _Result]]) -> Iterator[_Result]:
    """The results in the order of their items: each as soon as all before it are there."""
    waiting: dict[int, _Result] = {}
    wanted = 0
    for index, result in results:
        waiting[index] = result
        while wanted in waiting:
            yield waiting.pop(wanted)
            wanted += 1


def be_quiet() -> None:
    """What the engine warns of in a lab was done to it on purpose; the checkers say what went wrong."""
    for name in ("glassmq", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
