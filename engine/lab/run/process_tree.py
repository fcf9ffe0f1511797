"""A computation that forks: it continues in several processes from the same moment, each with the state at that point.

    for result in tree.grow(work):        # work(branch) runs in the first process of the tree
        ...

    def work(branch):
        if branch.fork():                 # true in the child, once its parent has gone on or waits for it
            ...
        branch.report(result)

The engine only names what it needs; :mod:`app.foundation.forked_processes` does it with ``os.fork``. Where there is no
fork (Windows, a browser), callers do the work from the beginning each time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol


class TreeBranch(Protocol):
    """Operations of one process of the tree."""

    def fork(self) -> bool:
        """Fork a child that continues from here. Return True in the child. In the parent it returns when the child and
        all its forks have ended, or immediately if another process may run.
        """
        ...

    def report(self, result: object) -> None:
        """Send ``result`` to the caller of ``grow``. Waits until the results before it have been read."""
        ...


class ProcessTree(Protocol):
    """Grows a tree of processes; a bounded number of them runs, the others wait for their children."""

    def grow(self, work: Callable[[TreeBranch], None]) -> Generator[object, None, None]:
        """Yield the results of the processes as they come. Closing the generator ends them all; a process that fails
        raises :class:`TreeFailed` here.
        """
        ...


class TreeFailed(Exception):
    """A process of a tree ended before its work was done; the text says why, if that is known."""
