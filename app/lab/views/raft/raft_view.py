"""The state of the nodes of a Raft group, for their cards on the stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.lab.foundation.bounds import RAFT_ENTRIES_SHOWN
from engine.lab.raft.raft_peer_node import key_of
from engine.replication.raft.raft_messages import VoteVerdict
from engine.replication.raft.raft_role import RaftRole

if TYPE_CHECKING:
    from app.picture.world import raft as picture
    from app.picture.world.producer import InFlight
    from engine.lab.raft.raft_client_node import RaftClientNode
    from engine.lab.raft.raft_peer_node import RaftPeerNode
    from engine.replication.raft.raft_core import RaftCore
    from engine.replication.raft.raft_peer import RaftPeer


def raft_peer_view(role: RaftPeerNode) -> picture.RaftPeer:
    """Return the view of a Raft peer."""
    if role.peer is None:
        entries, commit_index = role.stored_entries(), 0
    else:
        log = role.peer.core.log
        entries, commit_index = log.entries, log.commit_index
    shown: list[picture.RaftEntry] = [
        {
            "index": entry.index,
            "term": entry.term,
            "text": key_of(entry),
            "kind": entry.kind.name.lower(),
            "is_committed": entry.index <= commit_index,
        }
        for entry in entries[-RAFT_ENTRIES_SHOWN:]
    ]
    view: picture.RaftPeer = {"log": {"entry_count": len(entries), "entries": shown}}
    if role.peer is not None:
        view["raft"] = _core_view(role, role.peer)
    return view


def _core_view(role: RaftPeerNode, peer: RaftPeer) -> picture.Raft:
    core = peer.core
    is_leader = core.role is RaftRole.LEADER
    left_us = core.due_ms * 1_000 - role.runtime.clock.monotonic_us()
    answers: list[picture.VoteAnswer] = [
        {"name": name, "verdict": verdict.name.lower()} for name, verdict in core.answers.items()
    ]
    followers: list[picture.RaftFollower] = [
        {"name": name, "match_index": progress.match_index, "next_index": progress.next_index}
        for name, progress in core.followers.items()
    ]
    return {
        "role": core.role.value,
        "term": core.term,
        "voted_for": core.hard_state.voted_for,
        "leader": core.leader,
        "voters": list(core.voters),
        "commit_index": core.log.commit_index,
        "applied_index": role.applied[-1].index if role.applied else 0,
        "last_index": core.log.last_index,
        "last_term": core.log.last_term,
        "checks_log": core.rules.checks_log_is_up_to_date,
        "failure": peer.failure,
        "due_us": role.world.now_us + left_us,
        "wait_us": 1_000 * (core.config.heartbeat_ms if is_leader else core.config.election_timeout_max_ms),
        "answers": [] if is_leader else answers,
        "followers": followers,
        "obstacles": _obstacles(core),
    }


def _obstacles(core: RaftCore) -> list[picture.Obstacle]:
    """Return why it does not lead; empty for a leader."""
    if core.role is RaftRole.LEADER:
        return []
    if core.name not in core.voters:
        return [{"reason": "no_voter", "names": ""}]
    if core.role is RaftRole.JOINING:
        return [{"reason": f"joins_{core.hard_state.reason.name.lower()}", "names": ""}]
    if core.role is RaftRole.FOLLOWER:
        return [{"reason": "follows" if core.leader else "waits", "names": core.leader}]
    silent = [name for name in core.voters if name not in core.answers]
    by_reason = {"silent": silent} if silent else {}
    for name, verdict in core.answers.items():
        if verdict is not VoteVerdict.GRANTED:
            by_reason.setdefault(verdict.name.lower(), []).append(name)
    return [{"reason": reason, "names": ", ".join(names)} for reason, names in by_reason.items()]


def raft_client_view(role: RaftClientNode) -> picture.RaftClient:
    """Return the view of a client of a Raft group."""
    in_flight: list[InFlight] = [{"key": role.pending, "since_us": role.pending_since_us}] if role.pending else []
    return {
        "sent": role.sent,
        "acknowledged": role.acknowledged,
        "failed": role.refused,
        "unknown": role.unknown,
        "in_flight": in_flight,
        "asked": role.asked,
    }
