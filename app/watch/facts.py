"""The input of the rules: the part of a live state (``app/observation``) whose health they judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class QueueOf(NamedTuple):
    """A queue as a group sees it."""

    topic: str
    queue_id: int


@dataclass(frozen=True, slots=True)
class QueueProgressFacts:
    """The progress of a group in a queue, and whether a consumer pulls it."""

    committed: int
    behind: int
    is_owned: bool


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group that has a lag: its members share the queues."""

    lag: int
    members: int
    queues: Mapping[QueueOf, QueueProgressFacts]


@dataclass(frozen=True, slots=True)
class Facts:
    """One sample of the observed facts.

    :ivar undecided: birth time of each half message without a decision.
    :ivar given_up: the time at which each half message was given up, unless it was resumed.
    :ivar dead_letters: group -> how many dead letters it ever had.
    :ivar put_p99_us: the 99th percentile of the last second; None when nothing was stored in it.
    :ivar unsent: address -> bytes that this client has not read yet.
    :ivar client_names: address -> short name of its client.
    :ivar idempotence: group -> what its idempotent listeners have counted since the broker began.
    :ivar missing_numbers: topic -> numbers of its producers that are missing, and not explained.
    :ivar unknown_numbers: the same for missing numbers of whose outcome the producers do not know either.
    :ivar disk_used: share of the disk, 0 to 1.
    :ivar is_apart: whether it is a slave that does not follow.
    :ivar slaves: number of a master's slaves; ``slaves_needed``: number of slaves for which an acknowledgement waits.
    """

    now_ms: int
    connections: int
    groups: Mapping[str, GroupFacts]
    undecided: tuple[int, ...] = ()
    given_up: tuple[int, ...] = ()
    dead_letters: Mapping[str, int] | None = None
    damaged: int = 0
    put_failures: int = 0
    put_p99_us: int | None = None
    unsent: Mapping[str, int] | None = None
    client_names: Mapping[str, str] = field(default_factory=dict)
    idempotence: Mapping[str, Mapping[str, int]] | None = None
    missing_numbers: Mapping[str, int] | None = None
    unknown_numbers: Mapping[str, int] | None = None
    disk_used: float = 0.0
    is_apart: bool = False
    slaves: int = 0
    slaves_needed: int = 0


def facts_of(state: Mapping[str, Any]) -> Facts:
    """Return the facts of a live state; missing parts count as healthy."""
    topics, rates = state.get("topics", {}), state.get("rates", {})
    transactions = state.get("transactions") or {}
    # A check-back stores its half message again: the newest copy counts.
    undecided = {
        message["id"]: message["born_us"] // 1_000
        for message in transactions.get("messages", ())
        if message["decided_by"] is None
    }
    numbers = (state.get("numbers") or {"topics": {}})["topics"]
    copies = state.get("replication") or {"role": "", "waits_for": "", "slaves": [], "replicas_needed": 0}
    return Facts(
        now_ms=state.get("cluster", {}).get("now_us", 0) // 1_000,
        connections=len(state.get("connections", {})) + state.get("omitted", {}).get("connections", 0),
        groups=_groups(state.get("groups", {}), topics),
        undecided=tuple(sorted(undecided.values())),
        given_up=tuple(
            message["given_up_us"] // 1_000
            for message in transactions.get("given_up", ())
            if message["checked_again"] is None
        ),
        dead_letters=state.get("dead_letters", {}),
        damaged=state.get("commit_log", {}).get("damage", {}).get("count", 0),
        put_failures=state.get("put_failures", 0),
        put_p99_us=rates.get("put_p99_us") if rates.get("in_messages") else None,
        unsent=state.get("unsent", {}),
        client_names={
            address: state["client_names"][client]
            for address, connection in state.get("connections", {}).items()
            for client in connection.get("client_ids", ())
            if client in state.get("client_names", {})
        },
        idempotence={group: reported["counters"] for group, reported in state.get("idempotence", {}).items()},
        missing_numbers={name: topic["missing"] for name, topic in numbers.items()},
        unknown_numbers={name: topic["unknown"] for name, topic in numbers.items()},
        disk_used=state.get("disk_used", 0.0),
        is_apart=copies["role"] == "SLAVE" and copies["waits_for"] != "follows",
        slaves=len(copies["slaves"]),
        slaves_needed=copies["replicas_needed"],
    )


def _groups(groups: Mapping[str, Any], topics: Mapping[str, Any]) -> dict[str, GroupFacts]:
    queues: dict[str, dict[QueueOf, QueueProgressFacts]] = {}
    for topic, view in topics.items():
        for queue_id, queue in view["queues"].items():
            for group, committed in queue["committed"].items():
                subscriptions = groups.get(group, {}).get("subscriptions", {})
                if subscriptions and topic not in subscriptions:
                    continue  # an offset from before it read other topics
                owners = groups.get(group, {}).get("assignment", {}).get(topic, {})
                progress = QueueProgressFacts(committed, max(0, queue["max"] - committed), queue_id in owners)
                queues.setdefault(group, {})[QueueOf(topic, int(queue_id))] = progress
    return {
        name: GroupFacts(
            sum(progress.behind for progress in queues.get(name, {}).values()),
            len(view["members"]) + view.get("omitted_members", 0),
            queues.get(name, {}),
        )
        for name, view in groups.items()
        if view.get("lag") is not None
    }
