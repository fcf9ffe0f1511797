"""Strategies that only seem to do the work once. They are here to be compared, searched and measured: do not use them.

``none``               the work, as often as the message comes
``check-then-act``     look whether it was done; if not: do it, then note it. Two at once both see "not done"
``select-for-update``  the same, with a lock on what was found: a missing row cannot be locked
``replace-into``       overwrite what is there: no error, no duplicate row, and the work is done again
``memory-set``         a set in the process: neither another process nor the next one knows it. Work that was cancelled
                       counts as under way for as long as it lives
``lease-lock``         a distributed lock around check, do, note; its lease ends while the work goes on
``setnx``              ``SET key NX`` before the work: a delivery that sets the key works, all others are dropped. While
                       the key is there, no work is done twice; work that fails or dies after it was set is never done
"""

from __future__ import annotations

import asyncio

from engine.client.foundation.consume_workers import is_being_cancelled
from engine.idempotence.foundation.errors import AlreadyDone, UnknownStrategy
from engine.idempotence.foundation.record import DEFAULT_RETENTION_MS, Claim, RecordKey, RecordState, Taking
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.foundation.sql_port import SqlDatabase, SqlSession
from engine.idempotence.stores.sql_record_store import SqlRecordStore, insert_record
from engine.idempotence.strategies.strategy import DeliveryVerdict, Strategy, Work
from engine.runtime.port import Clock
from engine.runtime.step import step

#: The order table of an application without idempotence in mind: no unique constraint.
MARKS_TABLE = (
    "CREATE TABLE IF NOT EXISTS idempotence_mark (scope VARCHAR(255) NOT NULL, business_key VARCHAR(255) NOT NULL)"
)
_FIND_MARK = "SELECT business_key FROM idempotence_mark WHERE scope = :scope AND business_key = :business_key"
_ADD_MARK = "INSERT INTO idempotence_mark (scope, business_key) VALUES (:scope, :business_key)"

#: Suffix of a scope for the record that is the lock of another record.
LOCKS = " locks"

#: Most entries of a set in memory; then the oldest is forgotten.
MEMORY_SET_MAX = 10_000


class NoStrategy(Strategy):
    """Strategy ``none``: the work is done at every delivery."""

    name = "none"

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        await work(None)
        return DeliveryVerdict.FIRST


class CheckThenAct(Strategy):
    """Strategy ``check-then-act``: check, then do the work, then note it."""

    name = "check-then-act"

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def prepare(self) -> None:
        await self.database.execute(MARKS_TABLE)

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        await step("checks whether it was done")
        if (await self.database.execute(_FIND_MARK, claim.key._asdict())).rows:
            return DeliveryVerdict.SWALLOWED
        await work(None)
        await step("notes that it is done")
        await self.database.execute(_ADD_MARK, claim.key._asdict())
        return DeliveryVerdict.FIRST


class SelectForUpdate(CheckThenAct):
    """Strategy ``select-for-update``: check, work and note in one transaction."""

    name = "select-for-update"
    has_transaction = True

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        async with self.database.transaction() as transaction:
            await step("selects the row for update")
            if await self._is_marked(transaction, claim.key):
                return DeliveryVerdict.SWALLOWED
            await work(transaction)
            await transaction.execute(_ADD_MARK, claim.key._asdict())
            await step("commits the work")
            await transaction.commit()
            return DeliveryVerdict.FIRST

    async def _is_marked(self, transaction: SqlSession, key: RecordKey) -> bool:
        # SQLite has no such clause: it locks the whole database for a writer.
        clause = "" if self.database.dialect == "sqlite" else " FOR UPDATE"
        return bool((await transaction.execute(_FIND_MARK + clause, key._asdict())).rows)


