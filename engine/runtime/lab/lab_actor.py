"""Who acts in the lab: actors, and the node incarnations that they belong to.

An actor is whatever runs callbacks one after the other: a task, one direction of a link, a disk. The
scheduler may permute the actors among each other, as an operating system permutes threads, but never the
callbacks inside one actor, because asyncio promises those to run in the order in which they were scheduled.

RocketMQ has no such class; its actors are Java threads, which nobody can single-step.
"""

from __future__ import annotations

from collections.abc import Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from engine.runtime.lab.lab_task import LabTask


#: The tasks of a node are rid of finished ones when there are twice as many as the last time, but not below this.
_TASKS_WORTH_CLEANING = 64


class LabNode:
    """One incarnation of a node: it lives from a start to the next crash. A restart makes a new object."""

    __slots__ = ("_tasks_to_clean_at", "alive", "incarnation", "name", "paused", "task_counts", "tasks")

    def __init__(self, name: str, incarnation: int = 0) -> None:
        self.name = name
        self.incarnation = incarnation
        self.alive = True
        self.paused = False
        #: Every unfinished task and some finished ones, in the order of creation. A dict, because a set has no order.
        self.tasks: dict[LabTask[object], None] = {}
        self._tasks_to_clean_at = _TASKS_WORTH_CLEANING
        #: How many unnamed tasks each coroutine function has started here; numbers their names.
        self.task_counts: dict[str, int] = {}

    def add_task(self, task: LabTask[object]) -> None:
        """A task of this incarnation begins."""
        self.tasks[task] = None
        if len(self.tasks) >= self._tasks_to_clean_at:
            # Finished tasks are dropped in bulk: a callback per task would cost an event each.
            self.tasks = {known: None for known in self.tasks if not known.done()}
            self._tasks_to_clean_at = max(_TASKS_WORTH_CLEANING, 2 * len(self.tasks))

    def __repr__(self) -> str:
        return f"<LabNode {self.name}#{self.incarnation}>"


class LabActor:
    """A sequence of callbacks on one node."""

    __slots__ = ("held_until_us", "name", "next_label", "node", "number", "steps")

    def __init__(self, number: int, name: str, node: LabNode) -> None:
        self.number = number
        self.name = name
        self.node = node
        #: Virtual time until which none of its events may run; 0 = not held.
        self.held_until_us = 0
        #: What its next event will do, as announced by ``step``; the loop moves it to that event.
        self.next_label = ""
        #: How many of its events have run. With the name it addresses a place in a schedule.
        self.steps = 0

    @property
    def blocked(self) -> bool:
        """True while its events must wait although they are ready."""
        return self.held_until_us > 0 or self.node.paused

    def __repr__(self) -> str:
        return f"<LabActor {self.name}>"


#: The actor whose callback runs now; ``None`` outside a lab.
current_actor: ContextVar[LabActor | None] = ContextVar("current_actor", default=None)


#: Yields once, as a bare ``yield`` does to the task.
_ONCE = (None,)


class _Yield:
    """Awaiting it gives the scheduler one chance to run somebody else first."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        # As a generator with one yield would do, which takes twice as long.
        return cast("Generator[None, None, None]", iter(_ONCE))


YIELD = _Yield()


def lab_step(label: str) -> _Yield:
    """What ``step(label)`` does in the lab: the acting actor announces ``label`` and gives way once."""
    actor = current_actor.get()
    assert actor is not None, "a lab step outside of an actor"
    actor.next_label = label
    return YIELD
