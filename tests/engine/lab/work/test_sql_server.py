"""The lab's database: who may write, and what becomes of transactions whose client or whose last frame is gone."""

from __future__ import annotations

import asyncio

import pytest

from engine.bank.database import BankDatabase
from engine.idempotence.foundation.errors import StoreUnreachable, TransactionLost, UniqueViolation
from engine.lab.work.sql_server import IDLE_MAX_MS, LOCK_WAIT_MS, SqlServer
from engine.lab.work.store_clients import LabSqlDatabase, LabTransaction, StoreClient
from engine.lab.work.store_frames import STORE_PORT
from engine.runtime.lab.lab_runtime import LabMachines

INSERT = "INSERT INTO t (k) VALUES (:k)"


class Database:
    """One database, and clients of it."""

    def __init__(self, world: LabMachines) -> None:
        self.world = world
        self.commits = 0
        self.node = world.node("D1")
        self.server = SqlServer(self.node, "D1", BankDatabase(self.node.disk, "database/t.db"), self._count)
        self.node.run(self.server.start(self.node.identity.host_ip, STORE_PORT))
        self.first, self.second = self.client("first"), self.client("second")
        self.run(self.first.execute("CREATE TABLE t (k TEXT PRIMARY KEY)"))
        self.commits = 0

    def _count(self) -> None:
        self.commits += 1

    def client(self, name: str) -> LabSqlDatabase:
        address = f"{self.node.identity.host_ip}:{STORE_PORT}"
        return LabSqlDatabase(StoreClient(self.world.node(name), name), address)

    def open(self, name: str, number: int) -> LabTransaction:
        address = f"{self.node.identity.host_ip}:{STORE_PORT}"
        return LabTransaction(StoreClient(self.world.node(name), name), address, number)

    def run(self, work, node: str = "first"):
        return self.world.node(node).run(work)

    def keys(self) -> list[str]:
        return [row["k"] for row in self.run(self.first.execute("SELECT k FROM t ORDER BY k")).rows]


@pytest.fixture
def database():
    with LabMachines(seed=1, latency_us=1_000) as world:
        yield Database(world)


def test_what_is_not_committed_nobody_else_reads(database):
    transaction = database.open("first", 1)
    database.run(transaction.execute(INSERT, {"k": "a"}))
    assert database.keys() == []
    assert database.commits == 0
    database.run(transaction.commit())
    assert database.keys() == ["a"]
    assert database.commits == 1


def test_the_second_writer_waits_for_the_first_and_finds_its_key(database):
    async def both() -> list[str]:
        said = []

        async def insert(transaction: LabTransaction, name: str) -> None:
            try:
                await transaction.execute(INSERT, {"k": "a"})
                await asyncio.sleep(1)
                await transaction.commit()
                said.append(f"{name} committed")
            except UniqueViolation:
                said.append(f"{name} found it")

        first, second = database.open("first", 1), database.open("first", 2)
        await asyncio.gather(insert(first, "first"), insert(second, "second"))
        return said

    assert database.run(both()) == ["first committed", "second found it"]


def test_who_waits_for_too_long_is_refused_and_the_first_goes_on(database):
    first, second = database.open("first", 1), database.open("second", 1)
    database.run(first.execute(INSERT, {"k": "a"}))
    begun_us = database.world.loop.now_us
    with pytest.raises(TransactionLost, match="waited for too long"):
        database.run(second.execute(INSERT, {"k": "b"}), "second")
    assert database.world.loop.now_us - begun_us >= LOCK_WAIT_MS * 1_000
    database.run(first.commit())
    assert database.keys() == ["a"]


def test_a_client_that_dies_is_rolled_back_and_the_next_one_writes(database):
    database.run(database.open("second", 1).execute(INSERT, {"k": "a"}), "second")
    database.world.crash("second")
    database.run(database.first.execute(INSERT, {"k": "b"}))
    assert database.keys() == ["b"]


def test_a_client_that_dies_while_its_statement_is_under_way_holds_nobody_up(database):
    transaction = database.open("second", 1)
    database.run(transaction.execute(INSERT, {"k": "a"}), "second")
    node = database.world.node("second")
    database.world.loop.create_task(transaction.execute(INSERT, {"k": "b"}), name="late", node=node.node)
    # Its frame is on its way when it dies.
    database.world.run_for(0)
    database.world.crash("second")
    database.run(database.first.execute(INSERT, {"k": "c"}))
    assert database.keys() == ["c"]


def test_a_statement_that_comes_after_the_end_of_its_transaction_opens_no_other(database):
    transaction = database.open("first", 1)
    database.run(transaction.execute(INSERT, {"k": "a"}))
    database.run(transaction.roll_back())
    transaction.has_ended = False
    with pytest.raises(TransactionLost, match="has ended"):
        database.run(transaction.execute(INSERT, {"k": "b"}))
    database.run(database.second.execute(INSERT, {"k": "c"}), "second")
    assert database.keys() == ["c"]


def test_a_transaction_whose_end_was_lost_ends_by_itself(database):
    transaction = database.open("first", 1)
    database.run(transaction.execute(INSERT, {"k": "a"}))
    database.world.run_for(IDLE_MAX_MS - 100)
    assert database.server.writer is not None
    database.world.run_for(200)
    assert database.server.writer is None
    assert database.server.open == {}
    with pytest.raises(TransactionLost):
        database.run(transaction.commit())
    assert database.keys() == []


def test_a_database_that_is_gone_is_not_reachable(database):
    database.world.crash("D1")
    with pytest.raises(StoreUnreachable):
        database.run(database.first.execute("SELECT k FROM t"))
