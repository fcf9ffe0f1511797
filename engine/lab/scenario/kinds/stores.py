"""The stores and services that listeners use, in a scenario; see :mod:`engine.lab.work`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.fields.field import Field
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_spec import DiskNodeSpec, NodeSpec
from engine.lab.scenario.scenario_names import Milliseconds
from engine.lab.work.store_frames import StoreRequestCode
from engine.lab.work.work_spec import DatabaseConfig, ServiceConfig


@dataclass(frozen=True, kw_only=True)
class DatabaseSpec(DiskNodeSpec):
    """A database. ``stock``: the items at the beginning."""

    role: ClassVar[str] = "database"
    has_steps = False
    served_requests = (
        StoreRequestCode.SQL_EXECUTE.name,
        StoreRequestCode.SQL_COMMIT.name,
        StoreRequestCode.SQL_ROLLBACK.name,
    )

    stock: Annotated[int, Field("", "integer", 0, 1_000_000)] = 100


@dataclass(frozen=True, kw_only=True)
class RedisSpec(NodeSpec):
    """A Redis. ``replica_lag_ms``: what it forgets when a replica takes its place."""

    role: ClassVar[str] = "redis"
    has_steps = False
    served_requests = (StoreRequestCode.REDIS_COMMAND.name,)

    replica_lag_ms: Milliseconds = 1_000


@dataclass(frozen=True, kw_only=True)
class ServiceSpec(NodeSpec):
    """A remote service: it has no fields of its own."""

    role: ClassVar[str] = "service"
    has_steps = False
    served_requests = (StoreRequestCode.SERVICE_CALL.name,)


DATABASE = NodeKind(DatabaseSpec, (DatabaseConfig,))
REDIS = NodeKind(RedisSpec)
SERVICE = NodeKind(ServiceSpec, (ServiceConfig,))
