"""The bank of a resource manager: its accounts and its promises about them.

::

    branch   xid PRIMARY KEY, key, from_account, to_account, amount, doing, state, at_ms

There is one row per branch that voted yes; ``state`` is its current state. A real database keeps a prepared transaction
and its locks in its own log. Here the promise is the row: what the branch will post, durable before the vote. The
balance changes when the branch is committed, so readers see the old one until then.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.bank.accounts import Accounts
from engine.bank.bank import Bank
from engine.bank.bank_action import PREPARED, BankWatcher, Doing, watch_nothing
from engine.bank.database import BankDatabase
from engine.bank.errors import BankError
from engine.bank.transfer import Transfer
from engine.runtime.port import Runtime
from engine.xa.states import BranchState

_SCHEMA = """CREATE TABLE IF NOT EXISTS branch (xid TEXT PRIMARY KEY, key TEXT NOT NULL, from_account TEXT NOT NULL,
             to_account TEXT NOT NULL, amount INTEGER NOT NULL, doing TEXT NOT NULL, state TEXT NOT NULL,
             at_ms INTEGER NOT NULL)"""


class BranchWork(NamedTuple):
    """One half of a transfer. ``doing`` is ``DEBIT`` or ``CREDIT``."""

    xid: str
    doing: Doing
    transfer: Transfer

    @property
    def account(self) -> str:
        """Return the account that the work changes."""
        return self.transfer.from_account if self.doing is Doing.DEBIT else self.transfer.to_account


class BranchBank(Bank):
    """A bank with branches. Each method is one transaction of the database, without an await inside. Raises
    ``BankError``.
    """

    def __init__(self, runtime: Runtime, accounts: Accounts, watcher: BankWatcher = watch_nothing) -> None:
        super().__init__(runtime, accounts, watcher)
        self._database = accounts.database
        self._database.begin()
        self._database.execute(_SCHEMA)
        self._database.commit()
        #: xid -> number of the work in progress in ``open``.
        self._numbers: dict[str, int] = {}

    def at_work(self, work: BranchWork) -> None:
        """Record the start of a branch: from now on it is shown as work in progress."""
        if work.xid not in self._numbers:
            self._numbers[work.xid] = self._begin(work.doing, work.transfer)

    def done_with(self, work: BranchWork, outcome: str) -> None:
        """Record the end of a branch; ``outcome`` as in :class:`~engine.bank.bank_action.BankAction`."""
        self.open.pop(self._numbers.pop(work.xid, 0), None)
        self._report(work.doing, work.account, work.transfer, outcome)

    def prepare(self, work: BranchWork, at_ms: int) -> str:
        """Try ``work``, undo it, and record durably that it will be done. Return why that failed; "" if it is
        promised.
        """
        database, transfer = self._database, work.transfer
        row = (work.xid, transfer.key, transfer.from_account, transfer.to_account, transfer.amount, work.doing.value)
        try:
            database.begin()
            database.execute("SAVEPOINT trial")
            self._post(work, at_ms)
            database.execute("ROLLBACK TO trial")
            values = (*row, BranchState.PREPARED.value, at_ms)
            database.execute("INSERT INTO branch VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            database.commit()
        except BankError as error:
            return str(error)
        finally:
            database.rollback()
        self._report(work.doing, work.account, transfer, PREPARED)
        return ""

    def commit(self, work: BranchWork, at_ms: int) -> None:
        """Post the promised work. Raises if the disk refuses it; then it is still promised."""
        self._end(work, BranchState.COMMITTED, at_ms)

    def roll_back(self, work: BranchWork, at_ms: int) -> None:
        """Withdraw the promise. Raises if the disk refuses it; then it is still promised."""
        self._end(work, BranchState.ROLLED_BACK, at_ms)

    def _end(self, work: BranchWork, state: BranchState, at_ms: int) -> None:
        database = self._database
        try:
            database.begin()
            if state is BranchState.COMMITTED:
                self._post(work, at_ms)
            parameters = (state.value, at_ms, work.xid)
            database.execute("UPDATE branch SET state = ?, at_ms = ? WHERE xid = ?", parameters)
            database.commit()
        finally:
            database.rollback()

    def _post(self, work: BranchWork, at_ms: int) -> None:
        if work.doing is Doing.DEBIT:
            self.accounts.debit(work.transfer, at_ms)
        elif not self.accounts.credit(work.transfer, at_ms):
            raise BankError(f"transfer {work.transfer.key} was credited before")

    # --- queries -----------------------------------------------------------------------------------------------------

    def branches(self, state: BranchState) -> list[BranchWork]:
        """Return the branches in ``state``, in the order of their votes."""
        rows = self._database.committed().query("SELECT * FROM branch WHERE state = ? ORDER BY rowid", (state.value,))
        return [
            BranchWork(
                row["xid"],
                Doing(row["doing"]),
                Transfer(row["key"], row["from_account"], row["to_account"], row["amount"]),
            )
            for row in rows
        ]

    @staticmethod
    def has_promise(database: BankDatabase, key: str) -> bool:
        """Return whether a branch of the transfer ``key`` is in doubt in ``database``, which may not belong to a
        process now.
        """
        sql = "SELECT 1 FROM branch WHERE key = ? AND state = ?"
        if "branch" not in database.committed().table_names():
            return False
        return bool(list(database.committed().query(sql, (key, BranchState.PREPARED.value))))

    def state_of(self, xid: str) -> BranchState | None:
        """Return the state of the promise, or None."""
        for row in self._database.committed().query("SELECT state FROM branch WHERE xid = ?", (xid,)):
            return BranchState(row["state"])
        return None
