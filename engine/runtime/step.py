"""Step points (``await step("what happens next")``), at which another actor may run first.

RocketMQ's client is multi-threaded: between any two instructions another thread may act. asyncio code is atomic between
awaits, which would hide every missing lock. Therefore the client marks the accesses to state that RocketMQ's threads
share. In the lab a step yields to the scheduler, which may run any other actor first; live it returns at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextvars import ContextVar
from typing import Protocol, cast

StepHook = Callable[[str], Awaitable[None]]

#: Set by the lab in the context of every actor; ``None`` in live mode.
step_hook: ContextVar[StepHook | None] = ContextVar("step_hook", default=None)


class Actor(Protocol):
    """The acting party in a lab: a task, or a link that calls a handler."""

    name: str


#: The actor whose callback runs now; ``None`` live.
acting: ContextVar[Actor | None] = ContextVar("acting", default=None)

#: Ends immediately, every time, so it can be shared: a generator would have to be created for each step.
_NOTHING = cast("Generator[None, None, None]", iter(()))


class _NoWait:
    """An awaitable that takes no time and does not yield."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return _NOTHING


#: For awaiting nothing.
NO_WAIT = _NoWait()


def step(label: str) -> Awaitable[None]:
    """Let the lab's scheduler choose which actor runs before ``label`` happens. Costs next to nothing live.

    ``label`` is a short English phrase without varying names ("takes messages"), so that a schedule found by the
    explorer can be described as "hold C1/worker-0 before «takes messages»".
    """
    hook = step_hook.get()
    return NO_WAIT if hook is None else hook(label)
