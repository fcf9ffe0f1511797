"""The reasons for which the store refuses messages (RocketMQ: ``RunningFlags``)."""

from __future__ import annotations

from enum import Enum


class WriteRefusal(Enum):
    """The reasons, most lasting first: the sender gets the first one that applies."""

    NOT_RUNNING = "the store is not running"
    SLAVE = "this broker is a slave: send to its master"
    DISK_FAULT = "the disk failed to keep what was written"
    DISK_FULL = "the disk is full"
    DISK_SPACE = "the disk is fuller than allowed"


class RunningFlags:
    """A set of refusals. ``refusal`` is the sender's answer, None while messages are accepted."""

    __slots__ = ("_details", "refusal")

    def __init__(self) -> None:
        self._details: dict[WriteRefusal, str] = {}
        #: The refusal reported to senders. An attribute, because every message reads it.
        self.refusal: str | None = None

    def refuse(self, reason: WriteRefusal, detail: str = "") -> bool:
        """Refuse messages from now on. Return True if this reason is new."""
        is_new = reason not in self._details
        self._details[reason] = f"{reason.value}: {detail}" if detail else reason.value
        self._update()
        return is_new

    def clear(self, reason: WriteRefusal) -> bool:
        """Clear this reason for refusing messages. Return True if it applied."""
        was_set = self._details.pop(reason, None) is not None
        self._update()
        return was_set

    def applies(self, reason: WriteRefusal) -> bool:
        """Return True while ``reason`` applies."""
        return reason in self._details

    def _update(self) -> None:
        self.refusal = next((self._details[reason] for reason in WriteRefusal if reason in self._details), None)
