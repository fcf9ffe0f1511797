"""The tables of a bank, and the statements on them.

::

    account    name PRIMARY KEY, balance CHECK (balance >= 0)
    transfer   key PRIMARY KEY, account, amount, at_ms          a debit that was made; check-backs look it up
    credit     key PRIMARY KEY, account, amount, at_ms, times   a credit that was made: a second one is a duplicate

A debit changes ``account`` and adds a row to ``transfer`` in one transaction, so that the row exists if and only if the
money was taken; likewise for a credit. An overdraft is refused by SQLite's own CHECK.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from engine.bank.database import BankDatabase
from engine.bank.errors import DatabaseUnreadable, NoSuchAccount, NotEnoughMoney, TransferKnown
from engine.bank.transfer import Transfer

if TYPE_CHECKING:
    from sqlite_utils import Database

_POSTING = "key TEXT PRIMARY KEY, account TEXT NOT NULL, amount INTEGER NOT NULL, at_ms INTEGER NOT NULL"
#: The columns that the statements below need in an existing database.
_NEEDED = (
    "SELECT name, balance FROM account LIMIT 0",
    "SELECT key, account, amount, at_ms FROM transfer LIMIT 0",
    "SELECT key, account, amount, at_ms, times FROM credit LIMIT 0",
)
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0))",
    f"CREATE TABLE IF NOT EXISTS transfer ({_POSTING})",
    f"CREATE TABLE IF NOT EXISTS credit ({_POSTING}, times INTEGER NOT NULL)",
)


class Posting(NamedTuple):
    """A row of ``transfer`` or ``credit``. ``times``: how many times it was credited; 1 if credits are idempotent."""

    key: str
    account: str
    amount: int
    at_ms: int
    times: int


class Accounts:
    """The accounts of the bank in ``database``. ``debit`` and ``credit`` need an open transaction and leave it open."""

    def __init__(self, database: BankDatabase) -> None:
        self.database = database

    def open_account(self, name: str, balance: int) -> None:
        """Create the tables if needed, and the account unless it exists: then it keeps its balance.

        Raises what :meth:`BankDatabase.commit` raises, and :class:`DatabaseUnreadable` for a database that is not a
        bank's.
        """
        database = self.database
        database.begin()
        try:
            try:
                for statement in (*_SCHEMA, *_NEEDED):
                    database.execute(statement)
            except sqlite3.Error as error:
                raise DatabaseUnreadable(f"{database.path} is not the database of a bank: {error}") from error
            if self.balance(name) is None:
                database.execute("INSERT INTO account VALUES (?, ?)", (name, balance))
                database.commit()
        finally:
            database.rollback()

    # --- writing, in an open transaction -----------------------------------------------------------------------------

    def debit(self, transfer: Transfer, at_ms: int) -> None:
        """Take the amount from an account. Raises :class:`NoSuchAccount`, :class:`NotEnoughMoney`,
        :class:`TransferKnown`.
        """
        row = (transfer.key, transfer.from_account, transfer.amount, at_ms)
        try:
            self.database.execute("INSERT INTO transfer VALUES (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError as error:
            raise TransferKnown(f"transfer {transfer.key} was debited before") from error
        try:
            self._change(transfer.from_account, -transfer.amount)
        except sqlite3.IntegrityError as error:
            balance = self.balance(transfer.from_account)
            raise NotEnoughMoney(
                f"{transfer.from_account} has {balance}, which is less than {transfer.amount}: {error}"
            ) from error

    def credit(self, transfer: Transfer, at_ms: int) -> bool:
        """Credit the amount, once per key; return False without any effect for one that was credited before.

        Raises :class:`NoSuchAccount`.
        """
        row = (transfer.key, transfer.to_account, transfer.amount, at_ms)
        try:
            self.database.execute("INSERT INTO credit VALUES (?, ?, ?, ?, 1)", row)
        except sqlite3.IntegrityError:
            return False
        self._change(transfer.to_account, transfer.amount)
        return True

    def credit_again(self, transfer: Transfer, at_ms: int) -> None:
        """Credit the amount, even if it was credited before, like a bank that is not idempotent.

        Raises :class:`NoSuchAccount`.
        """
        self.database.execute(
            "INSERT INTO credit VALUES (?, ?, ?, ?, 1) ON CONFLICT (key) DO UPDATE SET "
            "amount = amount + excluded.amount, times = times + 1, at_ms = excluded.at_ms",
            (transfer.key, transfer.to_account, transfer.amount, at_ms),
        )
        self._change(transfer.to_account, transfer.amount)

    def _change(self, account: str, amount: int) -> None:
        changed = self.database.execute("UPDATE account SET balance = balance + ? WHERE name = ?", (amount, account))
        if not changed.rowcount:
            raise NoSuchAccount(f"there is no account {account!r}")

    # --- queries -----------------------------------------------------------------------------------------------------

    def balance(self, account: str) -> int | None:
        """Return the balance in the open transaction; None if there is no such account."""
        return _balance(self.database.tables, account)

    def committed_balance(self, account: str) -> int | None:
        """Return the balance as of the last commit."""
        return _balance(self.database.committed(), account)

    def has_transfer(self, key: str) -> bool:
        """Return whether the debit with that key is committed."""
        return bool(list(self.database.committed().query("SELECT 1 FROM transfer WHERE key = ?", (key,))))

    def newest(self, table: str, limit: int, *, committed: bool = True) -> list[Posting]:
        """Return the newest rows of ``transfer`` or ``credit``, oldest first; ``committed=False`` includes uncommitted
        ones.
        """
        assert table in ("transfer", "credit"), table
        tables = self.database.committed() if committed else self.database.tables
        times = "times" if table == "credit" else "1 AS times"
        rows = tables.query(
            f"SELECT key, account, amount, at_ms, {times} FROM {table} ORDER BY rowid DESC LIMIT ?", (limit,)
        )
        return [Posting(**row) for row in rows][::-1]

    def amounts(self, table: str) -> dict[str, int]:
        """Return key -> committed amount for all rows of ``transfer`` or ``credit``."""
        assert table in ("transfer", "credit"), table
        return {
            row["key"]: row["amount"] for row in self.database.committed().query(f"SELECT key, amount FROM {table}")
        }


def _balance(tables: Database, account: str) -> int | None:
    for row in tables.query("SELECT balance FROM account WHERE name = ?", (account,)):
        return int(row["balance"])
    return None