class ReplaceInto(Strategy):
    """Strategy ``replace-into``: overwrite the record. Raises :class:`UnknownStrategy` if the database has no such
    statement.
    """

    name = "replace-into"
    has_transaction = True

    def __init__(self, database: SqlDatabase) -> None:
        if database.dialect not in ("sqlite", "mariadb", "mysql"):
            raise UnknownStrategy(f"replace-into is not allowed with {database.dialect}: it has no REPLACE INTO")
        self.database = database

    async def prepare(self) -> None:
        await SqlRecordStore(self.database).prepare()

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        async with self.database.transaction() as transaction:
            await step("replaces the row")
            expires_ms = claim.now_ms + DEFAULT_RETENTION_MS
            await insert_record(transaction, claim, RecordState.CONSUMED, expires_ms, how="REPLACE")
            await work(transaction)
            await step("commits the work")
            await transaction.commit()
            return DeliveryVerdict.FIRST


class MemorySet(Strategy):
    """Strategy ``memory-set``: a set in the process."""

    name = "memory-set"

    def __init__(self) -> None:
        self._keys: dict[RecordKey, bool] = {}

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        await step("looks into the set")
        is_done = self._keys.get(claim.key)
        if is_done is not None:
            return DeliveryVerdict.SWALLOWED if is_done else DeliveryVerdict.BOUNCED
        self._keys[claim.key] = False
        if len(self._keys) > MEMORY_SET_MAX:
            del self._keys[next(iter(self._keys))]
        try:
            await work(None)
        except AlreadyDone:
            self._keys[claim.key] = True
            return DeliveryVerdict.SWALLOWED
        except (Exception, asyncio.CancelledError):
            if not is_being_cancelled():  # otherwise its thread may still work
                self._keys.pop(claim.key, None)
            raise
        self._keys[claim.key] = True
        return DeliveryVerdict.FIRST


class LeaseLock(Strategy):
    """Strategy ``lease-lock``: a distributed lock. The claim's expiry is the lease of the lock."""

    name = "lease-lock"
    records: RecordStore

    def __init__(self, records: RecordStore, clock: Clock, retention_ms: int = DEFAULT_RETENTION_MS) -> None:
        self.records = records
        self._clock = clock
        self.retention_ms = retention_ms

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        lock = claim._replace(key=RecordKey(claim.key.scope + LOCKS, claim.key.business_key), digest="")
        await step("takes the lock")
        if await self.records.take(lock) not in (Taking.FIRST, Taking.TAKEN_OVER):
            return DeliveryVerdict.BOUNCED
        try:
            verdict = await self._work_unless_done(claim, work)
        except (Exception, asyncio.CancelledError):
            if not is_being_cancelled():  # otherwise its thread may still work, and the lease has to expire
                await self._give_back(lock)
            raise
        await self._give_back(lock)
        return verdict

    async def _work_unless_done(self, claim: Claim, work: Work) -> DeliveryVerdict:
        await step("checks whether it was done")
        record = await self.records.find(claim.key, self._clock.now_ms())
        if record is not None and record.state is RecordState.CONSUMED:
            return DeliveryVerdict.SWALLOWED
        await work(None)
        await step("notes that it is done")
        await self._note(claim)
        return DeliveryVerdict.FIRST

    async def _give_back(self, lock: Claim) -> None:
        await step("gives the lock back")
        await self.records.release(lock.key, lock.owner)

    async def _note(self, claim: Claim) -> None:
        now_ms = self._clock.now_ms()
        if await self.records.take(claim._replace(now_ms=now_ms)) in (Taking.FIRST, Taking.TAKEN_OVER):
            await self.records.complete(claim.key, claim.owner, now_ms, self.retention_ms)


class SetIfAbsent(Strategy):
    """Strategy ``setnx``: a key without a state, which only says that the work was begun."""

    name = "setnx"
    records: RecordStore

    def __init__(self, records: RecordStore, retention_ms: int = DEFAULT_RETENTION_MS) -> None:
        self.records = records
        self.retention_ms = retention_ms

    async def run(self, claim: Claim, work: Work) -> DeliveryVerdict:
        taking = await self.records.take(claim._replace(expiry_ms=self.retention_ms))
        if taking not in (Taking.FIRST, Taking.TAKEN_OVER):
            return DeliveryVerdict.SWALLOWED
        await work(None)
        return DeliveryVerdict.FIRST
