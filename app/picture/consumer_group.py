"""Consumer groups: members, subscriptions, the owner of each queue, held pulls, reports of members."""

from __future__ import annotations

from typing import TypedDict

from app.picture.process_queue import ProcessQueue


class Member(TypedDict):
    """A member of a group, as its heartbeat and its connection describe it."""

    #: Remote address of its connection.
    address: str
    language: str
    version: int


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

    topic: str
    queue_id: int
    #: The offset that it waits for.
    offset: int
    since_us: int
    #: How long it waits at most.
    timeout_ms: int
    #: None once its group has no members.
    client_id: str | None


class GroupProgress(TypedDict):
    """How far a group is, and what its members do at the broker."""

    #: Messages that the group has not confirmed; None: it broadcasts.
    lag: int | None
    #: Topic -> queue id -> id of the client that pulled last: clients decide the assignment, the broker sees the pulls.
    assignment: dict[str, dict[str, str]]
    #: "topic@queue id" -> pull.
    held_pulls: dict[str, HeldPull]


class ConsumerGroup(GroupProgress):
    """A consumer group of the live broker."""

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


class TopicRates(TypedDict):
    """How a member consumes a topic; what it does not report is None."""

    ok_per_s: float | None
    failed_per_s: float | None
    rt_ms: float | None
    #: In the last hour.
    failed: float | None


class IdempotenceReport(TypedDict):
    """What a member reports of its idempotent listener."""

    strategy: str
    scope: str
    #: What identifies a message.
    key: str
    expiry_ms: int
    when_unreachable: str
    #: Names of ``engine.idempotence.foundation.counters``.
    counters: dict[str, int]


class IdempotenceTotals(TypedDict):
    """What all idempotent listeners of a group counted."""

    #: Names of ``engine.idempotence.foundation.counters``.
    counters: dict[str, int]
    #: Strategy -> number of the online members with it.
    members: dict[str, int]
    #: Of the oldest answer.
    age_ms: int


class RunningInfo(TypedDict):
    """What a member reports of itself (code 307); a value that its kind of client does not report is None."""

    orderly: bool | None
    threads: int | None
    started_us: int | None
    #: How it assigns queues.
    strategy: str
    suspended: bool | None
    #: How many queues wait for the end of a reset.
    queues_in_reset: int | None
    #: Why the offsets of a broadcasting member cannot be written.
    offsets_failure: str
    #: None without an idempotent listener.
    idempotence: IdempotenceReport | None
    #: By topic.
    rates: dict[str, TopicRates]
    queues: list[ProcessQueue]
    omitted_queues: int
    #: What its kind of client does not report of queues: "trees", "counts", "times".
    untold: list[str]


class MemberReport(RunningInfo):
    """A member of a live group, and its last answer."""

    client_id: str
    address: str
    language: str
    version: int
    #: See ``app.live.client_questions.AnswerState``; or "unreadable".
    state: str
    #: None: it was not asked yet.
    asked_us: int | None
    #: None: it has reported nothing.
    answered_us: int | None
    #: Why it has reported nothing.
    remark: str


class WaitingRetry(TypedDict):
    """A message that a group will get again."""

    key: str
    #: Its first one.
    topic: str
    queue_id: int
    queue_offset: int
    #: In the commit log.
    offset: int
    #: How many times it was given back.
    reconsume_times: int
    #: None: it can be pulled.
    due_us: int | None


class GroupReport(TypedDict):
    """What the members of a live group report, and what the group will get again."""

    group: str
    now_us: int
    members: list[MemberReport]
    omitted_members: int
    #: Those that are due first.
    retries: list[WaitingRetry]
    #: False: some messages that wait were not read.
    are_all_retries: bool
