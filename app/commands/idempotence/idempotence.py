"""``glassmq idempotence``: the records of idempotent consumers in their store, and what real databases do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.idempotence.databases import databases
from app.commands.tool import print_table
from app.foundation.terminal_text import clean, local_time

if TYPE_CHECKING:
    from engine.idempotence.foundation.record import IdempotenceRecord
    from engine.idempotence.stores.store_address import OpenStore


@click.group("idempotence")
def command() -> None:
    """Inspect the store of idempotent consumers, free a key, and show what real databases do.

    STORE is the address that the consumers use: sqlite:FILE, redis://HOST:PORT/NUMBER,
    postgresql://USER:PASSWORD@HOST/DATABASE, mariadb://USER:PASSWORD@HOST/DATABASE, or a URL of SQLAlchemy. All but
    SQLite needs the Python packages of glassmq[idempotence].

    \b
    Examples:
      glassmq idempotence list sqlite:orders.db
      glassmq idempotence list redis://127.0.0.1:6379/0 --group shop --limit 200
      glassmq idempotence show sqlite:orders.db order-17 --group shop
      glassmq idempotence free sqlite:orders.db order-17 --group shop
      glassmq idempotence databases
    """


command.add_command(databases)


_group_option = click.option(
    "--group", required=True, help="The consumer group, or what the consumer has named as its scope."
)


@command.command("list")
@click.argument("store")
@click.option("--group", help="Only records of this consumer group, or scope.")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Number of records, the newest."
)
def list_records(store: str, group: str | None, limit: int) -> None:
    """List the newest records of STORE. In Redis this scans all keys.

    \b
    Examples:
      glassmq idempotence list sqlite:orders.db
      glassmq idempotence list mariadb://shop:secret@127.0.0.1/shop --group shop
    """
    _run(store, lambda opened: _list(opened, group, limit))


@command.command("show")
@click.argument("store")
@click.argument("key")
@_group_option
def show(store: str, key: str, group: str) -> None:
    """Show the record of KEY.

    \b
    Examples:
      glassmq idempotence show sqlite:orders.db order-17 --group shop
    """
    _run(store, lambda opened: _show(opened, group, key))


@command.command("free")
@click.argument("store")
@click.argument("key")
@_group_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def free(store: str, key: str, group: str, yes: bool) -> None:
    """Delete the record of KEY: the next delivery does the work, whether it was done before or not.

    This redelivers no message: glassmq dead-letters resends dead letters.

    \b
    Examples:
      glassmq idempotence free sqlite:orders.db order-17 --group shop
    """
    _run(store, lambda opened: _free(opened, group, key, yes))


def _run(address: str, use: Callable[[OpenStore], Awaitable[None]]) -> None:
    """Run ``use`` on the store; an error of the store or of its address becomes one line and exit code 1."""
    from engine.idempotence.stores.store_address import open_store

    async def run() -> None:
        async with opened:
            await _check(opened)
            await use(opened)

    opened = open_store(address)
    if opened.file is not None and not Path(opened.file).is_file():
        raise click.ClickException(f"there is no file {opened.file}")
    asyncio.run(run())


async def _check(opened: OpenStore) -> None:
    """Check that the store has a table: inspecting it does not create one."""
    from engine.idempotence.stores.sql_record_store import SqlRecordStore

    if isinstance(opened.records, SqlRecordStore):
        await opened.records.check()
    else:
        await opened.records.prepare()


async def _list(opened: OpenStore, group: str | None, limit: int) -> None:
    records = await opened.records.newest(group, limit)
    if not records:
        click.echo("no records" if group is None else f"no records of group {group}")
        return
    now_ms = _now_ms()
    head = ("GROUP", "KEY", "STATE", "TAKEN", "EXPIRY", "MESSAGE")
    print_table(
        head,
        [
            (
                record.key.scope,
                record.key.business_key,
                record.state.value,
                f"{_in_words(now_ms - record.taken_ms)} ago",
                _expiry(record, record.expires_ms - (0 if opened.database is None else now_ms)),
                record.message_id,
            )
            for record in records
        ],
    )


async def _found(opened: OpenStore, group: str, key: str) -> IdempotenceRecord:
    from engine.idempotence.foundation.record import RecordKey

    record = await opened.records.find(RecordKey(group, key), _now_ms())
    if record is None:
        raise click.ClickException(f"group {group} has no record of {key!r}: its next delivery does the work")
    return record


async def _show(opened: OpenStore, group: str, key: str) -> None:
    record = await _found(opened, group, key)
    now_ms = _now_ms()
    rows = {
        "group": record.key.scope,
        "key": record.key.business_key,
        "state": f"{record.state.value}, {_expiry(record, record.expires_ms - now_ms)}",
        "taken": f"{local_time(record.taken_ms)}, {_in_words(now_ms - record.taken_ms)} ago",
        "expires": local_time(record.expires_ms),
        "owner": record.owner,
        "message": record.message_id,
        "body digest": record.digest or "not compared",
    }
    for name, value in rows.items():
        click.echo(f"{name:<12}{clean(value)}")


async def _free(opened: OpenStore, group: str, key: str, yes: bool) -> None:
    from engine.idempotence.foundation.record import RecordState

    record = await _found(opened, group, key)
    if record.state is RecordState.CONSUMED:
        means = f"The work of {key!r} is done. If you free it, the next delivery does it again."
    else:
        means = f"A consumer may be working on {key!r}. If you free it, the next delivery does the work as well."
    click.echo(means)
    if not yes:
        click.confirm("Free it?", abort=True)
    freed = await opened.records.free(record.key)
    click.echo("freed" if freed else "it was already gone")


def _expiry(record: IdempotenceRecord, remaining_ms: int) -> str:
    from engine.idempotence.foundation.record import RecordState

    is_consumed = record.state is RecordState.CONSUMED
    if remaining_ms > 0:
        return f"{'remembered for' if is_consumed else 'taken over in'} {_in_words(remaining_ms)}"
    return f"{'forgotten' if is_consumed else 'may be taken over'} since {_in_words(-remaining_ms)}"


def _in_words(duration_ms: int) -> str:
    """Return a duration in words, in its two largest units."""
    seconds, parts = max(0, duration_ms) // 1_000, []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
