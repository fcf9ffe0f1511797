"""The stores and services that listeners use, in a scenario; see :mod:`engine.lab.work`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.lab.scenario.kinds.disk import parse_disk
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_spec import DiskNodeSpec, NodeSpec
from engine.lab.scenario.scenario_names import TIME_MAX_MS
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.work.work_spec import DatabaseConfig, ServiceConfig


@dataclass(frozen=True, kw_only=True)
class DatabaseSpec(DiskNodeSpec):
    """A database. ``stock``: the items at the beginning."""

    role: ClassVar[str] = "database"

    stock: int = 0


@dataclass(frozen=True, kw_only=True)
class RedisSpec(NodeSpec):
    """A Redis. ``replica_lag_ms``: what it forgets when a replica takes its place."""

    role: ClassVar[str] = "redis"

    replica_lag_ms: int = 0


@dataclass(frozen=True, kw_only=True)
class ServiceSpec(NodeSpec):
    """A remote service: it has no fields of its own."""

    role: ClassVar[str] = "service"


def _database(name: str, section: Section) -> DatabaseSpec:
    return DatabaseSpec(name, stock=section.integer("stock", 0, 1_000_000, 100), disk=parse_disk(section))


def _redis(name: str, section: Section) -> RedisSpec:
    return RedisSpec(name, replica_lag_ms=section.integer("replica_lag_ms", 0, TIME_MAX_MS, 1_000))


def _service(name: str, section: Section) -> ServiceSpec:
    return ServiceSpec(name)


DATABASE = NodeKind(DatabaseSpec, _database, ("stock", "disk"), (DatabaseConfig,))
REDIS = NodeKind(RedisSpec, _redis, ("replica_lag_ms",))
SERVICE = NodeKind(ServiceSpec, _service, configs=(ServiceConfig,))
