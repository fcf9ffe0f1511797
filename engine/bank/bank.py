"""What both banks are: accounts, the work under way, and whoever watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.bank.accounts import Accounts
from engine.bank.bank_deed import BankDeed, BankWatcher, Doing, OpenDeed, watch_nothing
from engine.bank.transfer import Transfer
from engine.runtime.port import Runtime


class Bank:
    """One process of a bank, on the database that the last one left.

    :ivar open: work under way, by a number of its own.
    """

    def __init__(self, runtime: Runtime, accounts: Accounts, watcher: BankWatcher = watch_nothing) -> None:
        self._runtime = runtime
        self.accounts = accounts
        self.open: dict[int, OpenDeed] = {}
        self._watcher = watcher
        self._count = 0

    def close(self) -> None:
        """The process ends; an open transaction is gone, and with it the work."""
        self.open.clear()
        self.accounts.database.close()

    def _begin(self, doing: Doing, transfer: Transfer) -> int:
        """Work is under way from now on; its number in ``open``."""
        self._count += 1
        self.open[self._count] = OpenDeed(doing, transfer.key, transfer.amount, self._runtime.clock.monotonic_us())
        return self._count

    @contextmanager
    def _at(self, doing: Doing, transfer: Transfer) -> Iterator[None]:
        """The block is work under way."""
        number = self._begin(doing, transfer)
        try:
            yield
        finally:
            self.open.pop(number, None)

    def _tell(self, doing: Doing, account: str, transfer: Transfer, outcome: str) -> None:
        balance = self.accounts.committed_balance(account) or 0
        self._watcher(BankDeed(doing, account, transfer.key, transfer.amount, outcome, balance))
