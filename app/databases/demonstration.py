"""Two sessions, A and B, at a real database: which waits for which, which continues, which gets which error.

Each step of a case is one statement of one session. Whether a session waits is read from the database itself, so that
no time has to be guessed. Everything has a time-out: a server that hangs ends the case.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.databases.real_servers import MariaDbServer, PostgreSqlServer, ServerMissing

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

#: How long a session waits for a lock.
LOCK_MS = 5_000
#: How long a step may take, its wait included.
STEP_S = 15
_TABLE = "glassmq_demonstration"

_SELECT_OLD = f"SELECT k FROM {_TABLE} WHERE k = 'old' FOR UPDATE"
_SELECT_NEW = f"SELECT k FROM {_TABLE} WHERE k = 'new' FOR UPDATE"
_UPDATE_OLD = f"UPDATE {_TABLE} SET note = 'done' WHERE k = 'old'"
_INSERT_NEW = f"INSERT INTO {_TABLE} (k, note) VALUES ('new', 'done')"

#: Case -> steps: session, name of the step, statement.
CASES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "SELECT FOR UPDATE on an existing row": (
        ("A", "A select", _SELECT_OLD),
        ("B", "B select", _SELECT_OLD),
        ("A", "A update", _UPDATE_OLD),
        ("A", "A commit", "COMMIT"),
        ("B", "B commit", "COMMIT"),
    ),
    "SELECT FOR UPDATE on a missing row": (
        ("A", "A select", _SELECT_NEW),
        ("B", "B select", _SELECT_NEW),
        ("A", "A insert", _INSERT_NEW),
        ("B", "B insert", _INSERT_NEW),
        ("A", "A commit", "COMMIT"),
        ("B", "B commit", "COMMIT"),
    ),
    "concurrent inserts of one key": (
        ("A", "A insert", _INSERT_NEW),
        ("B", "B insert", _INSERT_NEW),
        ("A", "A commit", "COMMIT"),
        ("B", "B commit", "COMMIT"),
    ),
}
ISOLATIONS = {
    "PostgreSQL": ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"),
    "MariaDB": ("REPEATABLE READ", "READ COMMITTED"),
}
_SERVERS = {"PostgreSQL": PostgreSqlServer, "MariaDB": MariaDbServer}
_OWN_ID = {"PostgreSQL": "SELECT pg_backend_pid()", "MariaDB": "SELECT CONNECTION_ID()"}
_WAITS = {
    "PostgreSQL": "SELECT cardinality(pg_blocking_pids(:id)) > 0",
    "MariaDB": "SELECT trx_state = 'LOCK WAIT' FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = :id",
}
#: InnoDB refreshes its list of transactions only for a client that has not read it for 0.1 s.
_ASK_EVERY_S = 0.15


class DemonstrationFailed(Exception):
    """There is no such database, or it does not answer; the text says which, without a password."""


@dataclass(frozen=True)
class Finding:
    """One case at one database. ``seen``: the name of each step, and what its session saw."""

    database: str
    isolation: str
    case: str
    seen: tuple[tuple[str, str], ...]


def demonstrate(name: str, url: str | None = None) -> list[Finding]:
    """Run all cases at ``PostgreSQL`` or ``MariaDB``; without ``url``, at a server that is started and removed again.

    Raises :class:`DemonstrationFailed`.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from engine.idempotence.stores.store_address import StoreAddressUnusable, with_driver

    try:
        if url is None:
            with _SERVERS[name]() as server:
                return demonstrate(name, server.url)
        with _engine(with_driver(url)) as engine:
            return _all_cases(name, engine)
    except (ServerMissing, StoreAddressUnusable) as error:
        raise DemonstrationFailed(str(error)) from error
    except ModuleNotFoundError as error:
        needed = f"it needs the Python package {error.name}: pip install 'glassmq[idempotence]'"
        raise DemonstrationFailed(needed) from error
    except (SQLAlchemyError, TimeoutError) as error:
        raise DemonstrationFailed(str(getattr(error, "orig", error)) or f"no answer for {STEP_S} s") from error


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    from engine.idempotence.stores.store_address import make_engine

    engine = make_engine(url, LOCK_MS)
    try:
        yield engine
    finally:
        _in_thread(engine.dispose)


