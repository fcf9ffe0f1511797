"""Work of a scenario's listener."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StepKind(StrEnum):
    """A kind of step in the work of a message, see :mod:`engine.lab.work.message_work`."""

    #: Write the order into the database, as paid.
    ORDER = "order"
    #: Take it from the stock, in the database: the effect that must happen once.
    TAKE = "take"
    #: Write the order into the database, not paid yet.
    PLACE = "place"
    #: Mark the order as paid.
    PAY = "pay"
    #: Note in the database that the order was seen here.
    NOTE = "note"
    #: Call a service that does something immediately.
    CALL = "call"
    #: Call a service that only answers.
    ASK = "ask"
    #: Reserve at a service; after the last of these all are confirmed or cancelled.
    RESERVE = "reserve"


#: Steps that name a service and an operation.
CALLS = (StepKind.CALL, StepKind.ASK)
#: Steps that name a service.
WITH_SERVICE = (*CALLS, StepKind.RESERVE)


@dataclass(frozen=True, slots=True)
class WorkStep:
    """One step. ``service`` and ``operation``: of a call. ``undo``: the operation that takes it back; empty: none."""

    kind: StepKind
    service: str = ""
    operation: str = ""
    undo: str = ""


#: Seed 002's running example: insert the order, then update the stock.
ORDER_AND_STOCK = (WorkStep(StepKind.ORDER), WorkStep(StepKind.TAKE))


@dataclass(frozen=True, slots=True)
class WorkSpec:
    """Work of a listener; the consumer's settings ``idempotence_...`` protect it from being done twice.

    :ivar database: the node whose tables it changes.
    :ivar records: the node with the records of idempotence: the same, or a Redis.
    :ivar steps: in this order; the listener's time is spread between them.
    :ivar then: topic of the next message, sent in one transaction with the work, see :mod:`engine.lab.nodes.relay`;
        empty: no next message.
    """

    database: str
    records: str
    steps: tuple[WorkStep, ...] = ORDER_AND_STOCK
    then: str = ""

    @property
    def services(self) -> list[str]:
        """Return the services that its steps call."""
        return [step.service for step in self.steps if step.kind in WITH_SERVICE]

    @property
    def effects(self) -> dict[tuple[str, str], None]:
        """Return what must be done once: (node, effect), as in the world's history. Writing an order twice changes
        nothing, and neither does a query; a reservation may be cancelled.
        """
        effects: dict[tuple[str, str], None] = {}
        for step in self.steps:
            if step.kind is StepKind.CALL:
                effects[step.service, step.operation] = None
            elif step.kind not in (StepKind.ORDER, StepKind.ASK, StepKind.RESERVE):
                effects[self.database, step.kind.value] = None
        return effects


@dataclass(frozen=True, slots=True)
class WorkConfig:
    """Settings of a listener's work. With ``work_undoes_calls``, failed work undoes its calls that have an undo."""

    work_undoes_calls: bool = True


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    """Settings of a database. With ``binlog``, it has a binlog and commits in two phases (MySQL: ``log_bin``)."""

    binlog: bool = False


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Settings of a service.

    :ivar service_is_idempotent: it knows the key of a call, and does a thing once for each.
    :ivar keeps_reservation_states: it knows what became of each reservation, see :mod:`engine.lab.work.reservations`.
    :ivar reservations_max: how many there may be, with those that are confirmed; 0: any number.
    """

    service_is_idempotent: bool = False
    keeps_reservation_states: bool = True
    reservations_max: int = 0


@dataclass(frozen=True, slots=True)
class PollLoopConfig:
    """Settings of an application with a Kafka consumer, which polls, works on each record, and commits.

    :ivar poll_timeout_ms: how long a poll waits for records: what most examples of Kafka take.
    :ivar record_duration_ms: how long the work on one record takes.
    :ivar commits_after_poll: it commits when it is done with the records of a poll, besides what the consumer commits
        by itself (``enable_auto_commit``).
    """

    poll_timeout_ms: int = 100
    record_duration_ms: int = 0
    commits_after_poll: bool = False
