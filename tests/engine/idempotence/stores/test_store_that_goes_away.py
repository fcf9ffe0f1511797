"""A store that is missing, goes away, hangs, and comes back: reported within seconds, and forgotten."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from pathlib import Path

import pytest

from app.databases.real_servers import MariaDbServer, PostgreSqlServer, RealRedisServer, RealServer
from engine.idempotence.foundation.errors import StoreUnreachable
from engine.idempotence.foundation.record import Claim, RecordKey, Taking
from engine.idempotence.foundation.sql_port import SqlDatabase
from engine.idempotence.stores.embedded_sqlite import EmbeddedSqlite
from engine.idempotence.stores.sql_record_store import SqlRecordStore
from engine.idempotence.stores.store_address import open_store
from tests.support.frozen import wait_until_frozen
from tests.support.idempotence.store_kinds import RealServers

CLAIM = Claim(RecordKey("shop", "order-1"), "owner-1", "digest", "message-1", now_ms=1_000, expiry_ms=60_000)
SERVERS = [RealRedisServer, PostgreSqlServer, MariaDbServer]
#: Of every store: a server that has just been started answers within it on a busy machine, too.
TIMEOUT_MS = 3_000
#: Far above three of them.
SOON_S = 30


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.package)
def test_a_server_that_is_killed_is_reported_soon_and_serves_again_when_it_is_back(
    server: type[RealServer], real_servers: RealServers
):
    async def check(running: RealServer) -> None:
        async with open_store(running.url, timeout_ms=TIMEOUT_MS) as store:
            await store.records.prepare()
            assert await store.records.take(CLAIM) is Taking.FIRST
            running.kill()
            async with asyncio.timeout(SOON_S):
                for _ in range(3):
                    with pytest.raises(StoreUnreachable):
                        await store.records.take(CLAIM._replace(owner="owner-2"))
            running.start()
            # Redis has forgotten it, and lets a duplicate through.
            forgets = server is RealRedisServer
            taking = await store.records.take(CLAIM._replace(owner="owner-3"))
            assert taking is (Taking.FIRST if forgets else Taking.BUSY)

    with real_servers.start(server) as running:
        asyncio.run(check(running))


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.package)
def test_a_server_that_answers_no_more_is_reported_soon_and_its_late_answers_harm_nobody(
    server: type[RealServer], real_servers: RealServers
):
    async def check(running: RealServer) -> None:
        async with open_store(running.url, timeout_ms=TIMEOUT_MS) as store:
            await store.records.prepare()
            running.signal(signal.SIGSTOP)
            wait_until_frozen(*running.process_ids())
            async with asyncio.timeout(SOON_S):
                with pytest.raises(StoreUnreachable):
                    await store.records.take(CLAIM)
            running.signal(signal.SIGCONT)
            for number in range(30):
                claim = CLAIM._replace(key=RecordKey("shop", f"order-{number + 2}"))
                assert await store.records.take(claim) is Taking.FIRST
                record = await store.records.find(claim.key, 1_000)
                assert record is not None and record.key == claim.key, "an answer to another question"

    with real_servers.start(server) as running:
        asyncio.run(check(running))


@pytest.mark.parametrize("server", [PostgreSqlServer, MariaDbServer], ids=lambda server: server.package)
def test_a_server_that_dies_within_a_transaction_ends_it_and_leaves_nothing(
    server: type[RealServer], real_servers: RealServers
):
    async def work(running: RealServer, database: SqlDatabase) -> None:
        async with database.transaction() as transaction:
            await transaction.execute("INSERT INTO orders (no) VALUES (1)")
            running.kill()
            await transaction.commit()

    async def check(running: RealServer) -> None:
        async with open_store(running.url, timeout_ms=TIMEOUT_MS) as store:
            assert store.database is not None
            await store.database.execute("CREATE TABLE orders (no INTEGER PRIMARY KEY)")
            async with asyncio.timeout(SOON_S):
                with pytest.raises(StoreUnreachable):
                    await work(running, store.database)
            running.start()
            assert (await store.database.execute("SELECT no FROM orders")).rows == ()

    with real_servers.start(server) as running:
        asyncio.run(check(running))


@pytest.mark.parametrize("scheme", ["sqlite:", "sqlite+pysqlite:///"])
def test_a_file_that_cannot_be_one_of_sqlite_is_named(scheme: str, tmp_path: Path):
    (tmp_path / "letter.txt").write_text(
        "Dear reader, this is a letter and no database, although it is long enough.\n" * 50
    )

    async def check() -> None:
        for path in ("no/such/folder/orders.db", "letter.txt"):
            async with open_store(f"{scheme}{tmp_path}/{path}") as store:
                with pytest.raises(StoreUnreachable, match=path):
                    await store.records.prepare()

    asyncio.run(check())


def test_a_file_that_another_process_keeps_locked_is_reported_and_serves_when_it_is_let_go(tmp_path: Path):
    async def check() -> None:
        async with open_store(f"sqlite:{tmp_path}/orders.db", timeout_ms=50) as store:
            await store.records.prepare()
            other = sqlite3.connect(tmp_path / "orders.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnreachable, match="locked"):
                await store.records.take(CLAIM)
            other.execute("ROLLBACK")
            assert await store.records.take(CLAIM) is Taking.FIRST
            other.close()

    asyncio.run(check())


def test_who_waits_too_long_for_a_transaction_of_the_same_process_is_reported(tmp_path: Path):
    async def check() -> None:
        database = EmbeddedSqlite(f"{tmp_path}/orders.db", turn_timeout_ms=50)
        records = SqlRecordStore(database)
        await records.prepare()
        async with database.transaction():
            other = asyncio.create_task(records.take(CLAIM))
            with pytest.raises(StoreUnreachable, match="waited 50 ms for another transaction of this process"):
                await other
        assert await records.take(CLAIM) is Taking.FIRST
        await database.close()

    asyncio.run(check())


def test_a_transaction_of_the_same_process_is_waited_for_longer_than_the_lock_of_another_one(tmp_path: Path):
    async def check() -> None:
        async with open_store(f"sqlite:{tmp_path}/orders.db", timeout_ms=1) as store:
            await store.records.prepare()
            async with store.require_database().transaction():
                other = asyncio.create_task(store.records.take(CLAIM))
                _, waiting = await asyncio.wait((other,), timeout=0.1)
                assert waiting
            assert await other is Taking.FIRST

    asyncio.run(check())


@pytest.mark.parametrize("scheme", ["sqlite:", "sqlite+pysqlite:///"])
def test_a_store_that_was_closed_says_so(scheme: str, tmp_path: Path):
    async def check() -> None:
        store = open_store(f"{scheme}{tmp_path}/orders.db")
        await store.records.prepare()
        await store.close()
        await store.close()
        with pytest.raises(StoreUnreachable, match="is closed"):
            await store.records.take(CLAIM)

    asyncio.run(check())


def test_what_was_committed_to_sqlite_is_there_for_the_next_process(tmp_path: Path):
    async def check(owner: str) -> Taking:
        async with open_store(f"sqlite:{tmp_path}/orders.db") as store:
            await store.records.prepare()
            return await store.records.take(CLAIM._replace(owner=owner))

    assert [asyncio.run(check(owner)) for owner in ("owner-1", "owner-2")] == [Taking.FIRST, Taking.BUSY]
