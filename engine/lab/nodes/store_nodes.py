"""Nodes of the stores that listeners use: a database, a Redis, a remote service; see :mod:`engine.lab.work`."""

from __future__ import annotations

from typing import NamedTuple

from engine.bank.database import BankDatabase
from engine.idempotence.foundation.record import RecordKey
from engine.idempotence.stores.redis_record_store import name_of
from engine.idempotence.stores.sql_record_store import SCHEMA_VERSION, create_statements
from engine.idempotence.strategies.tempting import MARKS_TABLE
from engine.lab.nodes.history import WorkDone
from engine.lab.nodes.scenario_node import ScenarioDiskNode, ScenarioNode, WorldContext
from engine.lab.scenario.kinds.stores import DatabaseSpec, RedisSpec, ServiceSpec
from engine.lab.work.binlog_server import BinlogSqlServer
from engine.lab.work.message_work import ITEM, SCHEMA
from engine.lab.work.redis_server import RedisModel, RedisServer, RedisValue
from engine.lab.work.service_server import ServiceServer
from engine.lab.work.sql_server import SqlServer
from engine.lab.work.store_frames import STORE_PORT
from engine.lab.work.work_spec import DatabaseConfig, ServiceConfig

#: Path of the database on the node's disk.
DATABASE_PATH = "database/shop.db"


class DatabaseNode(ScenarioDiskNode):
    """A database's node.

    :ivar server: None while the process does not run.
    """

    spec: DatabaseSpec

    engine_name = "server"
    server: SqlServer | None = None

    def __init__(self, world: WorldContext, spec: DatabaseSpec) -> None:
        super().__init__(world, spec)
        #: Table -> the last of its rows that was reported.
        self._reported = {"stock_move": 0, "order_event": 0}

    async def _start(self) -> None:
        database = BankDatabase(self.runtime.disk, DATABASE_PATH)
        if database.is_new:
            database.begin()
            for statement in (*SCHEMA, *create_statements("sqlite"), MARKS_TABLE):
                database.execute(statement)
            database.execute("INSERT INTO idempotence_schema VALUES (?)", (SCHEMA_VERSION,))
            database.execute("INSERT INTO stock VALUES (?, ?, 0)", (ITEM, self.spec.stock))
            database.commit()
        if self.config(DatabaseConfig).binlog:
            self.server = BinlogSqlServer(self.runtime, self.name, database, self.runtime.disk, self._report)
        else:
            self.server = SqlServer(self.runtime, self.name, database, self._report)
        await self.server.start(self.runtime.identity.host_ip, STORE_PORT)

    def at_rest(self) -> BankDatabase | None:
        """Return the database on the disk while no process runs, to be closed by the caller; None if it does not exist
        yet.
        """
        if not self.runtime.disk.exists(DATABASE_PATH):
            return None
        return BankDatabase(self.runtime.disk, DATABASE_PATH)

    def paid_orders(self) -> list[str]:
        """Return the numbers of committed paid orders; empty while no process runs."""
        if self.server is None or self.server.database.is_closed:
            return []
        rows = self.server.database.committed().query("SELECT order_no FROM orders WHERE status = 'PAID'", ())
        return [str(row["order_no"]) for row in rows]

    def free_record(self, key: RecordKey) -> bool:
        """Delete the committed record as soon as the database may be written."""
        where = "scope = :scope AND business_key = :business_key"
        if self.server is None or self.server.database.is_closed:
            return False
        if not self.server.database.committed()["idempotence_record"].count_where(where, key._asdict()):
            return False
        self.spawn(self.server.free_record(key), "administrator")
        return True

    def _report(self) -> None:
        """Report what was done since the last report."""
        assert self.server is not None, "it has just committed"
        for table, effect in (("stock_move", "'take'"), ("order_event", "effect")):
            rows = self.server.database.committed().query(
                f"SELECT number, {effect} AS effect, order_no, by_node FROM {table} WHERE number > ? ORDER BY number",
                (self._reported[table],),
            )
            for row in list(rows):
                self._reported[table] = row["number"]
                done = (row["effect"], row["order_no"], row["by_node"])
                self.world.history.work_done.append(WorkDone(*self.here_and_now, *done))

    def _forget(self) -> None:
        if self.server is not None:
            self.server.database.close()
        super()._forget()


class ForgottenKey(NamedTuple):
    """A write that a failover loses because it had not reached the replica."""

    time_us: int
    key: str


class RedisNode(ScenarioNode):
    """A Redis node.

    :ivar server: None while the process does not run.
    :ivar forgotten: what the last failover has lost.
    """

    spec: RedisSpec

    engine_name = "server"
    server: RedisServer | None = None

    def __init__(self, world: WorldContext, spec: RedisSpec) -> None:
        super().__init__(world, spec)
        self._values: dict[str, RedisValue] = {}
        self.forgotten: list[ForgottenKey] = []

    async def _start(self) -> None:
        self.server = RedisServer(self.runtime, self.name, RedisModel(self.runtime.clock, self._values))
        await self.server.start(self.runtime.identity.host_ip, STORE_PORT)

    async def _stop(self) -> None:
        if self.server is not None:
            # Cleanly: what is in memory is saved first.
            self._values = dict(self.server.model.values())
            self.forgotten = []
        await super()._stop()

    def at_rest(self) -> dict[str, RedisValue]:
        """Return the data with which the next process begins, by key."""
        return self._values

    def free_record(self, key: RecordKey) -> bool:
        if self.server is None or name_of(key) not in self.server.model.values():
            return False
        self.server.model.command(["DEL", name_of(key)])
        return True

    def crashed(self) -> None:
        """Continue with a replica, which has only the writes that had reached it."""
        if self.server is not None:
            model = self.server.model
            known_until_us = self.world.now_us - self.spec.replica_lag_ms * 1_000
            self.forgotten = []
            for time_us, key, value in model.writes:
                if time_us > known_until_us:
                    self.forgotten.append(ForgottenKey(time_us, key))
                elif value is None:
                    self._values.pop(key, None)
                else:
                    self._values[key] = value
        super().crashed()


class ServiceNode(ScenarioNode):
    """A service's node.

    :ivar calls: (operation, key) -> how often it was done.
    """

    spec: ServiceSpec

    engine_name = "server"
    server: ServiceServer | None = None

    def __init__(self, world: WorldContext, spec: ServiceSpec) -> None:
        super().__init__(world, spec)
        self.calls: dict[tuple[str, str], int] = {}

    async def _start(self) -> None:
        self.server = ServiceServer(self.runtime, self.name, self._config, self.calls, self._report)
        await self.server.start(self.runtime.identity.host_ip, STORE_PORT)

    def _config(self) -> ServiceConfig:
        return self.config(ServiceConfig)

    def _report(self, operation: str, key: str, by: str, undoes: str) -> None:
        self.world.history.work_done.append(WorkDone(*self.here_and_now, operation, key, by, undoes))
