"""The two banks with a live broker: the application that ``glassmq bank`` runs.

::

    <folder>/icbc.db    ICBC's database: account A, what it has debited
    <folder>/ccb.db     CCB's database: account B, what it has credited
    <folder>/bank-id    names the groups and tags the messages: other folders' banks are other banks

After a kill at any moment, another run on the same folder ends consistent: the broker checks back on the half messages
of the killed process, and its databases determine their outcome.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from app.remote.cluster_access import cluster_access
from engine.bank.accounts import Accounts
from engine.bank.bank_action import COMMITTED, DUPLICATE, BankAction, Doing
from engine.bank.database import BankDatabase
from engine.bank.errors import NotABankFolder
from engine.bank.paying_bank import PayingBank, TransferVariant
from engine.bank.receiving_bank import ReceivingBank
from engine.bank.transfer import Transfer
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.callbacks.send_result import SendResult
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import MQClientError, NameServerUnreachable
from engine.client.producer.transaction_mq_producer import TransactionMQProducer
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message, MessageExt
from engine.runtime.live.live_runtime import LiveRuntime

TOPIC = "GlassMQBank"
_PAYING_FILE, _RECEIVING_FILE, _ID_FILE = "icbc.db", "ccb.db", "bank-id"
_BANK_ID = re.compile(rb"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class BankSettings:
    """The settings. ``opening`` counts only for a new folder; ``debit_ms``: how long a debit stays open."""

    folder: Path
    name_servers: tuple[str, ...]
    way: TransferVariant
    opening: int
    amount: int
    debit_ms: int


class Difference(NamedTuple):
    """The difference between the banks.

    :ivar in_flight: what A has lost and B has not received yet.
    :ivar from_nowhere: what B has received and A has not lost.
    """

    in_flight: int
    from_nowhere: int


class LiveBanks:
    """Both banks in one process, as a context of ``async with``; ``report(line)`` is called with what happens.

    :ivar bank_id: identifies the folder; names the groups and tags the messages.
    :ivar unsent: transfers whose message could not be sent.
    """

    def __init__(self, settings: BankSettings, report: Callable[[str], None]) -> None:
        """Open the databases. Raises :class:`~engine.runtime.port.RuntimeFault`,
        :class:`~engine.bank.errors.BankError`.
        """
        self._settings = settings
        self._report = report
        access = cluster_access()
        self._icbc_runtime = LiveRuntime("icbc", settings.folder, client_tls=access.tls)
        self._ccb_runtime = LiveRuntime("ccb", settings.folder, client_tls=access.tls)
        self._lock = self._icbc_runtime.disk.lock_folder()
        self.bank_id = self._read_bank_id()
        self._began_ms = self._icbc_runtime.clock.now_ms()
        self._changed = asyncio.Event()
        self.unsent = 0
        #: Transfers whose message is stored whatever becomes of the debit, and was not received yet.
        self._awaited: dict[str, None] = {}
        self._icbc = PayingBank(
            self._icbc_runtime,
            self._open(self._icbc_runtime, _PAYING_FILE, "A", settings.opening),
            settings.way,
            settings.debit_ms,
            watcher=lambda action: self._done("ICBC", action),
        )
        self._ccb = ReceivingBank(
            self._ccb_runtime,
            self._open(self._ccb_runtime, _RECEIVING_FILE, "B", 0),
            watcher=lambda action: self._done("CCB", action),
        )
        self._producer = TransactionMQProducer(
            self._icbc_runtime,
            f"icbc-{self.bank_id}",
            settings.name_servers,
            _Listener(self._icbc, report),
            **access.credentials(),
        )
        self._consumer = DefaultMQPushConsumer(
            self._ccb_runtime,
            f"ccb-{self.bank_id}",
            settings.name_servers,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            **access.credentials(),
        )
        self._consumer.subscribe(TOPIC, self.bank_id)
        self._consumer.register_message_listener(self._receive)
        self._life = AsyncExitStack()

    @staticmethod
    def _open(runtime: LiveRuntime, file: str, account: str, opening: int) -> Accounts:
        accounts = Accounts(BankDatabase(runtime.disk, file))
        accounts.open_account(account, opening)
        return accounts

    def _read_bank_id(self) -> str:
        disk = self._icbc_runtime.disk
        if not disk.exists(_ID_FILE):
            number = self._icbc_runtime.random_for("bank id").getrandbits(32)
            disk.write_whole(_ID_FILE, f"{number:08x}".encode())
        text = disk.read_whole(_ID_FILE)
        if _BANK_ID.fullmatch(text) is None:
            # An empty one would subscribe to all folders' transfers.
            path = self._settings.folder / _ID_FILE
            raise NotABankFolder(f"{path} holds {text[:20]!r}: it must be 8 hexadecimal digits, as this command writes")
        return text.decode()

    async def __aenter__(self) -> LiveBanks:
        async with AsyncExitStack() as life:
            life.push_async_callback(self._close)
            await self._producer.start()
            life.push_async_callback(self._producer.shutdown)
            await self._consumer.start()
            life.push_async_callback(self._consumer.shutdown)
            self._life = life.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._life.aclose()

    async def _close(self) -> None:
        self._icbc.close()
        self._ccb.close()
        self._lock.release()
        await self._icbc_runtime.close()
        await self._ccb_runtime.close()

    # --- actions -----------------------------------------------------------------------------------------------------

    async def transfer(self, number: int) -> None:
        """Make one transfer, in the bank's way. A transfer whose message cannot be sent is reported and skipped.

        Raises :class:`~engine.client.foundation.errors.NameServerUnreachable`.
        """
        transfer = Transfer(f"{self._began_ms}-{number}", "A", "B", self._settings.amount)
        message = transfer.message(TOPIC, tags=self.bank_id)
        await self._icbc.pay(transfer, lambda: self._send(transfer, message))

    async def _send(self, transfer: Transfer, message: Message) -> SendResult | None:
        try:
            if self._settings.way is not TransferVariant.TRANSACTION:
                # The message may be received before the answer to the send arrives.
                self._awaited[transfer.key] = None
                result = await self._producer.send(message)
                self._report(f"{transfer.key}  message stored: {result.status.value}")
                return result
            ended = await self._producer.send_message_in_transaction(message)
        except NameServerUnreachable:
            raise
        except MQClientError as error:
            self.unsent += 1
            self._awaited.pop(transfer.key, None)
            self._report(f"{transfer.key}  not sent: {error}")
            return None
        self._report(f"{transfer.key}  END_TRANSACTION: {ended.local_transaction_state.name}")
        return ended.send_result

    async def _receive(self, messages: Sequence[MessageExt], context: object) -> ConsumeConcurrentlyStatus:
        for message in messages:
            await self._ccb.receive(message)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def _done(self, bank: str, action: BankAction) -> None:
        if action.doing is Doing.CHECK:
            text = f"the broker asks, {bank} looks it up: {action.outcome}"
        elif action.outcome == COMMITTED:
            text = f"{bank} has committed a {action.doing} of {action.amount}: {action.account} has {action.balance}"
        elif action.outcome == DUPLICATE:
            text = f"{bank} has credited that before: ignored"
        else:
            text = f"{bank} could not {action.doing} {action.amount}: {action.outcome}"
        self._report(f"{action.key}  {text}")
        if action.doing is Doing.CREDIT and action.outcome in (COMMITTED, DUPLICATE):
            self._awaited.pop(action.key, None)
        self._changed.set()

    # --- results -----------------------------------------------------------------------------------------------------

    def balances(self) -> tuple[int, int]:
        """Return the committed balances of A and of B."""
        return self._icbc.accounts.committed_balance("A") or 0, self._ccb.accounts.committed_balance("B") or 0

    def difference(self) -> Difference:
        """Return the difference, compared transfer by transfer: a surplus of one does not hide a lack of another."""
        debited, credited = self._icbc.accounts.amounts("transfer"), self._ccb.accounts.amounts("credit")
        return Difference(
            in_flight=sum(amount for key, amount in debited.items() if key not in credited),
            from_nowhere=sum(amount for key, amount in credited.items() if key not in debited),
        )

    async def settle(self, limit_s: float) -> None:
        """Wait until no more messages are expected, at most this long.

        For use between transfers: money from nowhere stays then.
        """
        try:
            async with asyncio.timeout(limit_s):
                while self._awaited or self.difference().in_flight:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return


class _Listener:
    """The paying bank as transaction listener, which prints a line before its local transaction."""

    def __init__(self, bank: PayingBank, report: Callable[[str], None]) -> None:
        self._bank = bank
        self._report = report

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        self._report(f"{message.keys[0]}  half message stored")
        return await self._bank.execute_local_transaction(message, argument)

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Answer as the bank does."""
        return await self._bank.check_local_transaction(message)
