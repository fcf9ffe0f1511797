"""Natural idempotence: the business statement itself carries the condition under which it may be executed.

::

    UPDATE orders SET status = 'PAID' WHERE order_no = :no AND status = 'NEW'              a state condition
    UPDATE stock SET left = left - 1, version = :seen + 1 WHERE item = :i AND version = :seen       a version

There is no table of messages and no key: a statement that changes no row has been executed before. The work checks
``changed`` and raises ``AlreadyDone`` (swallow) or ``ComeAgainLater`` (a version that is still in the future: bounce).
The condition has to be written for each business operation, and an operation without a state to compare (a counter, a
letter) has no such condition.
"""

from __future__ import annotations

from engine.idempotence.foundation.errors import AlreadyDone, ComeAgainLater
from engine.idempotence.foundation.record import Claim
from engine.idempotence.foundation.sql_port import SqlDatabase
from engine.idempotence.strategies.strategy import DeliveryVerdict, Strategy, Work
from engine.runtime.step import step


class ConditionalUpdate(Strategy):
    """Give the work its transaction, and rely on its own condition."""

    name = "state-condition"
    has_transaction = True

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        async with self.database.transaction() as transaction:
            try:
                await work(transaction)
            except AlreadyDone:
                return DeliveryVerdict.SWALLOWED
            except ComeAgainLater:
                return DeliveryVerdict.BOUNCED
            await step("commits the work")
            await transaction.commit()
            return DeliveryVerdict.FIRST


class VersionCheck(ConditionalUpdate):
    """A conditional update that compares a version instead of a state."""

    name = "version"
