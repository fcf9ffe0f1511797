"""A violated invariant: which, when, where, which messages, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Anomaly(StrEnum):
    """The names of anomalies, as the literature uses them."""

    #: A write was acknowledged and is not stored.
    LOST_WRITE = "lost write"
    #: The same delivery again where that is not allowed.
    DUPLICATE = "duplicate"
    #: Not in the order in which it was stored.
    OUT_OF_ORDER = "out of order"
    #: Progress has passed it, so it will never be seen.
    SKIPPED = "skipped"
    #: Seen, but never (or not there) written.
    GHOST_READ = "ghost read"
    #: Two nodes that each believe they are the only one.
    TWO_OWNERS = "two owners"
    #: Nothing is lost, but there is no progress.
    STUCK = "stuck"
    #: An exception that no code caught.
    BROKEN_CODE = "broken code"


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated invariant.

    :ivar checker: name of the checker that found it.
    :ivar event, time_us: the event after which it was found, and its virtual time.
    :ivar element: what to mark: some of ``node``, ``group``, ``topic``, ``queue`` (id), ``offset``, ``message`` (key).
    :ivar messages: keys of the messages concerned.
    :ivar text: the reason, per language.
    """

    checker: str
    anomaly: Anomaly
    event: int
    time_us: int
    element: Mapping[str, str | int]
    messages: tuple[str, ...]
    text: Mapping[str, str]

    def to_dict(self) -> dict[str, object]:
        """Return the violation as a JSON object."""
        return {
            "checker": self.checker,
            "anomaly": self.anomaly.value,
            "event": self.event,
            "time_us": self.time_us,
            "element": dict(self.element),
            "messages": list(self.messages),
            "text": dict(self.text),
        }
