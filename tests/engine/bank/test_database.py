"""A bank's database: what survives, and what does not."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys

import pytest

from engine.bank.accounts import Accounts
from engine.bank.database import BankDatabase
from engine.bank.errors import CommitRefused, CommitUncertain, DatabaseClosed, DatabaseUnreadable
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.live.live_disk import LiveDisk
from engine.runtime.port import DiskFault

PATH = "bank/icbc.db"


@pytest.fixture
def world():
    with LabMachines(seed=1) as world:
        yield world


def new(world: LabMachines) -> BankDatabase:
    """A database with one table and one row, on the disk of node ICBC."""
    database = BankDatabase(world.node("ICBC").disk, PATH)
    database.begin()
    database.execute("CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER CHECK (balance >= 0))")
    database.execute("INSERT INTO account VALUES ('A', 100)")
    database.commit()
    return database


def rows(tables) -> list[tuple]:
    return [tuple(row.values()) for row in tables.query("SELECT * FROM account")]


#: Opens a bank's database, and then imports what that must not have loaded.
OPENS = """
import sys
from engine.bank.database import BankDatabase
from engine.runtime.lab.lab_runtime import LabMachines
with LabMachines(seed=1) as world:
    BankDatabase(world.node("ICBC").disk, "bank.db").close()
loaded = {"sqlite_utils", "pandas", "numpy"} & set(sys.modules)
import numpy, pandas
print(*loaded)
"""


def test_a_bank_opens_without_the_packages_of_spark_which_can_be_imported_after_it():
    for package in ("numpy", "pandas"):
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, "-c", OPENS], capture_output=True, text=True)
    assert done.stdout.split() == ["sqlite_utils"], done.stderr


def test_what_was_committed_is_there_after_a_power_cut_and_what_was_not_is_gone(world):
    database = new(world)
    database.begin()
    database.execute("UPDATE account SET balance = 40")
    assert rows(database.tables) == [("A", 40)]
    world.crash("ICBC", keep_page_cache=False)
    world.restart("ICBC")
    assert rows(BankDatabase(world.node("ICBC").disk, PATH).tables) == [("A", 100)]


def test_others_see_the_last_commit_and_nothing_of_an_open_transaction(world):
    database = new(world)
    database.begin()
    database.execute("UPDATE account SET balance = 40")
    assert database.in_transaction
    assert rows(database.committed()) == [("A", 100)]
    database.commit()
    assert rows(database.committed()) == [("A", 40)]
    assert not database.in_transaction


def test_a_rollback_undoes_everything_since_begin(world):
    database = new(world)
    database.begin()
    database.execute("UPDATE account SET balance = 40")
    database.execute("INSERT INTO account VALUES ('B', 1)")
    database.rollback()
    assert rows(database.tables) == [("A", 100)]
    assert database.commit_count == 1


def test_a_constraint_refuses_and_the_transaction_can_be_rolled_back(world):
    database = new(world)
    database.begin()
    with pytest.raises(sqlite3.IntegrityError):
        database.execute("UPDATE account SET balance = balance - 101")
    database.rollback()
    assert rows(database.tables) == [("A", 100)]


def test_a_full_disk_refuses_the_commit_which_is_rolled_back(world):
    database = new(world)
    storage = world.storages["ICBC"]
    storage.occupied_bytes = storage.capacity_bytes - storage.used_bytes
    database.begin()
    database.execute("UPDATE account SET balance = 40")
    with pytest.raises(CommitRefused, match=r"rolled back: .*disk is full"):
        database.commit()
    assert rows(database.tables) == rows(database.committed()) == [("A", 100)]
    storage.occupied_bytes = 0
    database.begin()
    database.execute("UPDATE account SET balance = 30")
    database.commit()
    assert rows(BankDatabase(world.node("ICBC").disk, PATH).tables) == [("A", 30)]


def test_after_a_disk_that_failed_in_the_middle_nobody_goes_on_as_if_he_knew(world, monkeypatch):
    database = new(world)

    def fail(path, data):
        raise DiskFault(f"cannot write {path}: input/output error")

    monkeypatch.setattr(world.node("ICBC").disk, "write_whole", fail)
    database.begin()
    with pytest.raises(CommitUncertain):
        database.commit()
    assert database.is_closed
    with pytest.raises(DatabaseClosed):
        database.begin()
    with pytest.raises(DatabaseClosed):
        database.committed()


@pytest.mark.parametrize(
    "table", ["account (name TEXT)", "transfer (key TEXT)", "credit (key TEXT, account TEXT, amount INTEGER)"]
)
def test_somebody_elses_database_is_refused_and_left_as_it_was(world, table):
    database = BankDatabase(world.node("ICBC").disk, PATH)
    database.begin()
    database.execute(f"CREATE TABLE {table}")
    database.commit()
    image = world.node("ICBC").disk.read_whole(PATH)
    with pytest.raises(DatabaseUnreadable, match=r"bank/icbc\.db is not the database of a bank: no such column"):
        Accounts(database).open_account("A", 100)
    assert not database.in_transaction
    assert world.node("ICBC").disk.read_whole(PATH) == image


def test_a_block_without_commit_is_rolled_back_and_writers_wait_for_each_other(world):
    database = new(world)
    seen: list[tuple[str, int]] = []

    async def spend(name: str, amount: int, *, commits: bool) -> None:
        async with database.transaction():
            seen.append((name, rows(database.tables)[0][1]))
            database.execute("UPDATE account SET balance = balance - ?", (amount,))
            await asyncio.sleep(1)
            if commits:
                database.commit()

    async def both() -> None:
        await asyncio.gather(spend("first", 10, commits=True), spend("second", 5, commits=False))

    world.run(both(), node="ICBC")
    assert seen == [("first", 100), ("second", 90)]
    assert rows(database.tables) == [("A", 90)]
    assert not database.lock.is_locked


def test_the_live_file_is_one_that_sqlite_itself_opens(tmp_path):
    disk = LiveDisk("icbc", tmp_path)
    database = BankDatabase(disk, "icbc.db")
    assert database.is_new
    database.begin()
    database.execute("CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER)")
    database.execute("INSERT INTO account VALUES ('A', 7)")
    database.commit()
    database.close()
    disk.close()
    with sqlite3.connect(tmp_path / "icbc.db") as plain:
        assert plain.execute("SELECT * FROM account").fetchall() == [("A", 7)]
    plain.close()


def test_a_file_that_is_no_database_is_refused(world):
    world.node("ICBC").disk.write_whole(PATH, b"this is no database" * 100)
    with pytest.raises(DatabaseUnreadable, match=r"bank/icbc\.db"):
        BankDatabase(world.node("ICBC").disk, PATH)
