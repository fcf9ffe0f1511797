"""A strategy with a record that has a state, and no transaction: for work that calls other services, uses several
databases, or takes long.

::

    take the record       FIRST, TAKEN_OVER -> work -> complete it
                                                work fails -> release it: the next delivery works
                          BUSY -> bounce: the delivery comes again later
                          CONSUMED -> swallow: acknowledge, do nothing

If a consumer dies or is shut down during its work (a thread cannot be cancelled, and continues), the record stays
"consuming" until its expiry; until then all deliveries bounce. So the expiry is a compromise: if it is shorter than the
work, two attempts overlap; if it is longer than all retries together, the message becomes a dead letter that was never
consumed. An owner that comes back late finds another owner's token in the record, and does not change it
(``checks_owner``; the best-known Java library does not check).

Limitation: work that has failed half-way is done again from its first step.
"""

from __future__ import annotations

import asyncio
import logging

from engine.client.foundation.consume_workers import is_being_cancelled
from engine.idempotence.foundation.errors import AlreadyDone, StoreUnreachable
from engine.idempotence.foundation.record import DEFAULT_RETENTION_MS, Claim, Taking
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.strategies.strategy import DeliveryVerdict, Strategy, Work
from engine.runtime.port import Clock

_log = logging.getLogger("glassmq.idempotence")

_WITHOUT_WORK = {
    Taking.BUSY: DeliveryVerdict.BOUNCED,
    Taking.CONSUMED: DeliveryVerdict.SWALLOWED,
    Taking.DIFFERENT_BODY: DeliveryVerdict.DIFFERENT_BODY,
}


class StateTable(Strategy):
    """Guard the work by a record with a state.

    :param checks_owner: False: an attempt that ends changes the record of any owner, to show the consequences.
    """

    name = "state-table"
    records: RecordStore

    def __init__(
        self,
        records: RecordStore,
        clock: Clock,
        retention_ms: int = DEFAULT_RETENTION_MS,
        *,
        checks_owner: bool = True,
    ) -> None:
        self.records = records
        self._clock = clock
        self.retention_ms = retention_ms
        self.checks_owner = checks_owner

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        try:
            taking = await self.records.take(claim)
        except (StoreUnreachable, asyncio.CancelledError):
            # The store may have given us the record nevertheless; then every delivery would bounce until it expires,
            # with no work in progress.
            await self._release(claim, claim.owner)
            raise
        if taking in _WITHOUT_WORK:
            return _WITHOUT_WORK[taking]
        owner = claim.owner if self.checks_owner else None
        try:
            await work(None)
        except AlreadyDone:
            await self._complete(claim, owner)
            return DeliveryVerdict.SWALLOWED
        except (Exception, asyncio.CancelledError):
            if not is_being_cancelled():
                await self._release(claim, owner)
            raise
        is_marked = await self._complete(claim, owner)
        if is_marked is None:
            return DeliveryVerdict.NOT_MARKED
        if not is_marked:
            return DeliveryVerdict.LATE_FINISH
        return DeliveryVerdict.TAKEN_OVER if taking is Taking.TAKEN_OVER else DeliveryVerdict.FIRST

    async def _complete(self, claim: Claim, owner: str | None) -> bool | None:
        """Mark the work as done; None if the store did not answer. The work is done: giving the message back now would
        repeat it.
        """
        try:
            return await self.records.complete(claim.key, owner, self._clock.now_ms(), self.retention_ms)
        except StoreUnreachable as error:
            _log.warning("%s is done, but its record could not be updated: %s", claim.key.business_key, error)
            return None

    async def _release(self, claim: Claim, owner: str | None) -> None:
        try:
            await self.records.release(claim.key, owner)
        except StoreUnreachable as error:
            _log.warning("the record of %s stays until it expires: %s", claim.key.business_key, error)
