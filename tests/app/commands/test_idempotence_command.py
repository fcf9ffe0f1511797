"""``glassmq idempotence``: records shown and freed, and stores that hold none."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.command_line import main
from app.databases import demonstration
from app.databases.demonstration import CASES, DemonstrationFailed, Finding
from engine.idempotence.foundation.record import Claim, RecordKey, Taking
from engine.idempotence.stores.store_address import open_store

HOUR_MS = 3_600_000


def run(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(main, ["idempotence", *arguments], input=answer, prog_name="glassmq")


def claim(key: str, scope: str = "shop", age_ms: int = HOUR_MS + 90_500) -> Claim:
    now_ms = time.time_ns() // 1_000_000 - age_ms
    return Claim(RecordKey(scope, key), f"owner of {key}", "0123456789abcdef", f"M-{key}", now_ms, 2 * HOUR_MS)


@pytest.fixture(params=["sqlite:", "sqlite+pysqlite:///"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """With order-1 done, order-2 under way, and one of another group whose consumer died."""
    address = f"{request.param}{tmp_path}/orders.db"

    async def fill() -> None:
        async with open_store(address) as opened:
            await opened.records.prepare()
            await opened.records.take(claim("order-1", age_ms=2 * HOUR_MS))
            now_ms = time.time_ns() // 1_000_000
            await opened.records.complete(RecordKey("shop", "order-1"), None, now_ms, 72 * HOUR_MS + 30_000)
            await opened.records.take(claim("order-2"))
            await opened.records.take(claim("order-3", "bank", 26 * HOUR_MS + 500))

    asyncio.run(fill())
    return address


def test_list_shows_the_newest_first_with_state_age_and_expiry_in_words(store: str):
    head, *rows = run("list", store).output.splitlines()
    assert head.split() == ["GROUP", "KEY", "STATE", "TAKEN", "EXPIRY", "MESSAGE"]
    assert [row.split("  ")[0] for row in rows] == ["shop", "shop", "bank"]
    assert "order-2  consuming  1 h 1 min ago" in rows[0]
    assert "taken over in 58 min" in rows[0]
    assert "order-1  consumed   2 h ago" in rows[1]
    assert "remembered for 3 d" in rows[1]
    assert "may be taken over since 1 d" in rows[2]
    assert rows[2].endswith("M-order-3")


def test_list_shows_one_group_and_so_many(store: str):
    assert len(run("list", store, "--group", "shop").output.splitlines()) == 3
    assert len(run("list", store, "--limit", "1").output.splitlines()) == 2
    assert run("list", store, "--group", "nobody").output == "no records of group nobody\n"


def test_show_tells_all_of_a_record_and_that_there_is_none(store: str):
    output = run("show", store, "order-1", "--group", "shop").output
    for words in ("consumed, remembered for", "owner of order-1", "M-order-1", "0123456789abcdef"):
        assert words in output
    result = run("show", store, "order-9", "--group", "shop")
    assert (result.exit_code, result.output) == (
        1,
        "Error: group shop has no record of 'order-9': its next delivery does the work\n",
    )


def test_free_says_what_it_means_asks_and_lets_the_next_delivery_work(store: str):
    result = run("free", store, "order-1", "--group", "shop", answer="n\n")
    assert result.exit_code == 1
    assert "The work of 'order-1' is done. If you free it, the next delivery does it again." in result.output
    assert run("show", store, "order-1", "--group", "shop").exit_code == 0
    assert run("free", store, "order-1", "--group", "shop", answer="y\n").output.endswith("freed\n")
    result = run("free", store, "order-2", "--group", "shop", "--yes")
    assert "A consumer may be working on 'order-2'" in result.output

    async def take() -> Taking:
        async with open_store(store) as opened:
            return await opened.records.take(claim("order-1"))

    assert asyncio.run(take()) is Taking.FIRST


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("orders", "a store is named by an address, got 'orders'; allowed: sqlite:FILE"),
        ("sqlite:{}/orders.db", "there is no file"),
        ("sqlite+pysqlite:///{}/orders.db", "there is no file"),
        ("sqlite+pysqlite:///file:{}/orders.db?uri=true", "there is no file"),
        ("sqlite:{}/other.db", "the table idempotence_record or idempotence_schema is missing"),
        ("sqlite+pysqlite:///{}/other.db", "the table idempotence_record or idempotence_schema is missing"),
        ("redis://me:secret@127.0.0.1:9", "Redis: Error"),
        ("redis://127.0.0.1:9/0?colour=secret", "with options that redis-py knows"),
        ("postgresql://me:secret@127.0.0.1:9/d", "connection"),
        ("postgresql://127.0.0.1:9/d?user=me&password=secret", "connection"),
    ],
)
def test_what_is_no_store_is_reported_in_one_line_and_nothing_is_made(address: str, wrong: str, tmp_path: Path):
    (tmp_path / "other.db").touch()
    result = run("list", address.format(tmp_path))
    assert result.exit_code == 1
    assert wrong in result.output.replace("\n", " ")
    assert "secret" not in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "orders.db").exists()


def test_a_store_of_another_version_is_refused(store: str):
    async def outdate() -> None:
        async with open_store(store) as opened:
            assert opened.database is not None
            await opened.database.execute("UPDATE idempotence_schema SET version = 99")

    asyncio.run(outdate())
    result = run("list", store)
    assert result.exit_code == 1
    assert "has schema version [99]" in result.output


def test_what_a_terminal_would_obey_is_shown_as_it_is_written(store: str):
    nasty = Claim(
        RecordKey("shop", "k\x1b[31m\nshop  fake"), "o\x1b]0;x", "", "m\r", time.time_ns() // 1_000_000, HOUR_MS
    )

    async def take() -> None:
        async with open_store(store) as opened:
            await opened.records.take(nasty)

    asyncio.run(take())
    for output in (run("list", store).output, run("show", store, nasty.key.business_key, "--group", "shop").output):
        assert r"k\x1b[31m\nshop  fake" in output
        assert output.replace("\n", "").isprintable()


def test_databases_prints_writes_and_names_what_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = (("A insert", "1 row"), ("B insert", "waits, then error 1062 (duplicate key)"))
    finding = Finding("MariaDB 10.11", "read committed", list(CASES)[2], steps)

    def demonstrate(name: str, url: str | None) -> list[Finding]:
        if name == "PostgreSQL":
            raise DemonstrationFailed("PostgreSQL is not installed: there is no initdb (Debian: postgresql)")
        return [finding]

    monkeypatch.setattr(demonstration, "demonstrate", demonstrate)
    result = run("databases", "--write", str(tmp_path / "databases.md"))
    assert result.exit_code == 0
    assert "PostgreSQL is left out: PostgreSQL is not installed" in result.output
    assert "MariaDB 10.11  read committed  1 row        waits, then error 1062 (duplicate key)" in result.output
    assert "| MariaDB 10.11 | read committed |" in (tmp_path / "databases.md").read_text()
    (shown,) = json.loads(run("databases", "--json").stdout)
    assert shown["seen"] == [list(step) for step in steps]


def test_databases_without_any_fails(monkeypatch: pytest.MonkeyPatch):
    def demonstrate(name: str, url: str | None) -> list[Finding]:
        raise DemonstrationFailed(f"{name} is not installed")

    monkeypatch.setattr(demonstration, "demonstrate", demonstrate)
    result = run("databases")
    assert result.exit_code == 1
    assert "no database to show it with" in result.output
