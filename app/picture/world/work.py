"""The services that listeners use in a lab world, and the guards against repeated work."""

from __future__ import annotations

from typing import TypedDict


class IdempotenceRecord(TypedDict):
    """A record of what is done or under way. A consumer whose clock is ahead writes times ahead."""

    scope: str
    key: str
    #: The lock of another record.
    is_lock: bool
    state: str
    #: The beginning of its token.
    owner: str
    #: The consumer that works on it; None: no consumer does.
    by: str | None
    message_id: str
    taken_us: int
    #: None: never.
    expires_us: int | None


class DatabaseRecord(IdempotenceRecord):
    """A record in a database."""

    #: Not committed yet.
    is_open: bool


class Order(TypedDict):
    """What was done for an order."""

    key: str
    status: str
    #: Repetitions of the most repeated work for it.
    times: int
    #: Consumers that did something for it, with commas between them.
    by: str
    #: Not committed yet.
    is_open: bool


class Stock(TypedDict):
    """The stock that orders are taken from."""

    item: str
    opening: int
    left: int
    version: int


class OpenSqlTransaction(TypedDict):
    """An open transaction."""

    #: None: the administrator.
    node: str | None
    number: int
    since_us: int
    #: "writes", "waits" or "reads".
    state: str
    #: The last one.
    statement: str


class LoggedTransaction(TypedDict):
    """A transaction in the two logs of a database."""

    xid: int
    #: "prepared", "committed" or "rolled-back".
    state: str
    is_in_binlog: bool
    #: Recovery decided it.
    by_recovery: bool


class Database(TypedDict):
    """A database. While no process runs: what is on the disk."""

    #: The newest ones.
    orders: list[Order]
    order_count: int
    #: Work done more than once.
    twice: int
    #: None where nothing is taken from it.
    stock: Stock | None
    #: The newest ones.
    records: list[DatabaseRecord]
    record_count: int
    open: list[OpenSqlTransaction]
    #: The newest ones; None: it has no such log.
    binlog: list[LoggedTransaction] | None


class DatabaseNode(TypedDict):
    """The node of a database."""

    #: None while nothing was ever committed.
    database: Database | None


class RedisRecord(IdempotenceRecord):
    """A record in Redis."""

    #: From when on a failover keeps it; None: from now on.
    replica_us: int | None


class RedisValue(TypedDict):
    """Another value in Redis."""

    key: str
    value: str
    expires_us: int | None
    replica_us: int | None


class Redis(TypedDict):
    """A Redis. While no process runs: what it begins with."""

    keys: list[RedisRecord | RedisValue]
    key_count: int
    #: Keys that the last failover has lost.
    forgotten: list[str]
    replica_lag_ms: int


class RedisNode(TypedDict):
    """The node of a Redis."""

    redis: Redis


class ServiceCall(TypedDict):
    """Calls with the same operation and key."""

    operation: str
    key: str
    times: int


class Service(TypedDict):
    """A service."""

    #: The newest ones.
    calls: list[ServiceCall]
    call_count: int
    #: Operations done more than once.
    twice: int
    is_idempotent: bool


class ServiceNode(TypedDict):
    """The node of a service."""

    service: Service


class Judged(TypedDict):
    """A delivery that the guard judged."""

    key: str
    order: str
    verdict: str
    is_acknowledged: bool
    time_us: int


class IdempotenceAlarm(TypedDict):
    """The message that made the guard sound an alarm."""

    key: str
    deliveries: int


class Idempotence(TypedDict):
    """The guard of a consumer with work."""

    strategy: str
    #: What identifies a message.
    key: str
    expiry_ms: int
    #: The node that guards it, or None.
    store: str | None
    #: Name -> count over all its processes.
    counters: dict[str, int]
    #: Keys of the business.
    under_way: list[str]
    #: The newest ones.
    judged: list[Judged]
    alarm: IdempotenceAlarm | None
