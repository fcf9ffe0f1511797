"""The input of the rules: the part of a live state (``app/observation``) whose health they judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from app.picture.consumer_group import ConsumerGroup
    from app.picture.live_state import HealthFacts
    from app.picture.topic import Topic


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


def facts_of(state: HealthFacts) -> Facts:
    """Return the facts of a live state."""
    rates, transactions, copies = state["rates"], state["transactions"], state["replication"]
    numbers = {} if state["numbers"] is None else state["numbers"]["topics"]
    # A check-back stores its half message again: the newest copy counts.
    undecided = {
        message["id"]: message["born_us"] // 1_000
        for message in (() if transactions is None else transactions["messages"])
        if message["decided_by"] is None
    }
    return Facts(
        now_ms=state["cluster"]["now_us"] // 1_000,
        connections=len(state["connections"]) + state["omitted"]["connections"],
        groups=_groups(state["groups"], state["topics"]),
        undecided=tuple(sorted(undecided.values())),
        given_up=tuple(
            message["given_up_us"] // 1_000
            for message in (() if transactions is None else transactions["given_up"])
            if message["checked_again"] is None
        ),
        dead_letters=state["dead_letters"],
        damaged=state["commit_log"]["damage"]["count"],
        put_failures=state["put_failures"],
        put_p99_us=rates["put_p99_us"] if rates["in_messages"] else None,
        unsent=state["unsent"],
        client_names={
            address: state["client_names"][client]
            for address, connection in state["connections"].items()
            for client in connection["client_ids"]
            if client in state["client_names"]
        },
        idempotence={group: reported["counters"] for group, reported in state.get("idempotence", {}).items()},
        missing_numbers={name: topic["missing"] for name, topic in numbers.items()},
        unknown_numbers={name: topic["unknown"] for name, topic in numbers.items()},
        disk_used=state["disk_used"],
        is_apart=copies is not None and copies["role"] == "SLAVE" and copies["waits_for"] != "follows",
        slaves=0 if copies is None else len(copies["slaves"]),
        slaves_needed=0 if copies is None else copies["replicas_needed"],
    )


def _groups(groups: Mapping[str, ConsumerGroup], topics: Mapping[str, Topic]) -> dict[str, GroupFacts]:
    queues: dict[str, dict[QueueOf, QueueProgressFacts]] = {}
    for topic, view in topics.items():
        for queue_id, queue in view["queues"].items():
            for name, committed in queue["committed"].items():
                group = groups.get(name)
                if group is not None and group["subscriptions"] and topic not in group["subscriptions"]:
                    continue  # an offset from before it read other topics
                is_owned = group is not None and queue_id in group["assignment"].get(topic, {})
                progress = QueueProgressFacts(committed, max(0, queue["max"] - committed), is_owned)
                queues.setdefault(name, {})[QueueOf(topic, int(queue_id))] = progress
    return {
        name: GroupFacts(
            sum(progress.behind for progress in queues.get(name, {}).values()),
            len(group["members"]) + group["omitted_members"],
            queues.get(name, {}),
        )
        for name, group in groups.items()
        if group["lag"] is not None
    }
