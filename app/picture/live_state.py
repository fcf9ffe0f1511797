"""The picture of the live broker."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.picture.cluster import Cluster, Now
from app.picture.commit_log import CommitLog, DamageOfLog
from app.picture.connection import Connection
from app.picture.consumer_group import ConsumerGroup, IdempotenceTotals
from app.picture.delay_level import DelayLevels
from app.picture.half_message import Transactions
from app.picture.health import BacklogOutlooks, Health
from app.picture.lock import Lock
from app.picture.numbers import Numbers
from app.picture.rates import BrokerEvent, Rates
from app.picture.replica import Replication
from app.picture.topic import Topic


class LogLine(TypedDict):
    """One line of the live engine's log, cut to what the page shows."""

    at_us: int
    level: str
    #: Name of the logger.
    part: str
    text: str


class OmittedConnections(TypedDict):
    """How many connections the picture leaves out."""

    connections: int


class Omitted(OmittedConnections):
    """How much the picture leaves out."""

    topics: int
    #: Users' messages in the topics that are left out.
    messages: int
    groups: int


class EngineState(TypedDict):
    """What the broker itself knows."""

    cluster: Cluster
    #: By remote address.
    connections: dict[str, Connection]
    #: Client id -> short name, see ``app.observation.client_names``.
    client_names: dict[str, str]
    topics: dict[str, Topic]
    groups: dict[str, ConsumerGroup]
    commit_log: CommitLog
    #: Group -> "topic@queue id" -> lease.
    locks: dict[str, dict[str, Lock]]
    #: None while there was never a half message.
    transactions: Transactions | None
    #: None while no message was ever delayed.
    delay_levels: DelayLevels | None
    #: None while no producer numbers its messages.
    numbers: Numbers | None
    #: None for a broker that has no followers and follows none.
    replication: Replication | None
    rates: Rates
    #: The last lines, oldest first.
    log: list[LogLine]
    omitted: Omitted


#: Queue id -> id of the run -> next offset.
SparkOffsets = dict[str, dict[str, int]]


class SparkProgress(TypedDict):
    """How far the running jobs have read the broker's queues."""

    #: Id of the run -> its job.
    jobs: dict[str, str]
    #: By topic.
    offsets: dict[str, SparkOffsets]


class WatchedParts(TypedDict):
    """What the watcher of the broker adds to its state."""

    verdict: Health
    backlogs: BacklogOutlooks
    #: The newest, the oldest of them first: what plots mark.
    events: list[BrokerEvent]


class WatchedState(EngineState, WatchedParts):
    """The state of the broker, without what members of groups hold: they are asked while a page views them."""


class LivePicture(WatchedState):
    """The whole picture."""

    #: Only where the server runs jobs.
    spark: NotRequired[SparkProgress]


class HealthFacts(TypedDict):
    """What the health rules judge once a second: also of groups and connections that a page leaves out."""

    cluster: Now
    connections: dict[str, Connection]
    #: Client id -> short name.
    client_names: dict[str, str]
    omitted: OmittedConnections
    topics: dict[str, Topic]
    groups: dict[str, ConsumerGroup]
    transactions: Transactions | None
    rates: Rates
    commit_log: DamageOfLog
    numbers: Numbers | None
    replication: Replication | None
    #: Messages that could not be stored since the broker started.
    put_failures: int
    #: Group -> how many dead letters it ever had.
    dead_letters: dict[str, int]
    #: Remote address -> bytes that the client has not read yet.
    unsent: dict[str, int]
    #: Share of the disk, 0 to 1.
    disk_used: float
    #: Group -> what its idempotent listeners counted.
    idempotence: NotRequired[dict[str, IdempotenceTotals]]
