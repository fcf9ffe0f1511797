"""Uncaught exceptions in a lab world: the loop's side of asyncio's exception handlers."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

_log = logging.getLogger("glassmq.lab")

#: How many garbage-collection reports are kept.
_REPORTS_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class LabFailure:
    """An exception that no engine code caught."""

    event_number: int
    actor: str
    message: str
    exception: BaseException | None


class LabFailures:
    """A collection of failures."""

    def __init__(self) -> None:
        #: The failures in the order of events.
        self.failures: list[LabFailure] = []
        #: Reports of the garbage collector (exceptions that were never retrieved). When it runs is random, so these
        #: reports are neither in the journal nor in ``failures``.
        self.garbage_reports: list[str] = []

    def report(self, context: dict[str, Any], event_number: int, actor: str | None) -> None:
        """Take asyncio's arguments of an event loop's ``call_exception_handler``; ``actor``: None outside of events."""
        message = str(context.get("message", ""))
        exception = context.get("exception")
        if actor is None or "never retrieved" in message or "was destroyed" in message:
            _log.error("%s: %r", message, exception)
            self.garbage_reports.append(f"{message}: {exception!r}")
            del self.garbage_reports[:-_REPORTS_KEPT]
        else:
            self.failures.append(LabFailure(event_number, actor, message, exception))
