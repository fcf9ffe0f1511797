"""The actors of the lab, tasks among them, and their node incarnations.

An actor is whatever runs callbacks one after the other: a task, one direction of a link, a disk. The
scheduler may permute the actors among each other, as an operating system permutes threads, but never the
callbacks inside one actor, because asyncio promises those to run in the order in which they were scheduled.

RocketMQ has no such class; its actors are Java threads, which cannot be single-stepped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from engine.runtime.step import acting

_T = TypeVar("_T")

#: Finished tasks are removed when the number of tasks has doubled since the last time, but not below this number.
_TASKS_WORTH_CLEANING = 64


@dataclass(slots=True, eq=False)
class LabNode:
    """One incarnation of a node, which lasts from a start to the next crash. A restart creates a new object."""

    name: str
    incarnation: int = 0
    alive: bool = True
    paused: bool = False
    #: Virtual time until which it waits for its disk, as a process does at a page fault; frames that it sends leave
    #: then.
    stalled_until_us: int = 0
    #: Whether it is paused or stalled: its events wait although they are ready.
    stands_still: bool = False
    #: Every unfinished task and some finished ones, in the order of creation. A dict, because a set has no order.
    tasks: dict[LabTask[object], None] = field(default_factory=dict)
    #: How many unnamed tasks each coroutine function has started here, for the numbers in their names.
    task_counts: dict[str, int] = field(default_factory=dict)
    _tasks_to_clean_at: int = _TASKS_WORTH_CLEANING

    def add_task(self, task: LabTask[object]) -> None:
        """Add a new task of this incarnation."""
        self.tasks[task] = None
        if len(self.tasks) >= self._tasks_to_clean_at:
            # Finished tasks are dropped in bulk: a callback per task would cost an event each.
            self.tasks = {known: None for known in self.tasks if not known.done()}
            self._tasks_to_clean_at = max(_TASKS_WORTH_CLEANING, 2 * len(self.tasks))

    def __repr__(self) -> str:
        return f"<LabNode {self.name}#{self.incarnation}>"


@dataclass(slots=True, eq=False)
class LabActor:
    """A sequence of callbacks on one node."""

    number: int
    name: str
    node: LabNode
    #: Virtual time until which none of its events may run; 0: not held.
    held_until_us: int = 0
    #: The action of its next event, as announced by ``step``; the loop moves it to that event.
    next_label: str = ""
    #: How many of its events have run. With the name it identifies a position in a schedule.
    steps: int = 0

    @property
    def blocked(self) -> bool:
        """Return True while its events must wait although they are ready."""
        return self.held_until_us > 0 or self.node.stands_still

    def __repr__(self) -> str:
        return f"<LabActor {self.name}>"


#: The actor whose callback runs now; ``None`` outside a lab.
current_actor = cast("ContextVar[LabActor | None]", acting)


class LabTask(asyncio.Task[_T]):
    """A task that is an actor of the lab, and hashes by a counter, so that its order in a set is the same in every run.

    ``asyncio.TaskGroup`` and ``asyncio.wait`` keep tasks in a set and iterate over it. The usual hash is the memory
    address, which differs from run to run, and so would the order of events. (Bare futures in ``asyncio.wait`` have
    that fault still; a hash of their own would slow down every sleep and every lock by a fifth.)
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
        """Also rename the actor: Python 3.11's ``create_task`` names a task only after the loop has created it."""
        super().set_name(name)
        self.actor.name = f"{self.actor.node.name}/{name}"


#: Yields once, as a bare ``yield`` does to the task.
_ONCE = (None,)


class _Yield:
    """An awaitable that gives the scheduler one opportunity to run another actor first."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        # A generator with one yield would do the same, but takes twice as long.
        return iter(_ONCE)  # type: ignore[return-value]  # a task asks no more of it


YIELD = _Yield()


def lab_step(label: str) -> _Yield:
    """Announce ``label`` for the acting actor and yield once: the lab's implementation of ``step(label)``."""
    actor = current_actor.get()
    assert actor is not None, "a lab step outside of an actor"
    actor.next_label = label
    return YIELD
