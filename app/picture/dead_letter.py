"""Dead letters: the groups that have some, the messages, and what became of resending them."""

from __future__ import annotations

from typing import TypedDict

from app.picture.refusal import Refusal


class DeadLetterGroup(TypedDict):
    """A group that has or had dead letters."""

    group: str
    #: How many are kept.
    count: int
    #: Number of the oldest one; with one queue that is the queue offset.
    min: int
    #: Number of the next one to come: how many the group had before.
    max: int
    #: When the newest one was stored; None when that is not known.
    newest_us: int | None


class ResentPlace(TypedDict):
    """Where a dead letter was resent to."""

    topic: str
    queue_id: int
    queue_offset: int


class ResentAs(ResentPlace):
    """The message that a dead letter was resent as."""

    #: In the commit log.
    offset: int
    at_us: int


class DeadLetter(TypedDict):
    """A dead letter. A log is never rewritten: it stays there when it is resent."""

    queue_id: int
    queue_offset: int
    #: In the commit log.
    offset: int
    #: Offset message id: by it, it is resent.
    id: str
    unique_id: str | None
    keys: list[str]
    tags: str | None
    #: Its first one; None where that is not known.
    topic: str | None
    #: How many times it was delivered again; ``reconsume_times`` of its record is one more where the broker gave it up.
    retries: int
    #: See ``engine.broker.delivery.dead_letter.DeathCause``.
    cause: str
    #: Result of the group's last call of a listener with it. Only a lab knows it; None: it is not known.
    last_result: str | None
    born_us: int
    born_host: str
    dead_us: int
    body_preview: str
    body_bytes: int
    properties: dict[str, str]
    resent: ResentAs | None
    #: False where there is no index to find that with.
    resent_known: bool


class DeadLetterPage(TypedDict):
    """Some dead letters of a group, oldest first."""

    group: DeadLetterGroup
    #: Number of the first message.
    start: int
    messages: list[DeadLetter]


class FailedDeadLetter(Refusal):
    """A dead letter that was not resent."""

    id: str


class ResentDeadLetter(ResentPlace):
    """A dead letter that was resent."""

    id: str


class ResendReport(TypedDict):
    """What became of resending."""

    resent: list[ResentDeadLetter]
    #: How many were resent before and left alone.
    already: int
    failed: list[FailedDeadLetter]
    failed_omitted: int
    #: Number to go on from; None: done.
    next: int | None


class DeadLetterGroups(TypedDict):
    """All groups that have or had dead letters."""

    groups: list[DeadLetterGroup]
