"""Natural idempotence: the business's own statement carries the condition under which it may be done.

::

    UPDATE orders SET status = 'PAID' WHERE order_no = :no AND status = 'NEW'              a state condition
    UPDATE stock SET left = left - 1, version = :seen + 1 WHERE item = :i AND version = :seen       a version

No table of messages, no key: a statement that changes no row has been done before. The work looks at ``changed`` and
raises ``AlreadyDone`` (swallow) or ``ComeAgainLater`` (a version that is not there yet: bounce). It has to be written
for each piece of business, and what has no state to compare (a counter, a letter that is sent) has no such condition.
"""

from __future__ import annotations

from typing import ClassVar

from engine.idempotence.foundation.errors import AlreadyDone, ComeAgainLater
from engine.idempotence.foundation.record import Claim
from engine.idempotence.foundation.sql_port import SqlDatabase
from engine.idempotence.strategies.strategy import Verdict, Work
from engine.runtime.step import step


class ConditionalUpdate:
    """Gives the work its transaction, and takes its word."""

    name: ClassVar[str] = "state-condition"
    has_transaction: ClassVar[bool] = True
    records = None

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def prepare(self) -> None:
        """Nothing is needed."""

    async def run(self, claim: Claim, work: Work) -> Verdict:
        """See the module."""
        async with self.database.transaction() as transaction:
            try:
                await work(transaction)
            except AlreadyDone:
                return Verdict.SWALLOWED
            except ComeAgainLater:
                return Verdict.BOUNCED
            await step("commits the work")
            await transaction.commit()
            return Verdict.FIRST


class VersionCheck(ConditionalUpdate):
    """The same, with a version in place of a state."""

    name: ClassVar[str] = "version"
