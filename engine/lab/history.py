"""What the clients of a world saw: the material of checkers, breakpoints and pictures.

Clients see less than the world does: whether a send whose answer was lost is stored, its producer does not know. What
a checker may demand follows from what a client was told, so it starts here.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.lab.command import Command


class SendInvoked(NamedTuple):
    """A producer begins to send a message."""

    event: int
    time_us: int
    node: str
    key: str
    topic: str


class SendReturned(NamedTuple):
    """A producer learns how that ended.

    ``status``: ``ok``: the broker has it; ``refused``: it certainly has not; ``unknown``: it may have it. ``detail`` is
    the send status (``SEND_OK``, ``FLUSH_DISK_TIMEOUT``: stored, but perhaps not on the disk yet), or the error.
    Queue and offset are -1 unless ``ok``.
    """

    event: int
    time_us: int
    node: str
    key: str
    status: str
    topic: str
    queue_id: int
    queue_offset: int
    offset_message_id: str
    broker: str
    detail: str


class ConsumeBegan(NamedTuple):
    """A listener gets a message. ``topic`` is where it was pulled from: the retry topic for a redelivery."""

    event: int
    time_us: int
    node: str
    group: str
    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    key: str
    reconsume_times: int


class ConsumeEnded(NamedTuple):
    """A listener is done with a message; ``result`` is ``success``, ``later`` or ``throws``."""

    event: int
    time_us: int
    node: str
    group: str
    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    key: str
    reconsume_times: int
    result: str


class LocalTransactionEnded(NamedTuple):
    """A transaction listener has answered.

    ``check``: 0: it executed the local transaction; n: it answered the nth check-back. ``result``: ``commit``,
    ``rollback``, ``unknown`` or ``throws``; the broker may never hear of it.
    """

    event: int
    time_us: int
    node: str
    group: str
    key: str
    check: int
    result: str


class CommandApplied(NamedTuple):
    """Somebody outside the world did something to it, right after event ``event``."""

    event: int
    time_us: int
    command: Command


class LabHistory:
    """Append-only lists, each in the order of events."""

    def __init__(self) -> None:
        self.sends_invoked: list[SendInvoked] = []
        self.sends_returned: list[SendReturned] = []
        self.consumes_began: list[ConsumeBegan] = []
        self.consumes_ended: list[ConsumeEnded] = []
        self.transactions_ended: list[LocalTransactionEnded] = []
        self.commands: list[CommandApplied] = []
