"""The copies of a log as a broker knows them: a master's slaves, a slave's master, a leader's followers."""

from __future__ import annotations

from typing import TypedDict


class Slave(TypedDict):
    """A slave of a master, or a follower of a leader."""

    #: Remote address, or the name of a follower.
    address: str
    state: str
    #: The slave has everything before it.
    acknowledged: int
    behind_bytes: int
    #: Since it had everything, to the second; 0: it has.
    behind_ms: int


class Replication(TypedDict):
    """The copies; a broker that has no followers and follows none has no such part."""

    #: "ASYNC_MASTER", "SYNC_MASTER", "SLAVE" or "LEADER".
    role: str
    #: 0 of a master.
    broker_id: int
    #: Of a leader; else 0.
    term: int
    #: In the order in which they connected.
    slaves: list[Slave]
    #: Of a SYNC_MASTER or a leader: for how many of them a sender waits; else 0.
    replicas_needed: int
    #: Of a slave: "follows", "not connected" or "refused: the logs differ"; else empty.
    waits_for: str
    #: Of a slave: why it does not follow; empty while it does.
    problem: str
    #: Of a slave: since it heard of its master, to the second; -1: it never has.
    silent_ms: int


class AbsentBroker(TypedDict):
    """The standing in its group of a member that runs no broker."""

    name: str
    #: A value of ``engine.broker.group_member.MemberStanding``.
    standing: str
    #: Empty when unknown.
    leader: str
    term: int
    #: Why it joins or is stopped, by language.
    why: dict[str, str]
