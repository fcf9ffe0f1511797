"""Conditions for "run until" and for the breakpoints of a scenario.

A condition is evaluated after each event; it is met by something that happened during that event.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ConditionKind(StrEnum):
    """The kinds of events that a condition can wait for."""

    #: An event whose actor or label contains the text: ``"commits offset"``.
    LABEL = "label"
    #: A frame is sent whose name contains the text: ``PULL_MESSAGE``, ``reply to SEND_MESSAGE_V2``.
    FRAME = "frame"
    #: A producer receives the result of a send.
    SENT = "sent"
    #: A listener is called.
    CONSUME_BEGINS = "consume-begins"
    #: A listener's call ends; the text is searched for in the key and in the result.
    CONSUMED = "consumed"
    #: A node crashes, stops or starts, or any other command is applied.
    COMMAND = "command"
    #: Virtual time.
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that is met by the first matching event.

    :ivar node: only events on this node; empty: on any.
    :ivar contains: only where the text occurs, as the kinds describe. Case is ignored.
    :ivar time_us: for ``TIME``: the virtual time to stop at.
    """

    on: ConditionKind
    node: str = ""
    contains: str = ""
    time_us: int = 0

    def fits(self, node: str, *texts: str) -> bool:
        """Return whether an event on ``node`` that is described by ``texts`` meets the condition."""
        if self.node and node != self.node:
            return False
        wanted = self.contains.lower()
        return any(wanted in text.lower() for text in texts)
