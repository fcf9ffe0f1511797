"""``make bench BENCH=idempotence``: the cost of each strategy at each store, compared with the bare listener.

The work of a message is one INSERT. Bare, it is a transaction of its own; a strategy with a transaction does it in
that. With Redis the work goes to SQLite. All strategies of a store take turns, in changing order, for several rounds:
what disturbs the machine disturbs all. A ratio compares with the bare listener of the same round. What cannot be
started here is named and left out.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from app.databases.real_servers import MariaDbServer, PostgreSqlServer, RealRedisServer, RealServer, ServerMissing
from engine.idempotence.foundation.errors import UnknownStrategy
from engine.idempotence.foundation.sql_port import SqlDatabase, SqlTransaction
from engine.idempotence.idempotent_listener import IdempotentListener
from engine.idempotence.stores.store_address import open_store
from engine.idempotence.strategies.conditional_update import ConditionalUpdate
from engine.idempotence.strategies.message_table import MessageTable
from engine.idempotence.strategies.state_table import StateTable
from engine.idempotence.strategies.strategy import Strategy
from engine.idempotence.strategies.tempting import (
    CheckThenAct,
    LeaseLock,
    MemorySet,
    NoStrategy,
    ReplaceInto,
    SelectForUpdate,
)
from engine.protocol.message.message import MessageExt
from engine.runtime.live.live_runtime import LiveRuntime
from tests.benchmarks.document import machine, parse_with_document, publish
from tests.support.idempotence.deliveries import message

BARE = "bare listener"
_MARK = "make bench idempotence"
_DELIVERIES_MAX = 10
#: Store -> its server; None: it is SQLite, in a file.
STORES: dict[str, type[RealServer] | None] = {
    "SQLite": None,
    "SQLite by SQLAlchemy": None,
    "PostgreSQL": PostgreSqlServer,
    "MariaDB": MariaDbServer,
    "Redis, work in SQLite": RealRedisServer,
}


@dataclass
class Bench:
    """One store with what its strategies have taken, per round, in microseconds per message."""

    store: str
    taken_us: dict[str, list[float]]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Strategy, median, ratio, spread of the ratio."""
        found = []
        for name, taken in self.taken_us.items():
            ratios = [one / bare for one, bare in zip(taken, self.taken_us[BARE], strict=True)]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            found.append((name, f"{statistics.median(taken):,.0f}", f"{statistics.median(ratios):.2f}", spread))
        return found


async def measure(store: str, address: str, folder: Path, options: argparse.Namespace) -> Bench:
    """All strategies at one store."""
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(open_store(address))
        runtime = LiveRuntime("bench", None)
        stack.push_async_callback(runtime.close)
        database: SqlDatabase
        if opened.database is None:
            database = (await stack.enter_async_context(open_store(f"sqlite:{folder}/work.db"))).require_database()
        else:
            database = opened.database
        await database.execute("CREATE TABLE orders (no VARCHAR(40) NOT NULL)")

        async def work(one: MessageExt, transaction: SqlTransaction | None) -> None:
            await (transaction or database).execute("INSERT INTO orders (no) VALUES (:no)", {"no": one.message_id})

        async def alone(one: MessageExt) -> bool:
            await work(one, None)
            return True

        strategies: list[Strategy] = [MemorySet(), StateTable(opened.records, runtime.clock)]
        strategies += [LeaseLock(opened.records, runtime.clock)]
        if opened.database is not None:
            strategies += [ConditionalUpdate(database), MessageTable(database), CheckThenAct(database)]
            strategies += [SelectForUpdate(database)]
            with suppress(UnknownStrategy):  # PostgreSQL has no REPLACE
                strategies += [ReplaceInto(database)]
        listeners: dict[str, Callable[[MessageExt], Awaitable[bool]]] = {BARE: alone}
        for strategy in (NoStrategy(), *strategies):
            guard = IdempotentListener(runtime, work, strategy, strategy.name)
            await guard.prepare()
            listeners[strategy.name] = guard.consume
        bench, numbers = Bench(store, {name: [] for name in listeners}), itertools.count()
        for round_number in range(options.rounds + 1):
            order = list(listeners)
            shift = round_number % len(order)
            for name in order[shift:] + order[:shift]:
                batch = [message(next(numbers)) for _ in range(options.messages)]
                taken_us = await _take_through(listeners[name], batch, options.at_once)
                if round_number:  # the first one warms up
                    bench.taken_us[name].append(taken_us)
        return bench


async def _take_through(
    listener: Callable[[MessageExt], Awaitable[bool]], batch: list[MessageExt], at_once: int
) -> float:
    """Return microseconds per message, with this number of concurrent listener calls."""
    waiting = iter(batch)

    async def worker() -> None:
        for one in waiting:
            for _ in range(_DELIVERIES_MAX):
                if await listener(one):
                    break
            else:
                raise RuntimeError(f"{one} was not consumed at {_DELIVERIES_MAX} deliveries")

    started_s = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return (time.perf_counter() - started_s) / len(batch) * 1e6


def run_all(options: argparse.Namespace) -> tuple[list[Bench], list[str]]:
    """What was measured, and why the others could not be."""
    benches, notes = [], []
    for store, server in STORES.items():
        if options.stores and not any(wanted.lower() in store.lower() for wanted in options.stores.split(",")):
            continue
        with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as name:
            scheme = "sqlite+pysqlite:///" if "SQLAlchemy" in store else "sqlite:"
            try:
                if server is None:
                    benches.append(asyncio.run(measure(store, f"{scheme}{name}/bench.db", Path(name), options)))
                else:
                    with server() as running:
                        benches.append(asyncio.run(measure(store, running.url, Path(name), options)))
            except ServerMissing as missing:
                notes.append(f"{store} is left out: {missing}")
        print(f"  {store} done", file=sys.stderr)
    return benches, notes


def as_markdown(benches: list[Bench], notes: list[str], options: argparse.Namespace) -> str:
    """The table, with what it was measured on."""
    lines = [
        f"{machine()}; {options.rounds} rounds of {options.messages} messages, {options.at_once} listeners at once.",
        "",
        *(f"{note}.\n" for note in notes),
        "| store | strategy | µs per message, median | ratio, median | ratio, least to most |",
        "|---|---|---:|---:|---:|",
    ]
    lines += [f"| {bench.store} | {' | '.join(row)} |" for bench in benches for row in bench.rows()]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Measure and print; ``--write`` writes the same into a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="(default 7)")
    parser.add_argument("--messages", type=int, default=300, help="of each round and strategy (default 300)")
    parser.add_argument("--at-once", type=int, default=8, help="listeners at once (default 8)")
    parser.add_argument("--stores", help=f"parts of names, joined by commas, of: {', '.join(STORES)}")
    options = parse_with_document(parser, arguments, [_MARK])
    if min(options.rounds, options.messages, options.at_once) < 1:
        parser.error("--rounds, --messages and --at-once: at least 1")
    publish(options.write, _MARK, as_markdown(*run_all(options), options))
    return 0
