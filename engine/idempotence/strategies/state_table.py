"""A record with a state, and no transaction: for work that calls other services, uses several databases, takes long.

::

    take the record       FIRST, TAKEN_OVER -> work -> complete it
                                                work fails -> release it: the next delivery works
                          BUSY -> bounce: the delivery comes again later
                          CONSUMED -> swallow: acknowledge, do nothing

The record of a consumer that died, or was shut down in the middle of its work (a thread cannot be cancelled: it goes
on), stays "consuming" until its expiry; until then all deliveries bounce. So the expiry
is a bet: shorter than the work, and two are at it at once; longer than all retries together, and the message becomes a
dead letter that nobody has consumed. An owner that comes back late finds another owner's token in the record, and keeps
its hands off (``checks_owner``; the best-known Java library does not check).

What it does not give: work that has failed half-way is done again from its first step.
"""

from __future__ import annotations

import asyncio
import logging
from typing import ClassVar

from engine.client.foundation.consume_workers import is_being_cancelled
from engine.idempotence.foundation.errors import AlreadyDone, StoreUnreachable
from engine.idempotence.foundation.record import DEFAULT_RETENTION_MS, Claim, Taking
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.strategies.strategy import Verdict, Work
from engine.runtime.port import Clock

_log = logging.getLogger("glassmq.idempotence")

_WITHOUT_WORK = {
    Taking.BUSY: Verdict.BOUNCED,
    Taking.CONSUMED: Verdict.SWALLOWED,
    Taking.DIFFERENT_BODY: Verdict.DIFFERENT_BODY,
}


class StateTable:
    """:param checks_owner: False: whoever finishes or fails changes the record, whosever it is: to see what happens."""

    name: ClassVar[str] = "state-table"
    has_transaction: ClassVar[bool] = False

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

    async def prepare(self) -> None:
        """See the protocol."""
        await self.records.prepare()

    async def run(self, claim: Claim, work: Work) -> Verdict:
        """See the module."""
        try:
            taking = await self.records.take(claim)
        except (StoreUnreachable, asyncio.CancelledError):
            # It may be ours all the same, and then all would bounce off it until it expires, with nobody at work.
            await self._release(claim, claim.owner)
            raise
        if taking in _WITHOUT_WORK:
            return _WITHOUT_WORK[taking]
        owner = claim.owner if self.checks_owner else None
        try:
            await work(None)
        except AlreadyDone:
            await self._complete(claim, owner)
            return Verdict.SWALLOWED
        except (Exception, asyncio.CancelledError):
            if not is_being_cancelled():
                await self._release(claim, owner)
            raise
        is_marked = await self._complete(claim, owner)
        if is_marked is None:
            return Verdict.NOT_MARKED
        if not is_marked:
            return Verdict.LATE_FINISH
        return Verdict.TAKEN_OVER if taking is Taking.TAKEN_OVER else Verdict.FIRST

    async def _complete(self, claim: Claim, owner: str | None) -> bool | None:
        """None: the store did not answer. The work is done: to give the message back now would do it again."""
        try:
            return await self.records.complete(claim.key, owner, self._clock.now_ms(), self.retention_ms)
        except StoreUnreachable as error:
            _log.warning("%s is done, but its record could not be told: %s", claim.key.business_key, error)
            return None

    async def _release(self, claim: Claim, owner: str | None) -> None:
        try:
            await self.records.release(claim.key, owner)
        except StoreUnreachable as error:
            _log.warning("the record of %s stays until it expires: %s", claim.key.business_key, error)