def _all_cases(name: str, engine: Engine) -> list[Finding]:
    from sqlalchemy import text

    def execute(*statements: str) -> Any:
        with engine.begin() as connection:
            return [connection.execute(text(statement)) for statement in statements]

    def version() -> str:
        with engine.connect() as connection:
            return str(connection.execute(text("SELECT VERSION()")).scalar())

    found = _in_thread(version).result(STEP_S).removeprefix("PostgreSQL ").split("-")[0].split(" ")[0]
    findings = []
    try:
        for isolation in ISOLATIONS[name]:
            for case, steps in CASES.items():
                _in_thread(
                    lambda: execute(
                        f"DROP TABLE IF EXISTS {_TABLE}",
                        f"CREATE TABLE {_TABLE} (k VARCHAR(40) PRIMARY KEY, note VARCHAR(40))",
                        f"INSERT INTO {_TABLE} (k, note) VALUES ('old', '')",
                    )
                ).result(STEP_S)
                seen = _Case(name, engine, isolation).run(steps)
                findings.append(Finding(f"{name} {found}", isolation.lower(), case, seen))
    finally:
        _in_thread(lambda: execute(f"DROP TABLE IF EXISTS {_TABLE}")).result(STEP_S)
    return findings


class _Session:
    """A connection in a thread of its own, as a statement that waits blocks its thread."""

    def __init__(self, engine: Engine, isolation: str) -> None:
        self._engine = engine
        self._isolation = isolation
        self._connection: Connection | None = None
        self._steps: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        #: The last request. A session that has failed answers nothing but its rollback.
        self.pending: Future[str] | None = None
        self.has_failed = False
        threading.Thread(target=_work_off, args=(self._steps,), daemon=True).start()

    def ask(self, work: Callable[[Connection], Any]) -> Future[Any]:
        """Run ``work`` after all earlier requests."""
        answer: Future[Any] = Future()
        self._steps.put((lambda: work(self._open()), answer))
        return answer

    def end(self) -> None:
        """Roll back, and end the thread once it can."""
        self.ask(lambda connection: connection.close())
        self._steps.put(None)

    def _open(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect().execution_options(isolation_level=self._isolation)
        return self._connection


class _Case:
    """Runs the steps of one case."""

    def __init__(self, name: str, engine: Engine, isolation: str) -> None:
        self._name = name
        self._sessions = {label: _Session(engine, isolation) for label in "AB"}
        self._monitor = _Session(engine, "AUTOCOMMIT")
        self._ids: dict[str, Any] = {}
        #: Number of a step -> what its session saw so far.
        self._seen: dict[int, str] = {}
        self._waiting: dict[str, int] = {}

    def run(self, steps: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str], ...]:
        """Run the steps, and return the name of each with what its session saw."""
        try:
            for label, session in self._sessions.items():
                self._ids[label] = session.ask(lambda connection: _scalar(connection, _OWN_ID[self._name])).result(
                    STEP_S
                )
                session.ask(lambda connection: connection.rollback()).result(STEP_S)
            for number, (label, _, statement) in enumerate(steps):
                self._step(number, label, statement)
            return tuple((called, self._seen[number]) for number, (_, called, _) in enumerate(steps))
        finally:
            for session in (*self._sessions.values(), self._monitor):
                session.end()

    def _step(self, number: int, label: str, statement: str) -> None:
        session = self._sessions[label]
        self._settle(label, until_done=True)
        if session.has_failed and statement != "COMMIT":
            self._seen[number] = "-"
            return
        if session.has_failed:
            session.pending = session.ask(_roll_back)
        else:
            session.pending = session.ask(lambda connection: _execute(connection, statement))
        self._waiting[label] = number
        self._settle(label)
        for other in self._sessions:
            self._settle(other, until_done=statement == "COMMIT" and other != label)

    def _settle(self, label: str, *, until_done: bool = False) -> None:
        """Wait until the session's last step has ended or waits for the other session."""
        session, deadline_s = self._sessions[label], time.monotonic() + STEP_S
        if session.pending is None:
            return
        number = self._waiting[label]
        while wait((session.pending,), _ASK_EVERY_S).not_done:
            if not until_done and self._waits(label):
                self._seen[number] = "waits"
                return
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{self._name} has not answered session {label} for {STEP_S} s")
        had_waited = "waits, then " if number in self._seen else ""
        outcome, session.has_failed = _outcome(session.pending)
        self._seen[number] = had_waited + outcome
        session.pending = None

    def _waits(self, label: str) -> bool:
        number = self._ids[label]
        return bool(
            self._monitor.ask(lambda connection: _scalar(connection, _WAITS[self._name], id=number)).result(STEP_S)
        )


