"""Policies of replication, and the worlds in which they meet the same fault: three machines, one client, one traffic.

A policy is a row of :data:`POLICIES`; each belongs to a family, which determines how its world is written
(:data:`_WORLDS`). RocketMQ: ``brokerRole`` of a broker with two slaves; DLedger's place has Raft; Kafka: ``acks`` of a
producer, with Kafka's own times for sessions and slow followers, and ``min.insync.replicas`` 2. Every link takes 1 ms;
from :data:`BUSY_MS` on, copies leave the leader's machine 24 ms late, as from a buffer that is never empty. When the
process dies, the reset of its connections takes with it what still waits there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from engine.lab.scenario.scenario import LANGUAGES, Scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.replication.ha.ha_config import HaRole, ReplicaAcks
from engine.texts import Text

#: Name of all these worlds: the page shows the table next to each of them.
SCENARIO = "replication-compare"
#: The client sends one order this long after the previous one, or when that one is answered.
EVERY_MS = 10
FIRST_MS, LAST_MS = 6_000, 28_000
#: From then on copies are late.
BUSY_MS = 6_200
#: The fault comes after the first acknowledgement past this time; a link that is cut heals this much later.
SETTLED_MS, CUT_MS = 6_500, 10_000
#: So soon that what was acknowledged may still be in flight to the copies.
AFTER_ACKNOWLEDGEMENT_MS = 5
DURATION_MS = 30_000
#: In addition to the millisecond of every link.
_LATE_MS, _SLOW_MS = 24, 300


class PolicyFamily(StrEnum):
    """The way in which the machines replicate."""

    MASTER_AND_SLAVES = "master and slaves"
    RAFT = "Raft"
    KAFKA = "Kafka"

    @property
    def elects(self) -> bool:
        """Return whether another machine takes over when the leader fails."""
        return self is not PolicyFamily.MASTER_AND_SLAVES


_MACHINES: Mapping[PolicyFamily, tuple[str, str, str]] = {
    PolicyFamily.MASTER_AND_SLAVES: ("B1", "S1", "S2"),
    PolicyFamily.RAFT: ("R1", "R2", "R3"),
    PolicyFamily.KAFKA: ("K1", "K2", "K3"),
}


class ReplicationPolicy(NamedTuple):
    """A replication policy: when a message counts as acknowledged.

    :ivar name: for links, files and texts.
    :ivar keeps: whether what was acknowledged is to survive the loss of any one machine.
    :ivar settings: of the master; of every peer; of Kafka's producer.
    """

    name: str
    family: PolicyFamily
    keeps: bool
    settings: Mapping[str, str | int] = {}

    @property
    def machines(self) -> tuple[str, ...]:
        """Return the machines that hold copies."""
        return _MACHINES[self.family]


def _sync_master(acks: ReplicaAcks) -> ReplicationPolicy:
    settings: dict[str, str | int] = {"broker_role": HaRole.SYNC_MASTER.value, "replica_acks": acks.value}
    return ReplicationPolicy(
        f"sync-master-{acks.value}", PolicyFamily.MASTER_AND_SLAVES, True, {**settings, "replica_count": 3}
    )


def _kafka(acks: str, number: int) -> ReplicationPolicy:
    keeps = acks == "all"
    settings: dict[str, str | int] = {"acks": number, "enable_idempotence": str(keeps).lower(), "linger_ms": 0}
    return ReplicationPolicy(f"kafka-acks-{acks}", PolicyFamily.KAFKA, keeps, settings)


POLICIES: Mapping[str, ReplicationPolicy] = {
    policy.name: policy
    for policy in (
        ReplicationPolicy("async-master", PolicyFamily.MASTER_AND_SLAVES, False),
        *map(_sync_master, ReplicaAcks),
        ReplicationPolicy("raft-majority", PolicyFamily.RAFT, True),
        _kafka("0", 0),
        _kafka("1", 1),
        _kafka("all", -1),
    )
}


class PolicyFault(StrEnum):
    """A fault of the leader, or of one of its followers."""

    #: The leader's process ends and its machine does not come back.
    LEADER_DIES = "leader-dies"
    #: The link between the leader and one follower takes 300 ms from then on.
    SLOW_FOLLOWER = "slow-follower"
    #: One follower is cut off from the other machines for 10 s. Clients reach all machines.
    MINORITY_CUT = "minority-cut"
    #: The leader is cut off from both followers for 10 s. Clients reach all machines.
    MAJORITY_CUT = "majority-cut"


class ReplicaPlacement(NamedTuple):
    """The names of the leader and of the two followers."""

    leader: str
    first: str
    second: str


def script_of(place: ReplicaPlacement, fault: PolicyFault | None = None, at_ms: int = 0) -> list[str]:
    """Return the lines of a scenario's script: copies are late, and ``fault`` comes at ``at_ms``."""
    late = _late(place, BUSY_MS)
    leader, first, second = place
    match fault:
        case None:
            return late
        case PolicyFault.LEADER_DIES:
            return [*late, f"{{at_ms: {at_ms}, kind: crash, target: {leader}}}"]
        case PolicyFault.SLOW_FOLLOWER:
            return [*late, f'{{at_ms: {at_ms}, kind: link-delay, target: "{leader}->{first}", ms: {_SLOW_MS}}}']
        case PolicyFault.MINORITY_CUT:
            return [*late, *_cut(f"left: [{first}], right: [{leader}, {second}]", place, at_ms)]
        case PolicyFault.MAJORITY_CUT:
            return [*late, *_cut(f"left: [{leader}], right: [{first}, {second}]", place, at_ms)]


