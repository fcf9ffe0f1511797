"""A store's address, as users write it on a command line or in a configuration file.

::

    sqlite:orders.db                                 a file, in the process; sqlite::memory: forgets with the process
    redis://host:6379/0                              redis-py: also rediss:// (TLS), unix://
    postgresql+psycopg://user:password@host/shop     anything that SQLAlchemy knows, here with a driver
    mariadb+pymysql://user:password@host/shop

In a user name or a password the characters ``@ / ? # %`` are written ``%40 %2F %3F %23 %25``.

Redis, and SQLAlchemy with its drivers, are the optional dependency group ``glassmq[idempotence]``.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from engine.idempotence.foundation.errors import IdempotenceError, UnknownStrategy
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.foundation.sql_port import SqlDatabase
from engine.idempotence.stores.embedded_sqlite import EmbeddedSqlite
from engine.idempotence.stores.redis_record_store import RedisRecordStore
from engine.idempotence.stores.shown_address import shown_address
from engine.idempotence.stores.sql_record_store import SqlRecordStore

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

ALLOWED = (
    "sqlite:FILE, redis://HOST:PORT/NUMBER, postgresql://USER:PASSWORD@HOST/DATABASE, "
    "mariadb://USER:PASSWORD@HOST/DATABASE, or a URL of SQLAlchemy"
)
#: Timeout for a lock of the database; for an answer, twice as long.
TIMEOUT_MS = 5_000

#: Scheme -> the driver that GlassMQ installs for it.
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mariadb": "mariadb+pymysql",
    "mysql": "mysql+pymysql",
}
_REDIS = ("redis", "rediss", "unix")
_ESCAPES = "in a password @ / ? # % are written %40 %2F %3F %23 %25"


class StoreAddressUnusable(IdempotenceError):
    """The address does not identify a store; the text says which addresses are allowed. It contains no password."""


class _Closes(Protocol):
    async def close(self) -> None: ...


class OpenStore(NamedTuple):
    """An open store: ``async with open_store("sqlite:orders.db") as store:``

    :ivar address: without user, password and options.
    :ivar database: None for Redis, in which work cannot be part of a transaction.
    :ivar file: path of SQLite's file, which is created at first use; None for other stores.
    """

    address: str
    records: RecordStore
    database: SqlDatabase | None
    connector: _Closes
    file: str | None = None

    def require_database(self) -> SqlDatabase:
        """Return the database, for strategies with a transaction. Raises :class:`UnknownStrategy` for Redis."""
        if self.database is None:
            wanted = "a record can share the transaction of the work only in a relational database that holds both"
            raise UnknownStrategy(f"{self.address} has no transactions: {wanted}; use the state table here")
        return self.database

    async def close(self) -> None:
        """Close all connections."""
        await self.connector.close()

    async def __aenter__(self) -> OpenStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def open_store(address: str, timeout_ms: int = TIMEOUT_MS) -> OpenStore:
    """Open the store at ``address`` without connecting yet. Raises :class:`StoreAddressUnusable`."""
    scheme, colon, rest = address.partition(":")
    if not colon:
        raise StoreAddressUnusable(f"a store is named by an address, got {address[:60]!r}; allowed: {ALLOWED}")
    if scheme == "sqlite":
        return _open_sqlite(rest.removeprefix("///"), timeout_ms)
    if scheme in _REDIS:
        return _open_redis(address, timeout_ms)
    return _open_sqlalchemy(with_driver(address), timeout_ms)


def with_driver(address: str) -> str:
    """Return the URL of a database, with the driver that GlassMQ installs if it names none."""
    scheme, _, rest = address.partition(":")
    return f"{_DRIVERS.get(scheme, scheme)}:{rest}"


def _open_sqlite(path: str, timeout_ms: int) -> OpenStore:
    if not path or path.startswith("//"):
        raise StoreAddressUnusable(f"sqlite:{path} names no file; write sqlite:orders.db or sqlite:/var/lib/orders.db")
    database = EmbeddedSqlite(path, timeout_ms)
    return OpenStore(f"sqlite:{path}", SqlRecordStore(database), database, database, path)


def _open_redis(address: str, timeout_ms: int) -> OpenStore:
    with _installed("redis"):
        from engine.idempotence.stores.redis_connection import RedisConnection

        try:
            parts = urllib.parse.urlsplit(address)
            if "://" not in address or (parts.scheme != "unix" and "@" in "".join(parts[2:])):
                raise ValueError
            connection = RedisConnection(address, timeout_ms)
        except (ValueError, TypeError, AttributeError):  # their texts may quote the password
            raise StoreAddressUnusable(
                "an address of Redis cannot be read: redis://USER:PASSWORD@HOST:PORT/NUMBER?OPTION=VALUE, with options "
                f"that redis-py knows; {_ESCAPES}; allowed: {ALLOWED}"
            ) from None
    return OpenStore(shown_address(address), RedisRecordStore(connection), None, connection)


def _open_sqlalchemy(address: str, timeout_ms: int) -> OpenStore:
    with _installed(address.partition(":")[0]):
        from engine.idempotence.stores.sqlalchemy_database import SqlAlchemyDatabase

        engine = make_engine(address, timeout_ms)
    database = SqlAlchemyDatabase(engine, timeout_ms=2 * timeout_ms)
    path = engine.url.database if engine.dialect.name == "sqlite" else None
    file = path.removeprefix("file:") if path else None
    return OpenStore(shown_address(address), SqlRecordStore(database), database, database, file)


def make_engine(address: str, timeout_ms: int = TIMEOUT_MS, **options: Any) -> Engine:
    """Create an engine with timeouts for ``address``, a URL of SQLAlchemy. Raises :class:`StoreAddressUnusable`,
    ``ModuleNotFoundError``.
    """
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    from engine.idempotence.stores.sqlalchemy_database import CONNECTIONS_MAX

    try:
        url = sqlalchemy.make_url(address)
        if url.get_backend_name() != "sqlite" and "@" in f"{url.host}{url.database}":
            raise ValueError  # the end of a password: drivers would quote it
        seconds = max(1, timeout_ms // 1_000)
        connect: dict[str, Any] = {}
        if url.drivername == "postgresql+psycopg":
            connect = {"connect_timeout": seconds, "options": f"-c lock_timeout={timeout_ms}"}
        elif url.drivername in ("mariadb+pymysql", "mysql+pymysql"):
            connect = {
                "connect_timeout": seconds,
                "read_timeout": 2 * seconds,
                "write_timeout": 2 * seconds,
                "init_command": f"SET SESSION innodb_lock_wait_timeout = {seconds}",
            }
        options = {"pool_pre_ping": True, "connect_args": connect, **options}
        if url.get_backend_name() != "sqlite":
            options = {"pool_size": CONNECTIONS_MAX, "max_overflow": 0, "pool_timeout": seconds, **options}
        return sqlalchemy.create_engine(url, **options)
    except (NoSuchModuleError, ArgumentError, ValueError):
        scheme = address.partition(":")[0]
        raise StoreAddressUnusable(
            f"there is no store {scheme}:..., or its URL is incomplete; {_ESCAPES}; allowed: {ALLOWED}"
        ) from None


@contextmanager
def _installed(what: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreAddressUnusable(
            f"a store {what} needs the Python package {error.name}: pip install 'glassmq[idempotence]', "
            "or the driver that your URL names"
        ) from None
