"""The receiving bank, which credits an account for each message.

A message may arrive twice: after a consumer crashed between its commit and its acknowledgement, after a rebalance,
after a second END_TRANSACTION (which RocketMQ's broker commits again). So credit and key are written to the database in
one transaction, and a key that exists already is a duplicate: it is acknowledged without any effect.
"""

from __future__ import annotations

import asyncio

from engine.bank.accounts import Accounts
from engine.bank.bank import Bank
from engine.bank.bank_action import COMMITTED, DUPLICATE, BankWatcher, Doing, watch_nothing
from engine.bank.errors import BankError, CommitUncertain, DatabaseClosed
from engine.bank.transfer import Transfer
from engine.protocol.message.message import MessageExt
from engine.runtime.port import Runtime
from engine.runtime.step import step


class ReceivingBank(Bank):
    """The receiving bank.

    :ivar idempotent: False: it credits every copy of a message. May be changed while it runs.
    :ivar duration_ms: how long a local transaction stays open.
    :ivar duplicates_ignored: how many duplicates this process has ignored.
    """

    def __init__(
        self, runtime: Runtime, accounts: Accounts, duration_ms: int = 0, watcher: BankWatcher = watch_nothing
    ) -> None:
        super().__init__(runtime, accounts, watcher)
        self.idempotent = True
        self.duration_ms = duration_ms
        self.duplicates_ignored = 0

    async def receive(self, message: MessageExt) -> None:
        """Credit the transfer in ``message``; when this returns, the message may be acknowledged.

        Raises :class:`~engine.bank.errors.BankError`: it must be delivered again.
        """
        transfer = Transfer.of(message)
        account = transfer.to_account
        try:
            with self._at(Doing.CREDIT, transfer):
                is_credited = await self._credit(transfer)
        except (CommitUncertain, DatabaseClosed):
            raise
        except BankError as error:
            self._report(Doing.CREDIT, account, transfer, error.reason)
            raise
        if not is_credited:
            self.duplicates_ignored += 1
        self._report(Doing.CREDIT, account, transfer, COMMITTED if is_credited else DUPLICATE)

    async def _credit(self, transfer: Transfer) -> bool:
        database, at_ms = self.accounts.database, self._runtime.clock.now_ms()
        async with database.transaction():
            await step("credits the account")
            if not self.idempotent:
                self.accounts.credit_again(transfer, at_ms)
            elif not self.accounts.credit(transfer, at_ms):
                return False
            await asyncio.sleep(self.duration_ms / 1_000)
            await step("commits the credit")
            database.commit()
        return True
