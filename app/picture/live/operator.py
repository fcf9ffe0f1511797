"""What an operator's requests to the live broker answer."""

from __future__ import annotations

from typing import TypedDict


class CreatedTopic(TypedDict):
    """A topic that was created."""

    topic: str
    queues: int


class SentMessage(TypedDict):
    """A message that was sent, and where it is stored."""

    topic: str
    queue_id: int
    queue_offset: int
    #: Its unique id.
    id: str


class ResetQueue(TypedDict):
    """A queue of a reset."""

    queue_id: int
    #: None: the group had no offset.
    old: int | None
    new: int
    #: As read back from the broker; None where it was not read.
    stored: int | None


class OffsetReset(TypedDict):
    """The effect of a reset of a group's offsets; of a preview, what it would be."""

    #: Messages that the group gets again.
    again: int
    skipped: int
    #: Its members do it, within 10 s.
    is_online: bool
    #: Store time of the oldest message that it gets next; None without one.
    first_us: int | None
    queues: list[ResetQueue]


class RefusedReset(TypedDict):
    """A preview of a reset that would be refused."""

    #: Why, by language.
    refused: dict[str, str]


#: By the request.
OperatorAnswer = CreatedTopic | SentMessage | OffsetReset
