"""Consumer groups: members, subscriptions, the owner of each queue, held pulls."""

from __future__ import annotations

from typing import TypedDict


class Member(TypedDict):
    """A member of a group, as its heartbeat and its connection describe it."""

    #: Remote address of its connection.
    address: str
    language: str
    version: int
    last_heartbeat_ms: int


class Subscription(TypedDict):
    """What a group wants of a topic, and what the broker's filter did with the topic's messages so far."""

    expression: str
    #: "TAG" or "SQL92".
    type: str
    #: Grows with each change.
    version: int
    let_through: int
    kept_back: int


class HeldPull(TypedDict):
    """A pull that found nothing and waits at the broker."""

    #: The offset that it waits for.
    offset: int
    since_ms: int
    #: How long it waits at most.
    timeout_ms: int
    #: None once its group has no members.
    client_id: str | None


class NamedHeldPull(HeldPull):
    """A held pull together with the queue and the group that it is for."""

    group: str
    topic: str
    queue_id: int


class ConsumerGroup(TypedDict):
    """A consumer group."""

    #: How many groups existed before it.
    age: int
    #: None while no member is online, like the next two; that a group broadcasts is remembered.
    consume_type: str | None
    message_model: str | None
    consume_from_where: str | None
    #: Client id -> member.
    members: dict[str, Member]
    omitted_members: int
    #: Topic -> subscription.
    subscriptions: dict[str, Subscription]
    #: Topic -> queue id -> id of the client that pulled last: clients decide the assignment, the broker sees the pulls.
    assignment: dict[str, dict[str, str]]
    #: Messages that the group has not confirmed; None: it broadcasts.
    lag: int | None
    #: "topic@queue id" -> pull.
    held_pulls: dict[str, HeldPull]
