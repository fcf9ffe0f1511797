"""Tasks whose order in a set is the same in every run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

from engine.runtime.lab.lab_actor import LabActor

_T = TypeVar("_T")


class LabTask(asyncio.Task[_T]):
    """A task that is an actor of the lab, and hashes by a counter.

    ``asyncio.TaskGroup`` and ``asyncio.wait`` keep tasks in a set and iterate over it. The usual hash is
    the memory address, which differs from run to run, and so would the order of events. (Bare futures in
    ``asyncio.wait`` have that fault still; a hash of their own would slow down every sleep and every lock
    by a fifth.)
    """

    __slots__ = ("_number", "actor")

    def __init__(
        self,
        number: int,
        coroutine: Coroutine[Any, Any, _T],
        loop: asyncio.AbstractEventLoop,
        name: str,
        context: Context,
        actor: LabActor,
    ) -> None:
        self._number = number
        self.actor = actor
        asyncio.Task.__init__(self, coroutine, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self._number

    def set_name(self, name: object) -> None:
        """Also renames the actor: Python 3.11's ``create_task`` names a task only after the loop has made it."""
        super().set_name(name)
        self.actor.name = f"{self.actor.node.name}/{name}"