def as_markdown(findings: list[Finding]) -> str:
    """Return a page with a table per case."""
    lines = [
        "# Database locks",
        "",
        "Two sessions, A and B, step by step; written by `glassmq idempotence databases --write`. *waits*: until the",
        "other session has ended its transaction, or was chosen as the victim of a deadlock.",
        "",
    ]
    for case in dict.fromkeys(finding.case for finding in findings):
        shown = [finding for finding in findings if finding.case == case]
        steps = [name for name, _ in shown[0].seen]
        lines += [f"## {case[0].upper()}{case[1:]}", ""]
        lines += [f"| database | isolation | {' | '.join(steps)} |", f"|---|---{'|---' * len(steps)}|"]
        lines += [
            f"| {each.database} | {each.isolation} | {' | '.join(seen for _, seen in each.seen)} |" for each in shown
        ]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _work_off(steps: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]) -> None:
    while (step := steps.get()) is not None:
        work, answer = step
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)


def _in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Run ``work`` in a daemon thread, which does not delay the end of the process."""
    steps: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
    answer: Future[Any] = Future()
    steps.put((work, answer))
    steps.put(None)
    threading.Thread(target=_work_off, args=(steps,), daemon=True).start()
    return answer


def _scalar(connection: Connection, statement: str, **parameters: Any) -> Any:
    from sqlalchemy import text

    return connection.execute(text(statement), parameters).scalar()


def _execute(connection: Connection, statement: str) -> str:
    from sqlalchemy import text

    if statement == "COMMIT":
        connection.commit()
        return "committed"
    result = connection.execute(text(statement))
    count = len(result.all()) if result.returns_rows else result.rowcount
    return f"{count} row{'' if count == 1 else 's'}"


def _roll_back(connection: Connection) -> str:
    connection.rollback()
    return "rolled back"


def _outcome(answer: Future[str]) -> tuple[str, bool]:
    """Return what the session saw, and whether its transaction has failed."""
    from sqlalchemy.exc import DBAPIError

    from engine.idempotence.stores.sqlalchemy_database import driver_code

    error = answer.exception()
    if error is None:
        return answer.result(), False
    if not isinstance(error, DBAPIError) or error.connection_invalidated:
        raise error
    return f"error {driver_code(error.orig)} {_MEANINGS.get(driver_code(error.orig), '')}".strip(), True


#: Meanings of the error codes that are expected.
_MEANINGS: dict[str | int | None, str] = {
    "23505": "(unique violation)",
    "40001": "(serialization failure)",
    "40P01": "(deadlock)",
    "55P03": "(lock time-out)",
    1062: "(duplicate key)",
    1205: "(lock time-out)",
    1213: "(deadlock)",
    1020: "(changed since it was read)",
}
