"""A database server: SQLite as in the bank, served through frames.

One transaction writes at a time. It gets the right to with its first writing statement; until then it reads what is
committed, as under READ COMMITTED. A real server locks rows, and so allows more concurrency; its guarantees to a
transaction are the same. ``FOR UPDATE`` is left out, as it cannot lock a missing row either.

A client that ends, or whose connection is lost, is rolled back; so is a transaction without requests for long, because
the frame that should end it was lost. Late frames for one that has ended are refused. A statement is carried out once,
however often its frame comes: the packets of a session are numbered.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.bank.database import BankDatabase
from engine.bank.errors import BankError
from engine.idempotence.foundation.record import RecordKey
from engine.idempotence.stores.sql_record_store import FREE
from engine.lab.work.store_frames import (
    StoreRefusalCode,
    StoreRequestCode,
    TransactionHeader,
    decode_body,
    encode_body,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers, processes
from engine.remoting.remoting_server import RemotingServer

if TYPE_CHECKING:
    from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.lab")

#: How long a transaction waits until it may write (InnoDB: 50 s).
LOCK_WAIT_MS = 4_000
#: A transaction without any request for this long is rolled back (PostgreSQL: a setting of the session).
IDLE_MAX_MS = 20_000
#: Statements of an open transaction that are kept for the picture.
_STATEMENTS_KEPT = 8
#: Ended transactions of a connection for which late frames may still come.
_ENDED_KEPT = 1_000
#: Newest statements of a connection of which a second copy is recognised.
_PACKETS_KEPT = 100


@dataclass(slots=True, eq=False)
class OpenTransaction:
    """An open transaction. ``channel``: its connection; None: the administrator's. ``statements``: the newest ones, in
    order.
    """

    channel: Channel | None
    number: int
    since_us: int
    is_writer: bool = False
    idle_timer: asyncio.TimerHandle | None = None
    statements: deque[str] = field(default_factory=lambda: deque(maxlen=_STATEMENTS_KEPT))


class SqlServer:
    """A database server.

    :param on_committed: called directly after each commit.
    :ivar open: transactions, by connection and number.
    :ivar waiting: those that wait until they may write, longest first.
    """

    def __init__(self, runtime: Runtime, name: str, database: BankDatabase, on_committed: Callable[[], None]) -> None:
        self.database = database
        self.open: dict[tuple[Channel, int], OpenTransaction] = {}
        self.waiting: deque[tuple[OpenTransaction, asyncio.Future[None]]] = deque()
        self._writer: OpenTransaction | None = None
        self._packets: dict[Channel, deque[int]] = {}
        #: Connection -> numbers of its transactions that have ended.
        self._ended: dict[Channel, dict[int, None]] = {}
        self._clock = runtime.clock
        self._on_committed = on_committed
        self._server = RemotingServer(runtime, f"database {name}")
        self._server.processors.register_methods(self)
        self._server.on_connection_closed(self._connection_closed)

    @property
    def writer(self) -> OpenTransaction | None:
        """Return the transaction that may write now."""
        return self._writer

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises ``AddressInUse``."""
        await self._server.start(host, port)

    async def shutdown(self) -> None:
        """Close all sessions."""
        await self._server.shutdown()
        for transaction in list(self.open.values()):
            self._end(transaction)
        self.database.close()

    # --- requests ----------------------------------------------------------------------------------------------------

    @processes(StoreRequestCode.SQL_EXECUTE)
    def execute(self, channel: Channel, request: RemotingCommand) -> Awaitable[RemotingCommand] | None:
        """Execute one statement."""
        packets = self._packets.setdefault(channel, deque(maxlen=_PACKETS_KEPT))
        if request.opaque in packets:
            return None
        packets.append(request.opaque)
        return self._execute(channel, request)

    async def _execute(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        header = TransactionHeader.decode(request.ext_fields)
        asked = decode_body(request.body)
        sql, parameters = str(asked["sql"]), dict(asked["parameters"])
        transaction = self._transaction(channel, header.transaction)
        transaction.statements.append(sql)
        is_alone = header.transaction == 0
        try:
            if sql.lstrip()[:6].upper() == "SELECT":
                return request.reply(ResponseCode.SUCCESS, body=encode_body(self._read(transaction, sql, parameters)))
            await self._wait_to_write(transaction)
            changed = self._write(sql, parameters)
            if is_alone:
                await self._commit_durably(transaction)
            return request.reply(ResponseCode.SUCCESS, body=encode_body({"rows": [], "changed": changed}))
        finally:
            if is_alone:
                self._end(transaction)

    @answers(StoreRequestCode.SQL_COMMIT, Channel, TransactionHeader)
    def commit(self, channel: Channel, header: TransactionHeader) -> Awaitable[None] | None:
        """Commit a transaction."""
        transaction = self._open_transaction(channel, header)
        try:
            self._commit(transaction)
        finally:
            self._end(transaction)
        return None

    @answers(StoreRequestCode.SQL_ROLLBACK, Channel, TransactionHeader)
    def rollback(self, channel: Channel, header: TransactionHeader) -> None:
        """Roll a transaction back."""
        transaction = self.open.get((channel, header.transaction))
        self._note_end(channel, header.transaction)
        if transaction is not None:
            self._end(transaction)

    async def free_record(self, key: RecordKey) -> None:
        """Delete a record of idempotence for the administrator, as one more writer; give up after too long a wait."""
        transaction = OpenTransaction(None, 0, self._clock.monotonic_us())
        transaction.statements.append(FREE)
        try:
            await self._wait_to_write(transaction)
            self._write(FREE, key._asdict())
            await self._commit_durably(transaction)
        except RequestRefused as error:
            _log.warning("the record of %s is not freed: %s", key.business_key, error)
        finally:
            self._end(transaction)

    # --- transactions ------------------------------------------------------------------------------------------------

    def _transaction(self, channel: Channel, number: int) -> OpenTransaction:
        if not channel.is_open or number in self._ended.get(channel, {}):
            raise RequestRefused("the transaction has ended", StoreRefusalCode.TRANSACTION_LOST)
        transaction = self.open.get((channel, number)) if number else None
        if transaction is None:
            transaction = OpenTransaction(channel, number, self._clock.monotonic_us())
        if number:
            self.open[channel, number] = transaction
            _stop_timer(transaction)
            loop = asyncio.get_running_loop()
            transaction.idle_timer = loop.call_later(IDLE_MAX_MS / 1_000, self._end, transaction)
        return transaction

    def _open_transaction(self, channel: Channel, header: TransactionHeader) -> OpenTransaction:
        transaction = self.open.get((channel, header.transaction))
        if transaction is None:
            raise RequestRefused("there is no such transaction", StoreRefusalCode.TRANSACTION_LOST)
        return transaction

    async def _wait_to_write(self, transaction: OpenTransaction) -> None:
        if self._writer is transaction:
            return
        if self._writer is not None:
            loop = asyncio.get_running_loop()
            turn: asyncio.Future[None] = loop.create_future()
            entry = (transaction, turn)
            self.waiting.append(entry)
            lost = RequestRefused("it waited for too long until it may write", StoreRefusalCode.TRANSACTION_LOST)
            timer = loop.call_later(LOCK_WAIT_MS / 1_000, _give_up, turn, lost)
            try:
                await turn
            finally:
                timer.cancel()
                if entry in self.waiting:
                    self.waiting.remove(entry)
            if self._writer is not transaction:
                raise RequestRefused("the transaction has ended", StoreRefusalCode.TRANSACTION_LOST)
        else:
            self._writer = transaction
        transaction.is_writer = True
        self.database.begin()

    def _read(self, transaction: OpenTransaction, sql: str, parameters: dict[str, Any]) -> dict[str, Any]:
        tables = self.database.tables if transaction.is_writer else self.database.committed()
        try:
            return {"rows": list(tables.query(sql.replace(" FOR UPDATE", ""), parameters)), "changed": 0}
        except sqlite3.Error as error:
            raise RequestRefused(str(error), StoreRefusalCode.WRONG_STATEMENT) from error

    def _write(self, sql: str, parameters: dict[str, Any]) -> int:
        try:
            return max(0, self.database.execute(sql, parameters).rowcount)
        except sqlite3.IntegrityError as error:
            raise RequestRefused(str(error), StoreRefusalCode.UNIQUE_VIOLATION) from error
        except BankError as error:
            raise RequestRefused(str(error)) from error
        except sqlite3.Error as error:
            raise RequestRefused(str(error), StoreRefusalCode.WRONG_STATEMENT) from error

    async def _commit_durably(self, transaction: OpenTransaction) -> None:
        """Commit, and take the time for it: none here."""
        self._commit(transaction)

    def _commit(self, transaction: OpenTransaction) -> None:
        if not transaction.is_writer:
            return
        try:
            self.database.commit()
        except BankError as error:
            raise RequestRefused(str(error), StoreRefusalCode.TRANSACTION_LOST) from error
        self._on_committed()

    def _end(self, transaction: OpenTransaction) -> None:
        """Roll back what was not committed, and let the next one write."""
        _stop_timer(transaction)
        channel = transaction.channel
        if channel is not None and self.open.pop((channel, transaction.number), None) is not None:
            self._note_end(channel, transaction.number)
        for waiting, turn in list(self.waiting):
            if waiting is transaction:
                _give_up(turn, RequestRefused("the transaction has ended", StoreRefusalCode.TRANSACTION_LOST))
        if self._writer is not transaction:
            return
        if transaction.is_writer:
            self.database.rollback()
        transaction.is_writer = False
        self._writer = None
        while self.waiting:
            following, turn = self.waiting.popleft()
            if not turn.done():
                self._writer = following
                turn.set_result(None)
                return

    def _note_end(self, channel: Channel, number: int) -> None:
        ended = self._ended.setdefault(channel, {})
        ended[number] = None
        if len(ended) > _ENDED_KEPT:
            del ended[next(iter(ended))]

    def _connection_closed(self, channel: Channel) -> None:
        self._packets.pop(channel, None)
        alone = [one for one, _ in self.waiting if one.channel is channel]
        for transaction in [*alone, *[one for one in self.open.values() if one.channel is channel]]:
            self._end(transaction)
        self._ended.pop(channel, None)


def _stop_timer(transaction: OpenTransaction) -> None:
    if transaction.idle_timer is not None:
        transaction.idle_timer.cancel()


def _give_up(turn: asyncio.Future[None], reason: Exception) -> None:
    if not turn.done():
        turn.set_exception(reason)
