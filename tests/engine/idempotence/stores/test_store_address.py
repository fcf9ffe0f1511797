"""Addresses of stores: what they open, and what is said about those that open nothing."""

from __future__ import annotations

import asyncio
import sys

import pytest

from engine.idempotence.foundation.errors import StoreUnreachable, UnknownStrategy
from engine.idempotence.stores.sqlalchemy_database import SqlAlchemyDatabase
from engine.idempotence.stores.store_address import StoreAddressUnusable, open_store


@pytest.mark.parametrize(
    ("address", "shown", "dialect"),
    [
        ("sqlite:orders.db", "sqlite:orders.db", "sqlite"),
        ("sqlite:///orders.db", "sqlite:orders.db", "sqlite"),
        ("sqlite:////var/orders.db", "sqlite:/var/orders.db", "sqlite"),
        ("sqlite+pysqlite:///orders.db", "sqlite+pysqlite:///orders.db", "sqlite"),
        ("redis://:secret@h:6379/0?password=secret", "redis://h:6379/0", None),
        ("redis://h:6379/0", "redis://h:6379/0", None),
        ("redis://me:%40secret@h:6379/0", "redis://h:6379/0", None),
        ("redis://h/0?username=me&password=a%40secret", "redis://h/0", None),
        ("postgresql://me:secret@h/d", "postgresql+psycopg://h/d", "postgresql"),
        ("postgresql+psycopg://me:secret@h/d", "postgresql+psycopg://h/d", "postgresql"),
        ("postgresql://h/d?user=me&password=secret", "postgresql+psycopg://h/d", "postgresql"),
        ("postgresql://h/d?user=me&password=a@secret", "postgresql+psycopg://...", "postgresql"),
        ("mariadb://me:secret@h/d", "mariadb+pymysql://h/d", "mariadb"),
    ],
)
def test_an_address_opens_its_store_and_is_shown_without_its_password(address: str, shown: str, dialect: str | None):
    store = open_store(address)
    assert store.address == shown
    if isinstance(store.connector, SqlAlchemyDatabase):
        engine = store.connector.engine
        assert "secret" not in asyncio.run(_said_when_closed(SqlAlchemyDatabase(engine)))
    assert (store.database and store.database.dialect) == dialect


async def _said_when_closed(database: SqlAlchemyDatabase) -> str:
    await database.close()
    with pytest.raises(StoreUnreachable) as caught:
        await database.execute("SELECT 1")
    return str(caught.value)


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("orders.db", "a store is named by an address, got 'orders.db'"),
        ("sqlite:", "sqlite: names no file"),
        ("sqlite://host/orders.db", "names no file"),
        ("redis://me:secret@h:port/0", "an address of Redis cannot be read"),
        ("redis://me:secret#x@h:1/0", r"an address of Redis cannot be read.* # .* %23"),
        ("redis://me:12/secret@h:1/0", "an address of Redis cannot be read"),
        ("redis:me:secret@h", "an address of Redis cannot be read"),
        ("redis://h/0?secret=x", "with options that redis-py knows"),
        ("redis://h/0?retry=secret", "with options that redis-py knows"),
        ("postgresql://me:a@secret@h/d", r"is incomplete; in a password @ .* %40"),
        ("postgresql://me:a@b/secret@h/d", "is incomplete"),
        ("mongodb://me:secret@h/d", "there is no store mongodb:"),
        ("postgresql://me:secret@h:port/d", r"postgresql\+psycopg:.*is incomplete"),
        ("postgresql+pigeon://me:secret@h/d", r"there is no store postgresql\+pigeon:"),
    ],
)
def test_an_address_of_no_store_is_refused_with_what_is_allowed_and_without_its_password(address: str, wrong: str):
    with pytest.raises(StoreAddressUnusable, match=wrong) as caught:
        open_store(address)
    assert "sqlite:" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_redis_is_refused_to_strategies_that_need_a_transaction():
    assert open_store("sqlite:orders.db").require_database().dialect == "sqlite"
    with pytest.raises(UnknownStrategy, match=r"redis://h:1/0 has no transactions.*use the state table"):
        open_store("redis://h:1/0").require_database()


@pytest.mark.parametrize(
    ("address", "package"),
    [("redis://h", "redis"), ("postgresql://h/d", "sqlalchemy"), ("mariadb://h/d", "pymysql")],
)
def test_a_package_that_is_not_installed_is_named_with_how_to_get_it(
    address: str, package: str, monkeypatch: pytest.MonkeyPatch
):
    for module in [name for name in sys.modules if name.split(".")[0] == package] or [package]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(StoreAddressUnusable, match=rf"Python package {package}.*glassmq\[idempotence\]"):
        open_store(address)


@pytest.mark.parametrize("address", ["redis://me:secret@{}", "postgresql://me:secret@{}/d", "mariadb://me:secret@{}/d"])
def test_a_server_that_is_not_there_is_named_without_the_password(address: str):
    async def check() -> None:
        async with open_store(address.format("127.0.0.1:9"), timeout_ms=1_000) as store:
            with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1") as caught:
                await store.records.prepare()
            assert "secret" not in str(caught.value)

    asyncio.run(check())
