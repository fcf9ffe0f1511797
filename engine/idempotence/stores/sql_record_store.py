"""A record store in a table of a relational database.

::

    idempotence_record   scope, business_key PRIMARY KEY, state, owner, digest, message_id, taken_ms, expires_ms
    idempotence_schema   version

The primary key decides which attempt takes a key: of two inserts one fails. An attempt that takes over an expired
record, completes or releases one, uses an UPDATE or DELETE that names the owner it has seen: the database lets only one
of two such statements through. So no statement needs a transaction around it, and no lock is held during the work.

Expiry is judged by the consumers' clocks: a consumer whose clock is ahead by more than the expiry takes over live
records.

The message table of :mod:`engine.idempotence.strategies.message_table` is the same table, written in the transaction of
the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.idempotence.foundation.errors import (
    IdempotenceError,
    SchemaOutdated,
    StoreUnreachable,
    TransactionLost,
    UniqueViolation,
)
from engine.idempotence.foundation.record import Claim, IdempotenceRecord, RecordKey, RecordState, Taking
from engine.idempotence.foundation.sql_port import SqlDatabase, SqlResult, SqlSession, SqlValue
from engine.runtime.step import step

#: Version of the tables below; changes with them.
SCHEMA_VERSION = 1
#: How often a claim is retried when a record changes in between.
TAKE_TRIES = 3
#: How often a statement that the database has rolled back is sent again.
LOST_TRIES = 3

#: Dialect -> type of a text of N characters that is compared byte by byte. MariaDB's default collation takes "Order-1"
#: and "order-1 " for one key: a message would be swallowed as another's duplicate.
_TEXT_TYPES: Mapping[str, str] = {
    "mariadb": "VARCHAR({n}) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
    "mysql": "VARCHAR({n}) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin",
}
#: Deletes a record of any owner; its parameters are a :class:`RecordKey`.
FREE = "DELETE FROM idempotence_record WHERE scope = :scope AND business_key = :business_key"
_COLUMNS = "scope, business_key, state, owner, digest, message_id, taken_ms, expires_ms"
#: Fails if a table or a column is missing.
_VERSIONS = (
    f"SELECT version FROM idempotence_schema WHERE NOT EXISTS (SELECT {_COLUMNS} FROM idempotence_record WHERE 1 = 0)"
)


def create_statements(dialect: str) -> tuple[str, ...]:
    """Return the statements that create missing tables."""
    text = _TEXT_TYPES.get(dialect, "VARCHAR({n})")
    short, long = text.format(n=40), text.format(n=255)
    return (
        "CREATE TABLE IF NOT EXISTS idempotence_schema (version INTEGER PRIMARY KEY)",
        (
            f"CREATE TABLE IF NOT EXISTS idempotence_record (scope {long} NOT NULL, business_key {long} NOT NULL, "
            f"state {short} NOT NULL, owner {long} NOT NULL, digest {short} NOT NULL, message_id {long} NOT NULL, "
            "taken_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, PRIMARY KEY (scope, business_key))"
        ),
    )


class SqlRecordStore:
    """A :class:`~engine.idempotence.foundation.record_store.RecordStore` in a relational database.

    :ivar database: the database with the table.
    """

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database
        self._session = _Persistent(database)

    async def prepare(self) -> None:
        await self.database.execute("SELECT 1")  # the dialect is known once the database was connected to
        for statement in create_statements(self.database.dialect):
            try:
                await self.database.execute(statement)
            except UniqueViolation:
                pass  # PostgreSQL, when another process creates it at this moment
        if not await self.check():
            try:
                statement = "INSERT INTO idempotence_schema (version) VALUES (:version)"
                await self.database.execute(statement, {"version": SCHEMA_VERSION})
            except UniqueViolation:
                pass  # another process prepares it, too

    async def check(self) -> bool:
        """Return whether the tables were fully prepared. Raises :class:`SchemaOutdated`, also if they are missing."""
        try:
            found = await self.database.execute(_VERSIONS)
        except IdempotenceError:
            raise
        except Exception as error:  # each database has its own error for a missing table or column
            raise SchemaOutdated(
                "the table idempotence_record or idempotence_schema is missing, because no idempotent consumer has "
                "used this database yet, or it is another version's or somebody else's, and you need another database: "
                f"{str(error).partition(chr(10))[0]}"
            ) from error
        versions = [row["version"] for row in found.rows]
        if versions not in ([], [SCHEMA_VERSION]):
            raise SchemaOutdated(
                f"the table idempotence_record has schema version {versions}, this is for version {SCHEMA_VERSION}: "
                "drop idempotence_record and idempotence_schema when no consumer runs, or name another database"
            )
        return bool(versions)

    # --- the state table ---------------------------------------------------------------------------------------------

    async def take(self, claim: Claim) -> Taking:
        for _ in range(TAKE_TRIES):
            await step("inserts the record")
            try:
                await insert_record(self._session, claim, RecordState.CONSUMING, claim.now_ms + claim.expiry_ms)
            except UniqueViolation:
                await step("looks at the record")
            else:
                return Taking.FIRST
            record = await find_record(self._session, claim.key)
            if record is None:
                continue  # it was released at this moment
            taking = judge(record, claim)
            if taking not in (Taking.FIRST, Taking.TAKEN_OVER) or await self._take_over(record, claim):
                return taking
        return Taking.BUSY

    async def _take_over(self, record: IdempotenceRecord, claim: Claim) -> bool:
        await step("takes the record over")
        result = await self._session.execute(
            "UPDATE idempotence_record SET state = 'consuming', owner = :owner, digest = :digest, "
            "message_id = :message_id, taken_ms = :taken_ms, expires_ms = :expires_ms WHERE scope = :scope "
            "AND business_key = :business_key AND owner = :owner_before AND expires_ms = :expired_ms",
            {
                **_row(claim, RecordState.CONSUMING, claim.now_ms + claim.expiry_ms),
                "owner_before": record.owner,
                "expired_ms": record.expires_ms,
            },
        )
        return result.changed > 0

    async def complete(self, key: RecordKey, owner: str | None, now_ms: int, retention_ms: int) -> bool:
        of_owner, parameters = _of_owner(key, owner)
        await step("marks the record consumed")
        result = await self._session.execute(
            "UPDATE idempotence_record SET state = 'consumed', expires_ms = :expires_ms "
            f"WHERE scope = :scope AND business_key = :business_key{of_owner}",
            parameters | {"expires_ms": now_ms + retention_ms},
        )
        return result.changed > 0

    async def release(self, key: RecordKey, owner: str | None) -> bool:
        of_owner, parameters = _of_owner(key, owner)
        await step("deletes the record")
        result = await self._session.execute(
            "DELETE FROM idempotence_record WHERE scope = :scope AND business_key = :business_key "
            f"AND state = 'consuming'{of_owner}",
            parameters,
        )
        return result.changed > 0

    # --- queries and manual actions ----------------------------------------------------------------------------------

    async def find(self, key: RecordKey, now_ms: int) -> IdempotenceRecord | None:
        return await find_record(self._session, key)

    async def newest(self, scope: str | None, limit: int) -> list[IdempotenceRecord]:
        where = "" if scope is None else "WHERE scope = :scope "
        result = await self._session.execute(
            f"SELECT {_COLUMNS} FROM idempotence_record {where}ORDER BY taken_ms DESC, business_key LIMIT {int(limit)}",
            {} if scope is None else {"scope": scope},
        )
        return [_record(row) for row in result.rows]

    async def purge(self, now_ms: int) -> int:
        result = await self._session.execute(
            "DELETE FROM idempotence_record WHERE state = 'consumed' AND expires_ms <= :now_ms", {"now_ms": now_ms}
        )
        return result.changed

    async def forget(self, record: IdempotenceRecord) -> None:
        """Delete this exact record: one that another attempt has written in its place stays."""
        await self._session.execute(
            "DELETE FROM idempotence_record WHERE scope = :scope AND business_key = :business_key "
            "AND owner = :owner AND expires_ms = :expires_ms",
            {**record.key._asdict(), "owner": record.owner, "expires_ms": record.expires_ms},
        )

    async def free(self, key: RecordKey) -> bool:
        result = await self._session.execute(FREE, key._asdict())
        return result.changed > 0


class _Persistent:
    """A session whose statements are transactions of their own: a statement that was rolled back is sent again."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        """Execute a statement; never raises :class:`TransactionLost`."""
        tries = 0
        while True:
            try:
                return await self._database.execute(statement, parameters)
            except TransactionLost as error:
                tries += 1
                if tries == LOST_TRIES:
                    raise StoreUnreachable(f"the database has rolled back {tries} times: {error}") from error


# --- statements that the message table shares ----------------------------------------------------------------------


async def insert_record(on: SqlSession, claim: Claim, state: RecordState, expires_ms: int, how: str = "INSERT") -> None:
    """Insert a record. Raises :class:`UniqueViolation` if there is one already."""
    columns = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
    await on.execute(f"{how} INTO idempotence_record ({_COLUMNS}) VALUES ({columns})", _row(claim, state, expires_ms))


async def find_record(on: SqlSession, key: RecordKey) -> IdempotenceRecord | None:
    """Return the record as it is committed, or as the open transaction sees it."""
    result = await on.execute(
        f"SELECT {_COLUMNS} FROM idempotence_record WHERE scope = :scope AND business_key = :business_key",
        key._asdict(),
    )
    return _record(result.rows[0]) if result.rows else None


def judge(record: IdempotenceRecord, claim: Claim) -> Taking:
    """Return what ``record`` means for an attempt that claims its key."""
    if record.owner == claim.owner and record.state is RecordState.CONSUMING:
        return Taking.FIRST  # the answer was lost, and the claim was sent again
    if record.expires_ms <= claim.now_ms:
        # A record beyond its retention counts as if it had never existed.
        return Taking.TAKEN_OVER if record.state is RecordState.CONSUMING else Taking.FIRST
    if record.digest and claim.digest and record.digest != claim.digest:
        return Taking.DIFFERENT_BODY
    return Taking.BUSY if record.state is RecordState.CONSUMING else Taking.CONSUMED


def _row(claim: Claim, state: RecordState, expires_ms: int) -> dict[str, SqlValue]:
    return {
        **claim.key._asdict(),
        "state": state.value,
        "owner": claim.owner,
        "digest": claim.digest,
        "message_id": claim.message_id,
        "taken_ms": claim.now_ms,
        "expires_ms": expires_ms,
    }


def _record(row: Mapping[str, Any]) -> IdempotenceRecord:
    if row["state"] not in tuple(RecordState):
        raise SchemaOutdated(f"the record of {row['business_key']} is {row['state']}, which this version does not know")
    return IdempotenceRecord(
        RecordKey(row["scope"], row["business_key"]),
        RecordState(row["state"]),
        row["owner"],
        row["digest"],
        row["message_id"],
        int(row["taken_ms"]),
        int(row["expires_ms"]),
    )


def _of_owner(key: RecordKey, owner: str | None) -> tuple[str, dict[str, SqlValue]]:
    parameters: dict[str, SqlValue] = {**key._asdict()}
    return ("", parameters) if owner is None else (" AND owner = :owner", {**parameters, "owner": owner})
