"""The services that listeners use, and the guards against repeated work: databases, Redis, services, and
idempotence guards.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, cast

from app.lab.foundation.bounds import IN_FLIGHT_SHOWN, WORK_ROWS_SHOWN
from app.observation.unix_time import world_us
from engine.idempotence.foundation.record import IdempotenceRecord, RecordKey, RecordState
from engine.idempotence.idempotence_config import IdempotenceConfig
from engine.idempotence.stores.redis_record_store import PREFIX, key_in, record_in
from engine.idempotence.strategies.state_table import StateTable
from engine.idempotence.strategies.tempting import LOCKS, LeaseLock, MemorySet, NoStrategy, SetIfAbsent
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.work.binlog_server import BinlogSqlServer
from engine.lab.work.work_spec import ServiceConfig, StepKind, WorkStep
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS

if TYPE_CHECKING:
    from sqlite_utils import Database

    from app.picture.world import work as picture
    from engine.bank.database import BankDatabase
    from engine.lab.nodes.consumer_node import ConsumerNode
    from engine.lab.nodes.scenario_node import WorldContext
    from engine.lab.nodes.store_nodes import DatabaseNode, RedisNode, ServiceNode
    from engine.lab.work.sql_server import OpenTransaction, SqlServer
    from engine.lab.work.work_spec import WorkSpec
    from engine.lab.world.world import ScenarioWorld

#: Owner's token -> the consumer that works on it.
Owners = dict[str, str]

TAKE = WorkStep(StepKind.TAKE)
#: Letters of an owner's token that are shown.
_OWNER_LETTERS = 4
#: Tables with a row for each time that something was done for an order.
_DONE = (
    "WITH done AS (SELECT order_no, 'take' AS effect, by_node, number FROM stock_move "
    "UNION ALL SELECT order_no, effect, by_node, number FROM order_event) "
)
#: Rows without an order have no status in a column.
_ORDERS = (
    f"{_DONE}SELECT order_no, status, "
    "(SELECT count(*) FROM done WHERE order_no = o.order_no GROUP BY effect ORDER BY 1 DESC LIMIT 1) AS times, "
    "(SELECT group_concat(by_node) FROM "
    "(SELECT by_node FROM done WHERE order_no = o.order_no GROUP BY by_node ORDER BY min(number))) AS by_nodes "
    "FROM (SELECT rowid AS place, order_no, status FROM orders UNION ALL "
    "SELECT min(number), order_no, iif(effect = 'take', 'taken', 'noted') FROM done WHERE effect IN ('take', 'note') "
    "AND order_no NOT IN (SELECT order_no FROM orders) GROUP BY order_no) o "
    "ORDER BY place DESC LIMIT :most"
)
_STOCK = "SELECT item, opening, opening - (SELECT count(*) FROM stock_move) AS left, version FROM stock"
_TWICE = f"{_DONE}SELECT count(*) AS n FROM (SELECT 1 FROM done GROUP BY order_no, effect HAVING count(*) > 1)"
_RECORDS = "SELECT * FROM idempotence_record ORDER BY rowid DESC LIMIT :most"


def owners_of(world: ScenarioWorld) -> Owners:
    """Return which consumer works on what now."""
    return {
        owner: role.name
        for role in world.consumers()
        if role.guard is not None
        for owner in role.guard.listener.under_way
    }


def service_view(role: ServiceNode) -> picture.ServiceNode:
    """Return the view of a service."""
    calls: list[picture.ServiceCall] = [
        {"operation": operation, "key": key, "times": times}
        for (operation, key), times in islice(
            ((done, times) for done, times in reversed(role.calls.items()) if times), WORK_ROWS_SHOWN
        )
    ]
    return {
        "service": {
            "calls": calls,
            "call_count": sum(role.calls.values()),
            "twice": sum(times > 1 for times in role.calls.values()),
            "is_idempotent": _is_idempotent(role),
        }
    }


def idempotence_view(role: ConsumerNode) -> picture.Idempotence | None:
    """Return the idempotence of a consumer with work; None without."""
    if role.spec.work is None:
        return None
    config = role.config(IdempotenceConfig)
    under_way = {} if role.guard is None else role.guard.listener.under_way
    alarm = role.alarm
    judged: list[picture.Judged] = [
        {
            "key": entry.key,
            "order": entry.order,
            "verdict": entry.verdict,
            "is_acknowledged": entry.is_acknowledged,
            "time_us": entry.time_us,
        }
        for entry in role.judged
    ]
    return {
        "strategy": config.idempotence_strategy,
        "key": config.idempotence_key,
        "expiry_ms": config.idempotence_expiry_ms,
        "store": _store_of(config.idempotence_strategy, role.spec.work),
        "counters": {**role.idempotence_counters.to_dict()},
        "under_way": [claimed.business_key for claimed in islice(under_way.values(), IN_FLIGHT_SHOWN)],
        "judged": judged,
        "alarm": None if alarm is None else {"key": alarm.key, "deliveries": alarm.deliveries},
    }


def _store_of(strategy: str, work: WorkSpec) -> str | None:
    if strategy in (StateTable.name, LeaseLock.name, SetIfAbsent.name):
        return work.records
    return None if strategy in (NoStrategy.name, MemorySet.name) else work.database


def redis_view(role: RedisNode, owners: Owners) -> picture.RedisNode:
    """Return the view of a Redis."""
    values = role.at_rest() if role.server is None else role.server.model.values()
    at_replica_us = _replica_times(role)
    keys: list[picture.RedisRecord | picture.RedisValue] = []
    for name, (value, expires_us) in islice(reversed(values.items()), WORK_ROWS_SHOWN):
        record = record_in(name, value, 0)
        replica_us = at_replica_us.get(name)
        if record is None:
            keys.append({"key": name, "value": value, "expires_us": expires_us, "replica_us": replica_us})
        else:
            view = _record_view(record, owners)
            view["expires_us"] = expires_us
            keys.append({**view, "replica_us": replica_us})
    forgotten = [
        key_in(name).business_key if name.startswith(PREFIX) else name
        for name in dict.fromkeys(lost.key for lost in role.forgotten)
    ]
    return {
        "redis": {
            "keys": keys,
            "key_count": len(values),
            "forgotten": forgotten[-WORK_ROWS_SHOWN:],
            "replica_lag_ms": role.spec.replica_lag_ms,
        }
    }


def _replica_times(role: RedisNode) -> dict[str, int]:
    """Return when the replica has the keys that were written a moment ago."""
    lag_us = role.spec.replica_lag_ms * 1_000
    found: dict[str, int] = {}
    for time_us, name, _ in reversed(() if role.server is None else role.server.model.writes):
        if time_us + lag_us <= role.world.now_us:
            break
        found.setdefault(name, time_us + lag_us)
    return found


def _record_view(record: IdempotenceRecord, owners: Owners) -> picture.IdempotenceRecord:
    return {
        "scope": record.key.scope,
        "key": record.key.business_key,
        "is_lock": record.key.scope.endswith(LOCKS),
        "state": record.state.value,
        "owner": record.owner[:_OWNER_LETTERS],
        "by": owners.get(record.owner),
        "message_id": record.message_id,
        "taken_us": world_us(record.taken_ms, WORLD_BEGIN_MS),
        "expires_us": world_us(record.expires_ms, WORLD_BEGIN_MS),
    }


def _is_idempotent(role: ServiceNode) -> bool:
    works = [node.work for node in role.world.scenario.of_kind(ConsumerSpec) if node.work is not None]
    config = role.config(ServiceConfig)
    if any(one.kind is StepKind.RESERVE and one.service == role.name for work in works for one in work.steps):
        return config.keeps_reservation_states
    return config.service_is_idempotent


class DatabaseView:
    """The view of one database; its tables are read again only when something was written."""

    def __init__(self, role: DatabaseNode) -> None:
        self._role = role
        works = [node.work for node in role.world.scenario.of_kind(ConsumerSpec) if node.work is not None]
        self._has_stock = any(work.database == role.name and TAKE in work.steps for work in works)
        self._read_from: tuple[BankDatabase, Database, int, int, bool] | None = None
        self._orders: tuple[list[picture.Order], int] = ([], 0)
        self._twice = 0
        self._stock: picture.Stock | None = None
        self._record_count = 0
        self._records: list[tuple[IdempotenceRecord, bool]] = []

    def build(self, owners: Owners) -> picture.DatabaseNode:
        """Return the view of the database."""
        server = self._role.server
        database = self._role.at_rest() if server is None else server.database
        if database is None or database.is_closed:
            return {"database": None}
        try:
            self._read(database)
        finally:
            if server is None:
                database.close()
        records: list[picture.DatabaseRecord] = [
            {**_record_view(record, owners), "is_open": is_open} for record, is_open in self._records
        ]
        return {
            "database": {
                "orders": self._orders[0],
                "order_count": self._orders[1],
                "twice": self._twice,
                "stock": self._stock,
                "records": records,
                "record_count": self._record_count,
                "open": [] if server is None else _open(server, self._role.world),
                "binlog": _logged(server) if isinstance(server, BinlogSqlServer) else None,
            }
        }

    def _read(self, database: BankDatabase) -> None:
        connection = database.tables.conn
        state = (database, database.tables, database.commit_count, connection.total_changes, database.in_transaction)
        if self._read_from == state:
            return
        now, committed = database.tables, database.committed()
        self._orders = (_orders(now, committed), committed["orders"].count)
        self._twice = next(committed.query(_TWICE))["n"]
        self._stock = cast("picture.Stock | None", next(committed.query(_STOCK), None)) if self._has_stock else None
        self._record_count = committed["idempotence_record"].count
        known = {row.key: row.owner for row in _records(committed)}
        self._records = [(row, known.get(row.key) != row.owner) for row in _records(now)[:WORK_ROWS_SHOWN]]
        self._read_from = state


def _orders(now: Database, committed: Database) -> list[picture.Order]:
    settled = {row["order_no"]: row for row in committed.query(_ORDERS, {"most": WORK_ROWS_SHOWN + 1})}
    return [
        {
            "key": row["order_no"],
            "status": row["status"],
            "times": row["times"] or 0,
            "by": row["by_nodes"] or "",
            "is_open": settled.get(row["order_no"]) != row,
        }
        for row in now.query(_ORDERS, {"most": WORK_ROWS_SHOWN})
    ]


def _records(tables: Database) -> list[IdempotenceRecord]:
    return [
        IdempotenceRecord(
            RecordKey(row["scope"], row["business_key"]),
            RecordState(row["state"]),
            row["owner"],
            row["digest"],
            row["message_id"],
            row["taken_ms"],
            row["expires_ms"],
        )
        for row in tables.query(_RECORDS, {"most": WORK_ROWS_SHOWN + 1})
    ]


def _open(server: SqlServer, world: WorldContext) -> list[picture.OpenSqlTransaction]:
    """Return the open transactions; those of a single statement too, as long as they wait."""
    names = {role.runtime.identity.host_ip: name for name, role in world.nodes.items()}
    waiting = [transaction for transaction, _ in server.waiting]
    alone = [one for one in waiting if one.number == 0]
    return [
        _transaction_view(one, server, _client(one, names), waits=one in waiting)
        for one in islice((*server.open.values(), *alone), IN_FLIGHT_SHOWN)
    ]


def _client(transaction: OpenTransaction, names: Mapping[str, str]) -> str | None:
    channel = transaction.channel
    return None if channel is None else names.get(channel.remote_address.partition(":")[0])


def _logged(server: BinlogSqlServer) -> list[picture.LoggedTransaction]:
    return [
        {"xid": one.xid, "state": one.state, "is_in_binlog": one.is_in_binlog, "by_recovery": one.by_recovery}
        for one in server.logged
    ]


def _transaction_view(
    transaction: OpenTransaction, server: SqlServer, node: str | None, *, waits: bool
) -> picture.OpenSqlTransaction:
    return {
        "node": node,
        "number": transaction.number,
        "since_us": transaction.since_us,
        "state": "waits" if waits else "writes" if server.writer is transaction else "reads",
        "statement": transaction.statements[-1] if transaction.statements else "",
    }
