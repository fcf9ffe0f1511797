"""All brokers that the name servers know, as each reports itself over the wire."""

from __future__ import annotations

from typing import TypedDict

from app.picture.cluster import Now
from app.picture.commit_log import LogRange


class QueueBounds(TypedDict):
    """A queue: the offset of its oldest message, and that of the next one to come."""

    queue_id: int
    min: int
    max: int


class BrokerTopic(TypedDict):
    """The queues of a topic on one broker."""

    messages: int
    #: The first queues, by number.
    queues: list[QueueBounds]
    omitted_queues: int


class BrokerFacts(TypedDict):
    """What a broker reported. RocketMQ's brokers do not report ``clients``, ``held_pulls`` and ``replicas``."""

    #: "ASYNC_MASTER", "SYNC_MASTER", "SLAVE" or "LEADER"; empty when not reported.
    role: str
    #: Of a leader; else 0.
    term: int
    is_glassmq: bool
    #: The version of the protocol, such as "V4_9_8".
    version: str
    started_us: int
    #: Messages per second over the last 10 s.
    in_rate: float
    out_rate: float
    #: In the topics that are listed.
    messages: int
    commit_log: LogRange
    clients: int | None
    held_pulls: int | None
    #: For how many replicas a sender waits.
    replicas_needed: int
    #: Address or name of a slave or follower -> what it has confirmed of the commit log; -1: nothing yet.
    replicas: dict[str, int]
    #: A slave's connection to its master; empty for any other broker.
    following: str
    topics: dict[str, BrokerTopic]
    #: Group -> its lag; None: its members keep their own offsets.
    groups: dict[str, int | None]


class BrokerReport(TypedDict):
    """One broker."""

    name: str
    #: 0: the master of its name.
    id: int
    address: str
    #: Whether it is the broker of this page.
    is_own: bool
    #: "asked" (no answer yet), "answers", "silent", "refuses" or "unregistered": no name server knows it any more.
    state: str
    #: The begin of that state.
    since_us: int
    #: Why it does not answer or refuses, by language; else None.
    why: dict[str, str] | None
    #: The address of its page; None: it reports none.
    page: str | None
    #: The last answer; None: it has never answered.
    facts: BrokerFacts | None


class BrokersReport(Now):
    """All brokers."""

    #: Name server -> why it does not answer, by language; None: it does.
    name_servers: dict[str, dict[str, str] | None]
    brokers: list[BrokerReport]
    omitted_brokers: int
    omitted_topics: int
    omitted_groups: int
