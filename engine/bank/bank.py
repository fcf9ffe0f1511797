"""The common base of both banks: accounts, work in progress, and its observers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.bank.accounts import Accounts
from engine.bank.bank_action import BankAction, BankWatcher, Doing, OpenAction, watch_nothing
from engine.bank.transfer import Transfer
from engine.runtime.port import Runtime


class Bank:
    """One process of a bank, using the database of the previous one.

    :ivar open: work in progress, by number.
    """

    def __init__(self, runtime: Runtime, accounts: Accounts, watcher: BankWatcher = watch_nothing) -> None:
        self._runtime = runtime
        self.accounts = accounts
        self.open: dict[int, OpenAction] = {}
        self._watcher = watcher
        self._count = 0

    def close(self) -> None:
        """End the process; an open transaction is lost together with its work."""
        self.open.clear()
        self.accounts.database.close()

    def _begin(self, doing: Doing, transfer: Transfer) -> int:
        """Record the start of work and return its number in ``open``."""
        self._count += 1
        self.open[self._count] = OpenAction(doing, transfer.key, transfer.amount, self._runtime.clock.monotonic_us())
        return self._count

    @contextmanager
    def _at(self, doing: Doing, transfer: Transfer) -> Iterator[None]:
        """Record work in progress for the duration of the block."""
        number = self._begin(doing, transfer)
        try:
            yield
        finally:
            self.open.pop(number, None)

    def _report(self, doing: Doing, account: str, transfer: Transfer, outcome: str) -> None:
        balance = self.accounts.committed_balance(account) or 0
        self._watcher(BankAction(doing, account, transfer.key, transfer.amount, outcome, balance))
