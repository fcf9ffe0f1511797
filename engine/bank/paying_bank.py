"""The bank that pays: a local transaction debits the account, a message asks the other bank for the credit.

The order of the two, and how they are connected, decides about consistency::

    transaction        half message, debit, END_TRANSACTION   consistent in the end, whatever crashes in between
    send-then-debit    message, debit                         the debit fails: money was created at the other bank
    debit-then-send    debit, message                         the message fails: the money is lost

RocketMQ: what users implement as a ``TransactionListener`` around their own database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum

from engine.bank.accounts import Accounts
from engine.bank.bank import Bank
from engine.bank.bank_action import COMMITTED, BankWatcher, Doing, watch_nothing
from engine.bank.errors import BankError, CommitUncertain, DatabaseClosed
from engine.bank.transfer import Transfer
from engine.client.callbacks.send_result import SendResult, SendStatus
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.protocol.message.message import Message, MessageExt
from engine.runtime.port import Runtime
from engine.runtime.step import step

#: The answers to a check, as words.
_ANSWERS = {
    LocalTransactionState.COMMIT_MESSAGE: "commit",
    LocalTransactionState.ROLLBACK_MESSAGE: "rollback",
    LocalTransactionState.UNKNOW: "unknown",
}


class TransferVariant(StrEnum):
    """The order of debit and message."""

    TRANSACTION = "transaction"
    SEND_THEN_DEBIT = "send-then-debit"
    DEBIT_THEN_SEND = "debit-then-send"


class PayingBank(Bank):
    """The paying bank, which is also the transaction listener.

    :param duration_ms: how long a local transaction stays open, for everything else that such a transaction does.
    :param check_duration_ms: how long a lookup takes.
    :ivar paying: transfers in progress in this process, from before they are sent until they have ended, by key.
    """

    def __init__(
        self,
        runtime: Runtime,
        accounts: Accounts,
        way: TransferVariant = TransferVariant.TRANSACTION,
        duration_ms: int = 0,
        check_duration_ms: int = 0,
        watcher: BankWatcher = watch_nothing,
    ) -> None:
        super().__init__(runtime, accounts, watcher)
        self.way = way
        self.duration_ms = duration_ms
        self.check_duration_ms = check_duration_ms
        self.paying: dict[str, Transfer] = {}

    async def pay(self, transfer: Transfer, send: Callable[[], Awaitable[SendResult | None]]) -> None:
        """Carry out ``transfer`` in the bank's order of steps.

        ``send`` sends its message, in a transaction if the bank uses one, with this bank as the listener. It returns
        the result; None, or an exception, means not acknowledged.

        A debit that fails does not raise: the observer is notified.
        """
        self.paying[transfer.key] = transfer
        try:
            if self.way is TransferVariant.TRANSACTION:
                await send()
            elif self.way is TransferVariant.SEND_THEN_DEBIT:
                result = await send()
                if result is not None and result.status is SendStatus.SEND_OK:
                    await self._debit(transfer)
            elif await self._debit(transfer):
                await step("asks for the credit")
                await send()
        finally:
            self.paying.pop(transfer.key, None)

    # --- the transaction listener ------------------------------------------------------------------------------------

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        """Debit the account; the half message is stored.

        Raises :class:`CommitUncertain`, :class:`DatabaseClosed`: the client treats that as UNKNOW, and a later check
        finds the outcome.
        """
        is_debited = await self._debit(Transfer.of(message))
        return LocalTransactionState.COMMIT_MESSAGE if is_debited else LocalTransactionState.ROLLBACK_MESSAGE

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Look up the outcome of the transfer, without repeating it."""
        transfer = Transfer.of(message)
        with self._at(Doing.CHECK, transfer):
            await asyncio.sleep(self.check_duration_ms / 1_000)
            await step("looks the local transaction up")
            answer = self._look_up(transfer.key)
        self._report(Doing.CHECK, transfer.from_account, transfer, _ANSWERS[answer])
        return answer

    def _look_up(self, key: str) -> LocalTransactionState:
        if self.accounts.has_transfer(key):
            return LocalTransactionState.COMMIT_MESSAGE
        if key in self.paying:
            # Perhaps its local transaction has not even begun, and the reply to the send is still on its way: after
            # "rollback" now, the account might be debited a moment later.
            return LocalTransactionState.UNKNOW
        # An earlier process started it. What it had not committed will never be.
        return LocalTransactionState.ROLLBACK_MESSAGE

    # --- the local transaction ---------------------------------------------------------------------------------------

    async def _debit(self, transfer: Transfer) -> bool:
        """Return whether the debit is committed. Raises :class:`CommitUncertain`, :class:`DatabaseClosed`."""
        try:
            with self._at(Doing.DEBIT, transfer):
                await self._debit_in_transaction(transfer)
        except (CommitUncertain, DatabaseClosed):
            raise
        except BankError as error:
            self._report(Doing.DEBIT, transfer.from_account, transfer, error.reason)
            return False
        self._report(Doing.DEBIT, transfer.from_account, transfer, COMMITTED)
        return True

    async def _debit_in_transaction(self, transfer: Transfer) -> None:
        database = self.accounts.database
        async with database.transaction():
            await step("debits the account")
            self.accounts.debit(transfer, self._runtime.clock.now_ms())
            await asyncio.sleep(self.duration_ms / 1_000)
            await step("commits the local transaction")
            database.commit()
