"""Configuration of idempotence by name, as in code, scenarios and commands, and the strategy that it selects."""

from __future__ import annotations

from dataclasses import dataclass

from engine.idempotence.foundation.business_key import KeyOf, first_of_keys, unique_id, user_property
from engine.idempotence.foundation.errors import UnknownStrategy
from engine.idempotence.foundation.record import DEFAULT_EXPIRY_MS, DEFAULT_RETENTION_MS
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.foundation.sql_port import SqlDatabase
from engine.idempotence.idempotent_listener import WhenUnreachable
from engine.idempotence.strategies.conditional_update import ConditionalUpdate, VersionCheck
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
    SetIfAbsent,
)
from engine.runtime.port import Clock

#: Strategies that need a relational database and nothing else.
_ON_DATABASE = (MessageTable, ConditionalUpdate, VersionCheck, CheckThenAct, SelectForUpdate, ReplaceInto)

_WITH_TRANSACTION = tuple(kind.name for kind in _ON_DATABASE if kind.has_transaction)

#: All names, the recommended ones first.
STRATEGIES = (
    MessageTable.name,
    StateTable.name,
    ConditionalUpdate.name,
    VersionCheck.name,
    NoStrategy.name,
    CheckThenAct.name,
    SelectForUpdate.name,
    ReplaceInto.name,
    MemorySet.name,
    LeaseLock.name,
    SetIfAbsent.name,
)

_PROPERTY = "property:"


@dataclass(frozen=True, slots=True)
class IdempotenceConfig:
    """Configuration of an idempotent listener. Raises ``ValueError`` for unknown names.

    :ivar idempotence_strategy: one of :data:`STRATEGIES`.
    :ivar idempotence_key: ``unique-id``, ``keys`` (the first of the message's keys) or ``property:NAME``.
    :ivar idempotence_expiry_ms: how long work may take; the lease of ``lease-lock``.
    :ivar idempotence_retention_ms: how long finished work is remembered.
    :ivar idempotence_when_unreachable: ``come-again`` or ``work``.
    :ivar idempotence_checks_owner: ``state-table``: only the owner changes a record.
    :ivar idempotence_checks_body: a key that is used again with another body is refused.
    :ivar idempotence_generation: each generation has records of its own: for a deliberate replay.
    :ivar idempotence_stops_after: failed deliveries of a message after which the consumer is suspended, see
        :class:`~engine.idempotence.failure_alarm.FailureAlarm`; 0: never.
    """

    idempotence_strategy: str = NoStrategy.name
    idempotence_key: str = "unique-id"
    idempotence_expiry_ms: int = DEFAULT_EXPIRY_MS
    idempotence_retention_ms: int = DEFAULT_RETENTION_MS
    idempotence_when_unreachable: str = WhenUnreachable.COME_AGAIN.value
    idempotence_checks_owner: bool = True
    idempotence_checks_body: bool = True
    idempotence_generation: str = ""
    idempotence_stops_after: int = 0

    def __post_init__(self) -> None:
        _one_of("idempotence_strategy", self.idempotence_strategy, STRATEGIES)
        _one_of("idempotence_when_unreachable", self.idempotence_when_unreachable, tuple(WhenUnreachable))
        key_of(self.idempotence_key)
        works_alone = self.idempotence_when_unreachable == WhenUnreachable.WORK
        if works_alone and self.idempotence_strategy in _WITH_TRANSACTION:
            raise ValueError(
                f"idempotence_when_unreachable {WhenUnreachable.WORK} is not allowed with {self.idempotence_strategy}: "
                "its work is part of a transaction of the database that cannot be reached"
            )

    def scope(self, group: str) -> str:
        """Return the scope of the records of a consumer group."""
        return f"{group}#{self.idempotence_generation}" if self.idempotence_generation else group


def key_of(name: str) -> KeyOf:
    """Return the key function with this name. Raises ``ValueError``."""
    if name == "unique-id":
        return unique_id
    if name == "keys":
        return first_of_keys
    if name.startswith(_PROPERTY) and len(name) > len(_PROPERTY):
        return user_property(name.removeprefix(_PROPERTY))
    raise ValueError(f"idempotence_key {name!r} is not allowed; allowed: unique-id, keys, {_PROPERTY}NAME")


def make_strategy(
    config: IdempotenceConfig, database: SqlDatabase | None, records: RecordStore | None, clock: Clock
) -> Strategy:
    """Return the configured strategy. Raises :class:`UnknownStrategy` if a store that it needs is missing."""
    name = config.idempotence_strategy
    for kind in _ON_DATABASE:
        if kind.name == name:
            if database is None:
                raise UnknownStrategy(f"{name} needs a relational database")
            return MessageTable(database, config.idempotence_retention_ms) if kind is MessageTable else kind(database)
    if name == NoStrategy.name:
        return NoStrategy()
    if name == MemorySet.name:
        return MemorySet()
    if records is None:
        raise UnknownStrategy(f"{name} needs a store of records")
    if name == LeaseLock.name:
        return LeaseLock(records, clock, config.idempotence_retention_ms)
    if name == SetIfAbsent.name:
        return SetIfAbsent(records, config.idempotence_retention_ms)
    if name == StateTable.name:
        retention_ms = config.idempotence_retention_ms
        return StateTable(records, clock, retention_ms, checks_owner=config.idempotence_checks_owner)
    raise UnknownStrategy(f"strategy {name!r} is not allowed; allowed: {', '.join(STRATEGIES)}")


def _one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{field} {value!r} is not allowed; allowed: {', '.join(allowed)}")
