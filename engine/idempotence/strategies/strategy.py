"""What a strategy is: it gets one delivery of a message and its work, and sees to it that the work is done once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import ClassVar, Protocol

from engine.idempotence.foundation.record import Claim
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.foundation.sql_port import SqlTransaction

#: The work: gets the open transaction where the strategy has one, else None. Raises to say that it has failed
#: (``ComeAgainLater``, ``AlreadyDone`` or anything else).
Work = Callable[[SqlTransaction | None], Awaitable[None]]


class Verdict(StrEnum):
    """What became of a delivery."""

    FIRST = "first"
    TAKEN_OVER = "taken-over"
    #: As FIRST, but the record had another owner when the work was done.
    LATE_FINISH = "late-finish"
    #: As FIRST, but the store could not be told: duplicates bounce until the record expires, then one works again.
    NOT_MARKED = "not-marked"
    #: As FIRST, without the store (fail open).
    UNGUARDED = "unguarded"
    #: A duplicate; the work was done before.
    SWALLOWED = "swallowed"
    #: A duplicate; somebody is at the work, or nobody can tell: it comes again.
    BOUNCED = "bounced"
    #: The key was used for another body: it comes again, until it is a dead letter that somebody looks at.
    DIFFERENT_BODY = "different-body"

    @property
    def is_acknowledged(self) -> bool:
        """Whether the message may be acknowledged."""
        return self not in (Verdict.BOUNCED, Verdict.DIFFERENT_BODY)


class Strategy(Protocol):
    """:ivar name: as users write it.

    :ivar has_transaction: whether the work gets one, and so cannot be done without the store.
    """

    name: ClassVar[str]
    has_transaction: ClassVar[bool]

    @property
    def records(self) -> RecordStore | None:
        """Where its records lie; None: it keeps none in a store."""
        ...

    async def prepare(self) -> None:
        """Make what it needs in its store."""
        ...

    async def run(self, claim: Claim, work: Work) -> Verdict:
        """Let ``work`` be done, or not. Raises what ``work`` raises, and
        :class:`~engine.idempotence.foundation.errors.IdempotenceError`: then it comes again.
        """
        ...
