"""One scheduled callback of the lab loop, which ``call_soon`` and ``call_later`` return."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass

from engine.runtime.lab.lab_actor import LabActor


def _nothing() -> None:
    """Replace the callback of a cancelled event, so that its references are freed early."""


@dataclass(slots=True, eq=False)
class LabEvent:
    """A callback that will run, or has run. asyncio itself needs only ``cancel``, ``cancelled`` and ``when``."""

    due_us: int
    callback: Callable[..., object]
    arguments: tuple[object, ...]
    context: Context
    actor: LabActor
    #: Number of the event during which this one was scheduled; 0: from outside the world.
    cause: int
    #: A description of its action, for people: the text of a ``step``, or of a link.
    label: str
    is_cancelled: bool = False

    def cancel(self) -> None:
        """Prevent the event from running. Has no effect if it has already run."""
        self.is_cancelled = True
        self.callback = _nothing
        self.arguments = ()

    def cancelled(self) -> bool:
        """Return whether ``cancel`` was called."""
        return self.is_cancelled

    def when(self) -> float:
        """Return when the event is due, in seconds of the loop's time."""
        return self.due_us / 1_000_000

    def get_context(self) -> Context:
        """Return the context in which the callback runs."""
        return self.context

    def __repr__(self) -> str:
        return f"<LabEvent {self.actor.name} «{self.label}» at {self.due_us} us>"
