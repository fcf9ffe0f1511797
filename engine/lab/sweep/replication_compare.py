"""The same fault for every replication policy: what is acknowledged, lost or duplicated, and how long sends are
unavailable.

Each cell of the table is one run of :func:`engine.lab.sweep.replication_policy.world_of`: the world without a fault
shows who leads and when the acknowledgement comes; the same world with the fault 5 ms later is counted. Acknowledged is
what RocketMQ answered with SEND_OK, what a Raft leader has committed, and what Kafka's producer calls sent, which with
``acks`` 0 is what has left it; FLUSH_SLAVE_TIMEOUT and SLAVE_NOT_AVAILABLE mean that no copy is confirmed, although
RocketMQ's clients count them as sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.kafka.records.topic_partition import TopicPartition
from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.history import SendReturned
from engine.lab.raft.raft_peer_node import RaftPeerNode, key_of
from engine.lab.run.run import LabRun
from engine.lab.sweep.replication_policy import (
    AFTER_ACKNOWLEDGEMENT_MS,
    BUSY_MS,
    CUT_MS,
    DURATION_MS,
    LAST_MS,
    SETTLED_MS,
    PolicyFault,
    ReplicaPlacement,
    ReplicationPolicy,
    script_of,
    world_of,
)
from engine.lab.witness.broker_log import BrokerLog
from engine.lab.world.world import ScenarioWorld
from engine.replication.raft.raft_log import EntryKind

#: The only partition of Kafka's world.
_PARTITION = TopicPartition("Orders", 0)
#: A cell's link leads to this long before the fault.
_LEAD_MS = 100


@dataclass(frozen=True, slots=True)
class ComparisonCell:
    """The outcome of one policy under one fault.

    :ivar acknowledged: sends that were acknowledged, in the whole story.
    :ivar in_doubt: sends of which the client does not know whether a copy exists, or whether they are stored at all.
    :ivar lost: acknowledged, and in no log that serves in the end.
    :ivar unavailable_ms: the longest time without an acknowledgement after the fault.
    :ivar is_back: whether there was one after that time; else it lasted until the client ended.
    :ivar duplicates: orders that are more than once in the log that serves in the end.
    :ivar on_one_machine: acknowledged, and on one running machine only, just before the fault is over.
    :ivar violations: violations of the lab's invariants, which differ by policy.
    :ivar link: the run shortly before the fault.
    """

    policy: str
    fault: str
    acknowledged: int
    in_doubt: int
    lost: int
    unavailable_ms: int
    is_back: bool
    duplicates: int
    on_one_machine: int
    violations: int
    events: int
    link: str


def cell_of(policy: ReplicationPolicy, fault: PolicyFault) -> ComparisonCell:
    """Run a policy under a fault."""
    place = place_of(policy)
    fault_ms = first_acknowledgement_ms(policy, place) + AFTER_ACKNOWLEDGEMENT_MS
    scenario = world_of(policy, fault, script_of(place, fault, fault_ms))
    with LabRun(scenario) as run:
        run.run_to_time((fault_ms - _LEAD_MS) * 1_000)
        link = run.link()
        run.run_to_time((fault_ms + CUT_MS) * 1_000 - 1)
        acknowledged = {entry.key: None for entry in acknowledgements(run, policy)}
        copies = Counter(key for log in logs_of(run, policy) for key in dict.fromkeys(log))
        on_one_machine = sum(copies[key] == 1 for key in acknowledged)
        run.run_to_time(DURATION_MS * 1_000)
        sends = acknowledgements(run, policy)
        gap_us, is_back = _longest_gap([entry.time_us for entry in sends], fault_ms * 1_000)
        return ComparisonCell(
            policy.name,
            fault.value,
            acknowledged=len(sends),
            in_doubt=sum(entry.status != "refused" for entry in run.world.history.sends_returned) - len(sends),
            lost=len(lost_keys(run, policy)),
            unavailable_ms=round(gap_us / 1_000),
            is_back=is_back,
            duplicates=sum(times > 1 for times in Counter(serving_log(run, policy)).values()),
            on_one_machine=on_one_machine,
            violations=len(run.violations),
            events=run.event_number,
            link=link,
        )


def place_of(policy: ReplicationPolicy) -> ReplicaPlacement:
    """Return the leader and the followers in the world of ``policy`` before copies are late."""
    with LabRun(world_of(policy), check=False) as run:
        run.run_to_time(BUSY_MS * 1_000)
        leader = acknowledgements(run, policy)[-1].broker
    return ReplicaPlacement(leader, *(name for name in policy.machines if name != leader))


def first_acknowledgement_ms(policy: ReplicationPolicy, place: ReplicaPlacement) -> int:
    """Return when the first acknowledgement after ``SETTLED_MS`` reaches the client."""
    with LabRun(world_of(policy, script=script_of(place)), check=False) as run:
        run.run_to_time(SETTLED_MS * 1_000)
        known = len(acknowledgements(run, policy))
        while run.step():
            sends = acknowledgements(run, policy)
            if len(sends) > known:
                return -(-sends[-1].time_us // 1_000)
    raise AssertionError("a calm world acknowledges")


def acknowledgements(run: LabRun, policy: ReplicationPolicy) -> list[SendReturned]:
    """Return the sends whose messages are safe for clients according to the policy."""
    returned = (entry for entry in run.world.history.sends_returned if entry.status == "ok")
    return [entry for entry in returned if policy.family.elects or entry.detail == "SEND_OK"]


def lost_keys(run: LabRun, policy: ReplicationPolicy) -> list[str]:
    """Return what was acknowledged and is missing in the leader's log, or without a leader in every log that is
    left.
    """
    has_leader = _leader(run) is not None
    there = serving_log(run, policy) if has_leader else [key for log in logs_of(run, policy) for key in log]
    known = dict.fromkeys(there)
    sends = acknowledgements(run, policy)
    return [entry.key for entry in sends if entry.key not in known]


def serving_log(run: LabRun, policy: ReplicationPolicy) -> Sequence[str]:
    """Return the keys in the log of the master or the newest leader; without one, in the longest log that is left."""
    leader = _leader(run) if policy.family.elects else run.world.nodes[policy.machines[0]]
    if leader is not None and leader.status == "running":
        return _log_of(run.world, leader.name)
    return max(logs_of(run, policy), key=len)


def _leader(run: LabRun) -> RaftPeerNode | KafkaBrokerNode | None:
    """Return the elected leader; a leader that does not run no longer leads."""
    leaders: list[tuple[int, RaftPeerNode | KafkaBrokerNode]] = []
    leaders += [(role.term, role) for role in run.world.roles(RaftPeerNode) if role.is_leader]
    for role in run.world.roles(KafkaBrokerNode):
        replica = role.replicas.get(_PARTITION)
        if replica is not None and replica.is_leader:
            leaders.append((replica.leader_epoch, role))
    running = [(epoch, role) for epoch, role in leaders if role.status == "running"]
    return max(running, key=lambda one: one[0])[1] if running else None


def leader_of(run: LabRun) -> str | None:
    """Return the node that leads in the newest term or epoch; None if there is no leader, or no election here."""
    leader = _leader(run)
    return leader.name if leader is not None else None


def logs_of(run: LabRun, policy: ReplicationPolicy) -> Iterator[Sequence[str]]:
    """Yield the keys that each running machine holds, the master's first."""
    return (_log_of(run.world, name) for name in policy.machines if run.world.nodes[name].status == "running")


