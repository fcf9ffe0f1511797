"""Why the store refuses to take messages at the moment (RocketMQ: ``RunningFlags``)."""

from __future__ import annotations

from enum import Enum


class Refusal(Enum):
    """The reasons, most lasting first: the first one that applies is told to the sender."""

    NOT_RUNNING = "the store does not run"
    SLAVE = "this broker is a slave: send to its master"
    DISK_FAULT = "the disk failed to keep what was written"
    DISK_FULL = "the disk is full"
    DISK_SPACE = "the disk is fuller than allowed"


class RunningFlags:
    """A set of refusals. ``refusal`` is None while messages are welcome."""

    __slots__ = ("_details", "refusal")

    def __init__(self) -> None:
        self._details: dict[Refusal, str] = {}
        #: What to tell a sender. An attribute, because every message looks at it.
        self.refusal: str | None = None

    def refuse(self, reason: Refusal, detail: str = "") -> bool:
        """Refuse from now on. True when this reason is new."""
        is_new = reason not in self._details
        self._details[reason] = f"{reason.value}: {detail}" if detail else reason.value
        self._update()
        return is_new

    def clear(self, reason: Refusal) -> bool:
        """This reason is over. True when it applied."""
        was_set = self._details.pop(reason, None) is not None
        self._update()
        return was_set

    def applies(self, reason: Refusal) -> bool:
        """True while ``reason`` applies."""
        return reason in self._details

    def _update(self) -> None:
        self.refusal = next((self._details[reason] for reason in Refusal if reason in self._details), None)
