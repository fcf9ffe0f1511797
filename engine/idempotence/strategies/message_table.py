"""A strategy that writes the record in the transaction of the work: both are committed, or neither is.

::

    BEGIN;  INSERT the key;  the work, in this transaction;  COMMIT

If two deliveries overlap, the database lets one insert through and makes the other wait for the outcome. A process that
dies leaves nothing half done. It is the one strategy with which no schedule and no crash does the work twice. The price
is its condition: *all* of the work is statements of this transaction, in this one database. Anything else (a call of
another service, a write to Redis or to a second database) is not rolled back with it, and is done again.
"""

from __future__ import annotations

from engine.idempotence.foundation.errors import AlreadyDone, UniqueViolation
from engine.idempotence.foundation.record import DEFAULT_RETENTION_MS, Claim, IdempotenceRecord, RecordState, Taking
from engine.idempotence.foundation.sql_port import SqlDatabase
from engine.idempotence.stores.sql_record_store import SqlRecordStore, insert_record, judge
from engine.idempotence.strategies.strategy import DeliveryVerdict, Strategy, Work
from engine.runtime.step import step


class MessageTable(Strategy):
    """Record and work in one transaction. ``retention_ms``: how long a key is remembered."""

    name = "message-table"
    has_transaction = True
    records: SqlRecordStore

    def __init__(self, database: SqlDatabase, retention_ms: int = DEFAULT_RETENTION_MS) -> None:
        self.database = database
        self.records = SqlRecordStore(database)
        self.retention_ms = retention_ms

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        try:
            async with self.database.transaction() as transaction:
                await step("inserts the key")
                await insert_record(transaction, claim, RecordState.CONSUMED, claim.now_ms + self.retention_ms)
                try:
                    await work(transaction)
                except AlreadyDone:
                    return DeliveryVerdict.SWALLOWED
                await step("commits the work")
                await transaction.commit()
                return DeliveryVerdict.FIRST
        except UniqueViolation:
            record = await self.records.find(claim.key, claim.now_ms)
            if record is None:
                # The work itself has violated a constraint, or a record was freed at this moment.
                raise
            return await self._duplicate(claim, record)

    async def _duplicate(self, claim: Claim, record: IdempotenceRecord) -> DeliveryVerdict:
        taking = judge(record, claim)
        if taking is Taking.DIFFERENT_BODY:
            return DeliveryVerdict.DIFFERENT_BODY
        if taking is Taking.CONSUMED:
            return DeliveryVerdict.SWALLOWED
        if taking is not Taking.BUSY:
            # Its retention has passed: the next delivery finds no record. A record of a state table is left alone.
            await self.records.forget(record)
        return DeliveryVerdict.BOUNCED