def _cut(sides: str, place: ReplicaPlacement, at_ms: int) -> list[str]:
    healed_ms = at_ms + CUT_MS
    cut = [f"{{at_ms: {at_ms}, kind: partition, {sides}}}", f"{{at_ms: {healed_ms}, kind: heal}}"]
    # What heals the cut heals these links, too.
    return [*cut, *_late(place, healed_ms)]


def _late(place: ReplicaPlacement, at_ms: int) -> list[str]:
    return [
        f'{{at_ms: {at_ms}, kind: link-delay, target: "{place.leader}->{other}", ms: {_LATE_MS}}}'
        for other in place[1:]
    ]


def world_of(policy: ReplicationPolicy, fault: PolicyFault | None = None, script: Sequence[str] = ()) -> Scenario:
    """Return the world of ``policy``, in which ``script`` makes ``fault``; None: nothing happens."""
    name, why = (Text(f"replication.{kind}.{policy.name}") for kind in ("policy", "why"))
    what = Text(f"replication.fault.{fault.value if fault is not None else 'none'}")
    lines = [
        *_texts("title", Text("replication.title", policy=name, fault=what)),
        *_texts("about", Text("replication.about", why=why, fault=what)),
        "seed: 1",
        f"duration_ms: {DURATION_MS}",
        "network: {latency_ms: 1, jitter_ms: 0}",
        *_WORLDS[policy.family](policy),
        *(["script:"] if script else []),
        *(f"  - {line}" for line in script),
        "",
    ]
    return parse_scenario("\n".join(lines), SCENARIO)


def _texts(field: str, text: Text) -> list[str]:
    return [f"{field}:", *(f'  {language}: "{text[language]}"' for language in LANGUAGES)]


def _traffic(what: str) -> str:
    count = (LAST_MS - FIRST_MS) // EVERY_MS
    return f'traffic: {{{what}count: {count}, every_ms: {EVERY_MS}, start_ms: {FIRST_MS}, key: "order-{{n}}"}}'


def _settings(policy: ReplicationPolicy) -> str:
    return f"{{{', '.join(f'{name}: {value}' for name, value in policy.settings.items())}}}"


def _master_and_slaves(policy: ReplicationPolicy) -> list[str]:
    master, *slaves = policy.machines
    return [
        "nodes:",
        "  N1: {role: name_server}",
        f"  {master}: {{role: broker, settings: {_settings(policy)}}}",
        *(f"  {slave}: {{role: broker, slave_of: {master}}}" for slave in slaves),
        f"  P1: {{role: producer, group: shop, {_traffic('topic: Orders, ')}}}",
        "topics:",
        "  Orders: {queues: 1}",
    ]


def _raft(policy: ReplicationPolicy) -> list[str]:
    peers = [f"  {peer}: {{role: raft_peer, settings: {_settings(policy)}}}" for peer in policy.machines]
    return ["nodes:", *peers, f"  P1: {{role: raft_client, {_traffic('')}}}"]


def _kafka_cluster(policy: ReplicationPolicy) -> list[str]:
    return [
        "nodes:",
        "  Q1: {role: kafka_controller}",
        *(f"  {broker}: {{role: kafka_broker, settings: {{min_insync_replicas: 2}}}}" for broker in policy.machines),
        f"  P1: {{role: kafka_producer, {_traffic('topic: Orders, ')}, settings: {_settings(policy)}}}",
        "topics:",
        "  Orders: {queues: 1}",
    ]


_WORLDS: Mapping[PolicyFamily, Callable[[ReplicationPolicy], list[str]]] = {
    PolicyFamily.MASTER_AND_SLAVES: _master_and_slaves,
    PolicyFamily.RAFT: _raft,
    PolicyFamily.KAFKA: _kafka_cluster,
}
