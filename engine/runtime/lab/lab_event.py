"""One scheduled callback of the lab loop: what ``call_soon`` and ``call_later`` return there."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass

from engine.runtime.lab.lab_actor import LabActor


def _nothing() -> None:
    """Stands in for the callback of a cancelled event, so that what the callback held is freed early."""


@dataclass(slots=True, eq=False)
class LabEvent:
    """A callback that will run, or has run. asyncio itself needs only ``cancel``, ``cancelled`` and ``when``."""

    due_us: int
    callback: Callable[..., object]
    arguments: tuple[object, ...]
    context: Context
    actor: LabActor
    #: Number of the event during which this one was scheduled; 0 = from outside the world.
    cause: int
    #: What it will do, for people: the text of a ``step``, or what a link says.
    label: str
    is_cancelled: bool = False

    def cancel(self) -> None:
        """Never run it. Nothing happens when it ran already."""
        self.is_cancelled = True
        self.callback = _nothing
        self.arguments = ()

    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self.is_cancelled

    def when(self) -> float:
        """When it is due, in seconds of the loop's time."""
        return self.due_us / 1_000_000

    def get_context(self) -> Context:
        """The context in which the callback runs."""
        return self.context

    def __repr__(self) -> str:
        return f"<LabEvent {self.actor.name} «{self.label}» at {self.due_us} us>"
