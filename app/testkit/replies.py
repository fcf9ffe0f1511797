"""The replies of the test kit's HTTP API; msgspec describes them in the OpenAPI document."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable

from msgspec import Struct

from engine.protocol.message.message import MessageExt
from engine.testkit.faults import Fault, Hold, describe
from engine.testkit.group_state import GroupState, QueueLock


class Reply(Struct, frozen=True, forbid_unknown_fields=True):
    """A reply. All fields are always there, and no others."""


class Addresses(Reply, frozen=True):
    """The addresses of an ephemeral broker; the ready file has the same content."""

    pid: int
    host: str
    name_server_address: str
    broker_address: str
    name_server_port: int
    broker_port: int
    http_port: int
    api: str


class Done(Reply, frozen=True):
    """The reply of an operation that has nothing else to report."""

    done: bool = True


class StoredMessage(Reply, frozen=True):
    """A stored message. ``body`` is null if it is not UTF-8; ``body_base64`` is always there."""

    topic: str
    queue_id: int
    queue_offset: int
    message_id: str
    tags: str | None
    keys: list[str]
    body: str | None
    body_base64: str
    user_properties: dict[str, str]
    reconsume_times: int
    born_timestamp: int
    store_timestamp: int


class Messages(Reply, frozen=True):
    """Messages in the order in which the broker stored them."""

    messages: list[StoredMessage]


class Lag(Reply, frozen=True):
    """The number of messages that a group has not confirmed."""

    lag: int


class Group(Reply, frozen=True):
    """A group of consumers or producers."""

    name: str
    consumers: list[str]
    producers: list[str]
    subscriptions: dict[str, str]


class Groups(Reply, frozen=True):
    """All groups that the broker knows."""

    groups: list[Group]


class Lock(Reply, frozen=True):
    """A queue that a member has locked for ordered consumption."""

    topic: str
    queue_id: int
    client_id: str
    expires_in_ms: int


class Locks(Reply, frozen=True):
    """The locks of a group."""

    locks: list[Lock]


class FaultState(Reply, frozen=True):
    """A fault rule. ``hits``: frames that it acted on; ``waiting``: frames that it holds now."""

    fault_id: int
    rule: str
    hits: int
    waiting: int


class FaultStates(Reply, frozen=True):
    """The fault rules since the last end of all faults."""

    faults: list[FaultState]


class Released(Reply, frozen=True):
    """The number of frames that were released."""

    released: int


class Refusal(Reply, frozen=True):
    """The reply to a request that was not carried out.

    ``kind``: ``parameter`` (malformed request), ``refused`` (not possible now) or ``expectation`` (a check failed).
    ``text`` is the error in English and Chinese; null for a failed check, which is a test's output and English, and for
    errors of the system. That of a parameter has its parts, too.
    """

    error: str
    kind: str
    text: dict[str, str] | None = None
    parameter: str | None = None
    problem: str | None = None
    allowed: str | None = None


def messages(found: Iterable[MessageExt]) -> Messages:
    """Return messages as a reply."""
    return Messages([_message(one) for one in found])


def _message(one: MessageExt) -> StoredMessage:
    try:
        body = one.body.decode()
    except UnicodeDecodeError:
        body = None
    return StoredMessage(
        topic=one.topic,
        queue_id=one.queue_id,
        queue_offset=one.queue_offset,
        message_id=one.message_id,
        tags=one.tags,
        keys=list(one.keys),
        body=body,
        body_base64=b64encode(one.body).decode(),
        user_properties=one.user_properties,
        reconsume_times=one.reconsume_times,
        born_timestamp=one.born_timestamp,
        store_timestamp=one.store_timestamp,
    )


def groups(found: Iterable[GroupState]) -> Groups:
    """Return groups as a reply."""
    return Groups([Group(one.name, one.consumers, one.producers, one.subscriptions) for one in found])


def locks(found: Iterable[QueueLock]) -> Locks:
    """Return locks as a reply."""
    return Locks([Lock(one.topic, one.queue_id, one.client_id, one.expires_in_ms) for one in found])


def fault_state(fault: Fault) -> FaultState:
    """Return a rule as a reply."""
    waiting = fault.waiting if isinstance(fault, Hold) else 0
    return FaultState(fault.rule.rule_id, describe(fault.rule), fault.hits, waiting)
