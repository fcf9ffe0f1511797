"""The lab's stores, each on a node of its own with two clients of it, in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.bank.database import BankDatabase
from engine.idempotence.foundation.record import RecordKey
from engine.idempotence.stores.redis_record_store import PREFIX, RedisRecordStore
from engine.idempotence.stores.sql_record_store import SqlRecordStore
from engine.lab.work.redis_server import RedisModel, RedisServer
from engine.lab.work.sql_server import SqlServer
from engine.lab.work.store_clients import LabRedis, LabSqlDatabase, StoreClient
from engine.lab.work.store_frames import STORE_PORT
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.idempotence.stores import Stores

#: Virtual time is free.
LIMIT_MS = 1_000_000_000


class LabSqlKind:
    """The database of a scenario."""

    reports_takeover = True

    def run(self, check: Callable[[Stores], Awaitable[None]], timeout_ms: int = 0) -> None:
        with LabMachines(seed=1, latency_us=1_000) as world:
            node = world.node("D1")
            server = SqlServer(node, "D1", BankDatabase(node.disk, "database/shop.db"), lambda: None)
            node.run(server.start(node.identity.host_ip, STORE_PORT))
            address = f"{node.identity.host_ip}:{STORE_PORT}"
            first, second = (
                LabSqlDatabase(StoreClient(world.node(name), name), address) for name in ("first", "second")
            )

            async def prepared() -> None:
                stores = Stores(SqlRecordStore(first), SqlRecordStore(second), _nothing, database=first)
                await stores.first.prepare()
                await check(stores)

            world.node("first").run(prepared(), limit_ms=LIMIT_MS)


class LabRedisKind:
    """The model of a Redis."""

    reports_takeover = False

    def run(self, check: Callable[[Stores], Awaitable[None]], timeout_ms: int = 0) -> None:
        with LabMachines(seed=1, latency_us=1_000) as world:
            node = world.node("R1")
            server = RedisServer(node, "R1", RedisModel(node.clock))
            node.run(server.start(node.identity.host_ip, STORE_PORT))
            address = f"{node.identity.host_ip}:{STORE_PORT}"
            first, second = (LabRedis(StoreClient(world.node(name), name), address) for name in ("first", "second"))

            async def expire(key: RecordKey) -> None:
                await first.execute_command("DEL", f"{PREFIX}{key.scope}:{key.business_key}")

            async def checked() -> None:
                await check(Stores(RedisRecordStore(first), RedisRecordStore(second), expire, redis=first))

            world.node("first").run(checked(), limit_ms=LIMIT_MS)


async def _nothing(key: RecordKey) -> None:
    """The clients' clocks count."""
