"""A lab broker, for its lane on the stage."""

from __future__ import annotations

from typing import TypedDict

from app.picture.commit_log import LogOffsets
from app.picture.consumer_group import GroupProgress
from app.picture.dead_letter import DeadLetterPage
from app.picture.delay_level import DelayLevels
from app.picture.half_message import Transactions
from app.picture.lock import Lock
from app.picture.record import StoredRecord
from app.picture.replica import Replication
from app.picture.topic import Queue, TopicKind


class WorldRecord(StoredRecord):
    """A record of the commit log."""

    #: The first one; empty without one.
    key: str


class WorldCommitLog(LogOffsets):
    """The commit log."""

    #: The newest ones, newest last.
    records: list[WorldRecord]


class QueueEntry(TypedDict):
    """An entry of a consume queue."""

    queue_offset: int
    #: In the commit log.
    offset: int
    #: Of the message; an op message has the key of the half message that it decides.
    key: str


class WorldQueue(Queue):
    """A queue of a lab broker."""

    #: The newest ones, newest last.
    entries: list[QueueEntry]


class WorldTopic(TypedDict):
    """A topic."""

    kind: TopicKind
    #: Queue id -> queue. A system topic has only the queues that were used.
    queues: dict[str, WorldQueue]


class WorldGroup(GroupProgress):
    """A consumer group of a lab broker."""

    #: Client ids.
    members: list[str]


class BrokerProcess(TypedDict):
    """What a broker's process has."""

    address: str
    commit_log: WorldCommitLog
    topics: dict[str, WorldTopic]
    groups: dict[str, WorldGroup]
    #: Its lock table: group -> "topic@queue id" -> lease.
    locks: dict[str, dict[str, Lock]]
    #: None while no message was delayed.
    delay_levels: DelayLevels | None
    #: None while there was no half message.
    transactions: Transactions | None
    #: None for a broker that has no followers and follows none.
    replication: Replication | None


class DownBroker(TypedDict):
    """What is known of a broker without a process."""

    #: Names of ``engine.lab.scenario.switches``.
    switched_off: list[str]


class WorldBroker(DownBroker, BrokerProcess):
    """A broker."""

    #: "async" or "sync".
    flush: str
    #: Group -> its newest dead letters; None while the broker has none.
    dead_letters: dict[str, DeadLetterPage] | None
