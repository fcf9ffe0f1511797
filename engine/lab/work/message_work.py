"""The work of an order's message, step by step (the running example of the article on deduplication).

::

    order   write the order into the table: it is paid    or place it first and pay it later
    take    take it from the stock                        the effect that must happen once
    note    note that the order was seen here
    call    have another service do something             at once, and not to be rolled back
    ask     ask another service                           changes nothing
    reserve reserve at another service                    and confirm or cancel after the last one

The listener's time passes between the steps, where a second delivery can come.

Work that fails half-way takes back its calls, the last one first, if they have an undo (compensation, as a saga has
it). A process that dies takes nothing back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from engine.idempotence.foundation.errors import AlreadyDone, ComeAgainLater
from engine.idempotence.foundation.sql_port import SqlDatabase, SqlSession, SqlTransaction
from engine.idempotence.strategies.conditional_update import ConditionalUpdate, VersionCheck
from engine.lab.work.reservations import reserve_all
from engine.lab.work.store_clients import LabService
from engine.lab.work.work_spec import StepKind, WorkStep
from engine.runtime.step import step

#: The only item on sale.
ITEM = "book"

#: Tables of the application; see :func:`engine.idempotence.stores.sql_record_store.create_statements` for those of
#: idempotence. ``stock_move`` has a row for each time that something was taken, ``order_event`` for each time that an
#: order was placed, paid or noted; ``hop`` has the outcomes of :mod:`engine.lab.nodes.relay`.
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS orders (order_no TEXT PRIMARY KEY, status TEXT NOT NULL, times INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, opening INTEGER NOT NULL, version INTEGER NOT NULL)",
    (
        "CREATE TABLE IF NOT EXISTS stock_move (number INTEGER PRIMARY KEY AUTOINCREMENT, order_no TEXT NOT NULL, "
        "by_node TEXT NOT NULL)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS order_event (number INTEGER PRIMARY KEY AUTOINCREMENT, effect TEXT NOT NULL, "
        "order_no TEXT NOT NULL, by_node TEXT NOT NULL)"
    ),
    "CREATE TABLE IF NOT EXISTS hop (half_id TEXT PRIMARY KEY, is_committed INTEGER NOT NULL)",
)
_PLACE = "INSERT INTO orders (order_no, status, times) VALUES (:order_no, 'NEW', 0) ON CONFLICT (order_no) DO NOTHING"
_PAY = "UPDATE orders SET status = 'PAID', times = times + 1 WHERE order_no = :order_no"
_TAKE = "INSERT INTO stock_move (order_no, by_node) VALUES (:order_no, :by_node)"
_EVENT = "INSERT INTO order_event (effect, order_no, by_node) VALUES (:effect, :order_no, :by_node)"
_NEXT_VERSION = "UPDATE stock SET version = version + 1 WHERE item = :item AND version = :seen"

_EVENT_STEPS = {
    StepKind.PLACE: "places the order",
    StepKind.PAY: "marks the order paid",
    StepKind.NOTE: "notes the order",
}


class WorkFailed(Exception):
    """The scenario lets the work fail."""


class ScenarioWork:
    """The work of one consumer's process.

    :param services: by node name.
    """

    def __init__(
        self, node: str, database: SqlDatabase, services: Mapping[str, LabService], steps: Sequence[WorkStep]
    ) -> None:
        self._node = node
        self._database = database
        self._services = services
        self._steps = steps

    async def do(
        self,
        key: str,
        strategy: str,
        transaction: SqlTransaction | None,
        duration_ms: float,
        failure: Exception | None = None,
        *,
        undoes_calls: bool = True,
    ) -> None:
        """Do the work for the order ``key``.

        :param strategy: strategies with a condition of their own write it into their statements.
        :param failure: raised before the last step.
        :param undoes_calls: whether work that fails takes back its calls, where there is an ``undo``.
        """
        on: SqlSession = transaction if transaction is not None else self._database
        pause_s = duration_ms / 1_000 / len(self._steps)
        called: list[WorkStep] = []
        reservations = [one for one in self._steps if one.kind is StepKind.RESERVE]
        try:
            for number, one in enumerate(self._steps):
                if one.kind is StepKind.RESERVE:
                    if one is reservations[-1]:
                        await reserve_all([self._services[each.service] for each in reservations], key, pause_s)
                    continue
                await asyncio.sleep(pause_s)
                if failure is not None and number == len(self._steps) - 1:
                    raise failure
                if one.undo and undoes_calls:
                    # Before the call: it is unknown whether one without an answer was carried out.
                    called.append(one)
                await self._do_step(one, on, key, strategy)
        except Exception:
            for one in reversed(called):
                await step("takes a call back")
                await self._services[one.service].call(one.undo, key, undoes=one.operation)
            raise

    async def _do_step(self, one: WorkStep, on: SqlSession, key: str, strategy: str) -> None:
        match one.kind:
            case StepKind.ORDER:
                await self._write_order(on, key, strategy)
            case StepKind.TAKE:
                await step("takes it from the stock")
                await on.execute(_TAKE, {"order_no": key, "by_node": self._node})
            case StepKind.PLACE | StepKind.PAY | StepKind.NOTE:
                await step(_EVENT_STEPS[one.kind])
                if one.kind is not StepKind.NOTE:
                    await on.execute(_PLACE if one.kind is StepKind.PLACE else _PAY, {"order_no": key})
                await on.execute(_EVENT, {"effect": one.kind.value, "order_no": key, "by_node": self._node})
            case StepKind.CALL | StepKind.ASK:
                await step("calls a service")
                await self._services[one.service].call(one.operation, key, changes=one.kind is StepKind.CALL)

    async def _write_order(self, on: SqlSession, key: str, strategy: str) -> None:
        await step("writes the order")
        if strategy == VersionCheck.name:
            await self._next_version(on, int(key.rpartition("-")[2]))
        await on.execute(_PLACE, {"order_no": key})
        condition = " AND status = 'NEW'" if strategy == ConditionalUpdate.name else ""
        if not (await on.execute(_PAY + condition, {"order_no": key})).changed:
            raise AlreadyDone(f"{key} is paid")

    async def _next_version(self, on: SqlSession, seen: int) -> None:
        """Advance the version. ``seen``: the version that the producer saw: each order expects the stock as the one
        before left it.
        """
        if (await on.execute(_NEXT_VERSION, {"item": ITEM, "seen": seen})).changed:
            return
        found = await on.execute("SELECT version FROM stock WHERE item = :item", {"item": ITEM})
        if int(found.rows[0]["version"] or 0) > seen:
            raise AlreadyDone(f"the stock is beyond version {seen}")
        raise ComeAgainLater(f"the stock is not at version {seen} yet")
