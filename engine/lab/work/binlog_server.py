"""The database server with a binlog: MySQL's two-phase commit between InnoDB's redo log and the binlog.

::

    redo log   prepare: the transaction's number (XID) and all that it changes, flushed
    binlog     the same transaction, flushed (sync_binlog=1)           <- from here on it is committed
    redo log   commit: a mark, for which no client waits

Recovery looks at what is prepared and not marked: a transaction whose XID is in the binlog is committed, any other is
rolled back. So database and replicas, which follow the binlog, agree whatever dies in between. The half message of a
transactional message is the prepare, the producer's database the binlog, END_TRANSACTION the mark, and the check-back
is the recovery.

Simplified: one transaction commits at a time (MySQL: group commit); changes are statements, not pages, and the tables
are written as a whole at the commit, with the last XID in SQLite's ``user_version``, from which recovery sees what it
need not do again. A full log starts from empty, as nothing in it is undecided then.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.bank.database import BankDatabase
from engine.bank.errors import BankError
from engine.lab.work.sql_server import OpenTransaction, SqlServer
from engine.lab.work.store_frames import StoreRefusalCode, StoreRequestCode, TransactionHeader
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.runtime.port import Disk, DiskFault
from engine.xa.coordinator_log import CoordinatorLog, CoordinatorRecord
from engine.xa.errors import LogFull

if TYPE_CHECKING:
    from engine.runtime.port import Runtime

REDO_LOG_PATH = "database/redo.log"
BINLOG_PATH = "database/binlog.000001"
LOG_BYTES = 1 << 16
#: Newest transactions that the picture shows.
LOGGED_KEPT = 6


@dataclass(slots=True)
class LoggedTransaction:
    """State of a transaction in the two logs.

    :ivar state: ``prepared``, ``committed`` or ``rolled-back``.
    :ivar by_recovery: whether recovery decided it.
    """

    xid: int
    state: str = "prepared"
    is_in_binlog: bool = False
    by_recovery: bool = False


class BinlogSqlServer(SqlServer):
    """A database server with a binlog. Raises ``DiskFault`` if the logs cannot be read.

    :ivar logged: the newest transactions, oldest first.
    """

    def __init__(
        self, runtime: Runtime, name: str, database: BankDatabase, disk: Disk, on_committed: Callable[[], None]
    ) -> None:
        super().__init__(runtime, name, database, on_committed)
        self.logged: deque[LoggedTransaction] = deque(maxlen=LOGGED_KEPT)
        self._redo = CoordinatorLog(disk, LOG_BYTES, REDO_LOG_PATH)
        self._binlog = CoordinatorLog(disk, LOG_BYTES, BINLOG_PATH)
        #: What the writer has changed so far: statements with their parameters.
        self._changes: list[tuple[str, dict[str, Any]]] = []
        self._next_xid = self._last_xid() + 1
        self._committing: OpenTransaction | None = None
        self._is_over = asyncio.Event()

    async def start(self, host: str, port: int) -> None:
        """Recover, then listen. Raises ``AddressInUse``."""
        self._recover()
        await super().start(host, port)

    def _recover(self) -> None:
        """Decide about every prepared transaction by the binlog."""
        last_xid = self._last_xid()
        in_binlog = {record["xid"] for record in self._binlog.records_read}
        for record in self._redo.records_read:
            if record["record"] != "prepare":
                continue
            xid: Any = record["xid"]
            self._next_xid = max(self._next_xid, xid + 1)
            is_open = xid > last_xid
            is_committed = not is_open or xid in in_binlog
            state = "committed" if is_committed else "rolled-back"
            self.logged.append(LoggedTransaction(xid, state, xid in in_binlog, by_recovery=is_open))
            if is_open and is_committed:
                changes: Any = record["changes"]
                self.database.begin()
                for sql, parameters in changes:
                    self.database.execute(sql, parameters)
                self._commit_in_engine(xid)
        self._redo.rewrite(())

    def _last_xid(self) -> int:
        return int(self.database.execute("PRAGMA user_version").fetchone()[0])

    def _commit_in_engine(self, xid: int) -> None:
        self.database.execute(f"PRAGMA user_version = {xid}")
        self.database.commit()
        self._on_committed()

    @answers(StoreRequestCode.SQL_COMMIT, Channel, TransactionHeader)
    async def commit(self, channel: Channel, header: TransactionHeader) -> None:
        transaction = self._open_transaction(channel, header)
        if transaction is self._committing:
            await self._is_over.wait()  # its frame came twice
            return
        try:
            await self._commit_durably(transaction)
        finally:
            self._end(transaction)

    # --- a transaction -----------------------------------------------------------------------------------------------

    def _write(self, sql: str, parameters: dict[str, Any]) -> int:
        changed = super()._write(sql, parameters)
        self._changes.append((sql, parameters))
        return changed

    async def _commit_durably(self, transaction: OpenTransaction) -> None:
        if not transaction.is_writer:
            return
        self._committing = transaction
        self._is_over.clear()
        logged = LoggedTransaction(self._next_xid)
        self._next_xid += 1
        try:
            prepare = {"record": "prepare", "xid": logged.xid, "changes": self._changes}
            self._append(self._redo, prepare)
            self.logged.append(logged)
            await self._redo.flush()
            self._append(self._binlog, {"xid": logged.xid, "changes": self._changes})
            logged.is_in_binlog = True
            await self._binlog.flush()
            self._append(self._redo, {"record": "commit", "xid": logged.xid})
            self._commit_in_engine(logged.xid)
            logged.state = "committed"
        except (LogFull, DiskFault, BankError) as error:
            if logged.is_in_binlog:
                # It is committed, and this process cannot complete it: the next one's recovery does.
                self.database.close()
            else:
                logged.state = "rolled-back"
            raise RequestRefused(str(error), StoreRefusalCode.TRANSACTION_LOST) from error
        finally:
            self._committing = None
            self._is_over.set()

    def _append(self, log: CoordinatorLog, record: CoordinatorRecord) -> None:
        if not log.has_room_for(record):
            log.rewrite(())
        log.append(record)

    def _end(self, transaction: OpenTransaction) -> None:
        # A transaction that loses its client during the commit is committed nevertheless.
        if transaction is self._committing:
            return
        if transaction is self.writer:
            self._changes = []
        super()._end(transaction)
