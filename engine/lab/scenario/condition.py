"""What "run until" and the breakpoints of a scenario wait for.

A condition is looked at after each event; it is met by something that happened during that event.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ConditionKind(StrEnum):
    """What can be waited for."""

    #: An event whose actor or label contains the text: ``"commits offset"``.
    LABEL = "label"
    #: A frame is sent whose name contains the text: ``PULL_MESSAGE``, ``reply to SEND_MESSAGE_V2``.
    FRAME = "frame"
    #: A producer learns how a send ended.
    SENT = "sent"
    #: A listener is called.
    CONSUME_BEGINS = "consume-begins"
    #: A listener's call ends; the text is looked for in the key and in the result.
    CONSUMED = "consumed"
    #: A node crashes, stops or starts, or any other command is applied.
    COMMAND = "command"
    #: Virtual time.
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Condition:
    """Stop after the first event that fits.

    :ivar node: only what happens on this node; empty: on any.
    :ivar contains: only where the text occurs; see the kinds. Upper and lower case count the same.
    :ivar time_us: for ``TIME``: the virtual time to stop at.
    """

    on: ConditionKind
    node: str = ""
    contains: str = ""
    time_us: int = 0

    def fits(self, node: str, *texts: str) -> bool:
        """Whether something that happened on ``node`` and is described by ``texts`` is what is waited for."""
        if self.node and node != self.node:
            return False
        wanted = self.contains.lower()
        return any(wanted in text.lower() for text in texts)
