"""The database with a binlog: whatever dies at whatever moment, it holds what its binlog holds, and all it promised."""

from __future__ import annotations

import pytest

from engine.bank.database import BankDatabase
from engine.idempotence.foundation.errors import TransactionLost
from engine.lab.work.binlog_server import BINLOG_PATH, LOG_BYTES, BinlogSqlServer
from engine.lab.work.store_clients import LabTransaction, StoreClient
from engine.lab.work.store_frames import STORE_PORT
from engine.runtime.lab.lab_runtime import LabMachines
from engine.xa.coordinator_log import CoordinatorLog

FLUSH_MS = 10
INSERT = "INSERT INTO t (k) VALUES (:k)"


class Machine:
    """One database, whose flushes take a while, and one client of it."""

    def __init__(self, world: LabMachines) -> None:
        self.world = world
        self.number = 0
        world.node("D1").disk.storage.flush_us = FLUSH_MS * 1_000
        database = BankDatabase(world.node("D1").disk, "database/t.db")
        database.begin()
        database.execute("CREATE TABLE t (k TEXT PRIMARY KEY)")
        database.commit()
        self.start()

    def start(self) -> None:
        node = self.world.node("D1")
        database = BankDatabase(node.disk, "database/t.db")
        self.server = BinlogSqlServer(node, "D1", database, node.disk, lambda: None)
        node.run(self.server.start(node.identity.host_ip, STORE_PORT))

    async def commit(self, *keys: str) -> None:
        self.number += 1
        client = self.world.node("C1")
        address = f"{self.world.node('D1').identity.host_ip}:{STORE_PORT}"
        transaction = LabTransaction(StoreClient(client, f"application {self.number}"), address, self.number)
        for key in keys:
            await transaction.execute(INSERT, {"k": key})
        await transaction.commit()

    def stored_keys(self) -> list[str]:
        return [row["k"] for row in self.server.database.committed().query("SELECT k FROM t ORDER BY k")]

    def keys_in_binlog(self) -> list[str]:
        records = CoordinatorLog(self.world.node("D1").disk, LOG_BYTES, BINLOG_PATH).records_read
        changes = [change for record in records for change in record["changes"]]  # type: ignore[attr-defined]
        return sorted(parameters["k"] for _, parameters in changes)


@pytest.fixture
def machine():
    with LabMachines(seed=1, latency_us=1_000) as world:
        yield Machine(world)


def restarted(machine: Machine, after_ms: int, *, keep_page_cache: bool) -> list[str]:
    """Return the keys whose commit was answered before D1 died, this long after the first was begun."""
    answered: list[str] = []

    async def both() -> None:
        for keys in (("a", "b"), ("c",)):
            await machine.commit(*keys)
            answered.extend(keys)

    client = machine.world.node("C1")
    machine.world.loop.create_task(both(), name="work", node=client.node)
    machine.world.run_for(after_ms)
    machine.world.crash("D1", keep_page_cache)
    known = list(answered)
    machine.world.restart("D1")
    machine.start()
    return known


@pytest.mark.parametrize("keep_page_cache", [True, False])
def test_whenever_it_dies_it_holds_what_its_binlog_holds_and_nothing_that_was_promised_is_lost(keep_page_cache):
    seen = set()
    for after_ms in range(60):
        with LabMachines(seed=1, latency_us=1_000) as world:
            machine = Machine(world)
            answered = restarted(machine, after_ms, keep_page_cache=keep_page_cache)
            assert machine.stored_keys() == machine.keys_in_binlog()
            assert set(answered) <= set(machine.stored_keys())
            seen |= {(one.state, one.by_recovery) for one in machine.server.logged}
            machine.world.node("C1").run(machine.commit("z"))
            assert "z" in machine.stored_keys()
    assert ("rolled-back", True) in seen
    # What was written and not flushed is in the page cache, unless the power was gone.
    assert (("committed", True) in seen) is keep_page_cache


def test_a_client_that_dies_while_its_transaction_is_being_committed_is_committed(machine):
    client = machine.world.node("C1")
    machine.world.loop.create_task(machine.commit("a"), name="work", node=client.node)
    machine.world.run_for(4 + FLUSH_MS)
    assert machine.server.logged[-1].state == "prepared"
    machine.world.crash("C1")
    machine.world.run_for(3 * FLUSH_MS)
    assert (machine.stored_keys(), machine.server.writer) == (["a"], None)


def test_more_than_its_logs_can_hold_is_committed_and_a_transaction_that_is_too_large_is_refused(machine):
    client = machine.world.node("C1")
    for number in range(6):
        client.run(machine.commit(f"{number}" * (LOG_BYTES // 4)))
    with pytest.raises(TransactionLost, match="has 65536 bytes"):
        client.run(machine.commit("x" * LOG_BYTES))
    client.run(machine.commit("after"))
    assert len(machine.stored_keys()) == 7
    machine.world.crash("D1")
    machine.world.restart("D1")
    machine.start()
    assert len(machine.stored_keys()) == 7