def _log_of(world: ScenarioWorld, name: str) -> list[str]:
    if (peer := world.find(RaftPeerNode, name)) is not None:
        return [key_of(entry) for entry in peer.stored_entries() if entry.kind is EntryKind.DATA]
    if (kafka_broker := world.find(KafkaBrokerNode, name)) is not None:
        segments = [segment for segment in kafka_broker.stored.segments() if segment.topic == _PARTITION.topic]
        batches = [batch for segment in segments for batch in segment.batches]
        return [key for batch in batches for _, key in batch.record_keys()]
    broker = world.find(BrokerNode, name)
    assert broker is not None, "there are three families"
    # What is on the disk now, whatever the witness saw there before.
    held = BrokerLog(broker)
    held.read_on()
    return [message.first_key for message in held.messages]


def _longest_gap(times_us: Sequence[int], fault_us: int) -> tuple[int, bool]:
    """Return the longest gap between the fault, the acknowledgements after it and the client's last send; and whether
    one ended it.
    """
    points = [fault_us, *(time_us for time_us in times_us if time_us > fault_us)]
    ends = [*points[1:], max(LAST_MS * 1_000, points[-1])]
    gaps = [end - begin for begin, end in zip(points, ends, strict=True)]
    longest = max(gaps)
    return longest, gaps.index(longest) < len(gaps) - 1
