"""The copies of a log as a broker knows them: a master's slaves, a slave's master, a leader's followers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.picture.replica import Replication, Slave
    from engine.broker.broker import Broker
    from engine.replication.majority.majority_log import MajorityLog


def replication_view(broker: Broker) -> Replication | None:
    """Return the copies; None for a broker that has no followers and follows none."""
    replication, now_ms = broker.replication, broker.runtime.clock.now_ms()
    # A finer one would make every state of the live page a new one.
    now_ms -= now_ms % 1_000
    if replication.majority is not None:
        return _leader_view(broker, replication.majority, now_ms)
    service, client = replication.service, replication.client
    slaves = [] if service is None else list(service.slaves)
    if not (slaves or replication.is_slave or replication.is_sync_master):
        return None
    return {
        "role": broker.config.broker_role.value,
        "broker_id": broker.config.broker_id,
        "term": 0,
        "slaves": [
            {
                "address": slave.address,
                "state": slave.state.value,
                "acknowledged": slave.acknowledged_offset,
                "behind_bytes": slave.behind_bytes,
                "behind_ms": 0 if slave.behind_bytes == 0 else max(0, now_ms - slave.caught_up_ms),
            }
            for slave in slaves
        ],
        "replicas_needed": service.config.slaves_needed if service is not None and replication.is_sync_master else 0,
        "waits_for": "" if client is None else client.state.value,
        "problem": "" if client is None else client.problem,
        "silent_ms": -1 if client is None or not client.heard_ms else max(0, now_ms - client.heard_ms),
    }


def _leader_view(broker: Broker, majority: MajorityLog, now_ms: int) -> Replication:
    core, end_offset = majority.peer.core, broker.store.commit_log.max_offset
    slaves: list[Slave] = []
    for follower in majority.followers():
        behind_bytes = end_offset - max(0, follower.acknowledged_offset)
        slaves.append(
            {
                "address": follower.name,
                "state": "follows",
                "acknowledged": follower.acknowledged_offset,
                "behind_bytes": behind_bytes,
                "behind_ms": max(0, now_ms - follower.caught_up_ms) if behind_bytes else 0,
            }
        )
    return {
        "role": "LEADER",
        "broker_id": broker.config.broker_id,
        "term": core.term,
        "slaves": [*slaves],
        "replicas_needed": len(core.voters) // 2,
        "waits_for": "",
        "problem": "",
        "silent_ms": -1,
    }
