"""Ledgers as ``glassmq bank`` keeps them, without a bank."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.support.pipeline.transaction_log import START

START_MS = int(START.timestamp() * 1_000)


def make_bank(path, account, balance, debits=(), credited=()):
    """``debits`` and ``credited``: (key, amount, ms after START)."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER)")
        database.execute("INSERT INTO account VALUES (?, ?)", (account, balance))
        for table, rows in (("transfer", debits), ("credit", credited)):
            columns = "key TEXT PRIMARY KEY, account TEXT, amount INTEGER, at_ms INTEGER, times INTEGER"
            database.execute(f"CREATE TABLE {table} ({columns})")
            for row in rows:
                add_posting(database, table, account, row)


def make_banks(folder, paying, receiving, debits=(), credited=()):
    """Both ledgers of accounts with these balances."""
    make_bank(folder / "icbc.db", "A", paying, debits)
    make_bank(folder / "ccb.db", "B", receiving, credited=credited)


def add_posting(database, table, account, row):
    """One more row of ``transfer`` or ``credit``: (key, amount, ms after START)."""
    key, amount, ms = row
    database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?, 1)", (key, account, amount, START_MS + ms))


def post(path, table, account, *rows):
    """The same, in a bank at work: committed."""
    with closing(sqlite3.connect(path)) as database, database:
        for row in rows:
            add_posting(database, table, account, row)
