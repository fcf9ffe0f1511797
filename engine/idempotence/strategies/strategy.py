"""The interface of a strategy: it gets one delivery of a message and its work, and ensures that the work is done
once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import ClassVar

from engine.idempotence.foundation.record import Claim
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.foundation.sql_port import SqlTransaction

#: The work: gets the open transaction if the strategy has one, else None. Raises if it has failed (``ComeAgainLater``,
#: ``AlreadyDone`` or anything else).
Work = Callable[[SqlTransaction | None], Awaitable[None]]


class DeliveryVerdict(StrEnum):
    """Outcome of a delivery."""

    FIRST = "first"
    TAKEN_OVER = "taken-over"
    #: As FIRST, but the record had another owner when the work was done.
    LATE_FINISH = "late-finish"
    #: As FIRST, but the record could not be updated: duplicates bounce until it expires, then one works again.
    NOT_MARKED = "not-marked"
    #: As FIRST, without the store (fail open).
    UNGUARDED = "unguarded"
    #: A duplicate; the work was done before.
    SWALLOWED = "swallowed"
    #: A duplicate; another attempt is in progress, or this is unknown: it is delivered again.
    BOUNCED = "bounced"
    #: The key was used for another body: it is delivered again, until it is a dead letter that an operator examines.
    DIFFERENT_BODY = "different-body"

    @property
    def is_acknowledged(self) -> bool:
        """Return whether the message may be acknowledged."""
        return self not in (DeliveryVerdict.BOUNCED, DeliveryVerdict.DIFFERENT_BODY)


class Strategy(ABC):
    """A strategy.

    :cvar name: its name as users write it.
    :cvar has_transaction: whether the work gets a transaction, and so cannot be done without the store.
    :ivar records: the store of its records; None if it keeps none in a store.
    """

    name: ClassVar[str]
    has_transaction: ClassVar[bool] = False
    records: RecordStore | None = None

    async def prepare(self) -> None:
        """Create what the strategy needs in its store."""
        if self.records is not None:
            await self.records.prepare()

    @abstractmethod
    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        """Do ``work`` or skip it. Raises what ``work`` raises, and
        :class:`~engine.idempotence.foundation.errors.IdempotenceError`: the message is delivered again then.
        """
