"""The life of one message, as far as brokers know it: the copies that they store, and the offsets of the groups.

A broker never learns the result of a listener. That a group's offset is past a message means that its consumer has
confirmed it: it was consumed, or filtered. A failed message is sent back, and its copy shows that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.observation.message_life import (
    BAD_KINDS,
    StoredCopyView,
    copy_mark,
    copy_view,
    message_life_view,
    newest_copy_for,
    state_by_copy,
)
from app.observation.record_view import message_summary
from app.observation.unix_time import unix_us
from engine.protocol.message.message_copies import CopyKind, destination, first_topic, identity, kind_of_copy

if TYPE_CHECKING:
    from app.picture.message_life import LifeInGroup, ProducedMark, StoredMessageLife
    from engine.protocol.message.message import MessageExt

MARKS_MAX = 100
#: Messages that one search returns.
TRAILS_MAX = 10


@dataclass(frozen=True, slots=True)
class Subscription:
    """An online group's subscription to a topic. ``wants``: whether it wants this message; None: not known here."""

    expression: str
    wants: bool | None


@dataclass(slots=True)
class TrailFacts:
    """The facts about a message in addition to its copies.

    :ivar committed: (group, broker, topic, queue id) -> the offset that the group has stored.
    :ivar delay_levels_ms: the delay of level 0 (none), 1, 2 ...
    :ivar subscriptions: group -> what it wants of the message's topic.
    """

    committed: Mapping[tuple[str, str, str, int], int]
    delay_levels_ms: Sequence[int]
    subscriptions: Mapping[str, Subscription] = field(default_factory=dict)


def trail_of(messages: Sequence[MessageExt], facts: TrailFacts) -> StoredMessageLife:
    """Return the life of one message. ``messages`` are its stored copies, each with its broker's name."""
    ordered = sorted(messages, key=lambda message: (message.store_timestamp, message.commit_log_offset))
    first, copies = ordered[0], [_copy(message, facts) for message in ordered]
    produced: ProducedMark = {"kind": "produced", "at_us": unix_us(first.born_timestamp), "host": first.born_host}
    life = message_life_view(
        copies[0].key,
        first_topic(ordered[-1]) if copies[-1].group else destination(first),
        produced["at_us"],
        [produced, *(copy_mark(copy, copy.stored_us) for copy in copies)],
        MARKS_MAX,
        {group: _group(group, copies, facts) for group in _groups(copies, facts)},
        is_in_trouble=any(copy.kind in BAD_KINDS or copy.reconsume_times > 0 for copy in copies),
    )
    return {
        **life,
        "id": identity(first),
        "keys": list(first.keys),
        "tags": first.tags,
        "body_preview": message_summary(first)["body_preview"],
    }


def _copy(message: MessageExt, facts: TrailFacts) -> StoredCopyView:
    key = message.keys[0] if message.keys else ""
    kind = kind_of_copy(message) or CopyKind.STORED
    return copy_view(message, kind, message.broker_name or "", key, unix_us, facts.delay_levels_ms)


def _groups(copies: Sequence[StoredCopyView], facts: TrailFacts) -> list[str]:
    """Return the groups that a copy is for, and those that have an offset in the queue of a copy."""
    names = {copy.group: None for copy in copies if copy.group is not None}
    places = {(copy.broker, copy.topic, copy.queue_id) for copy in copies if copy.group is None}
    names.update({group: None for group, *place in facts.committed if tuple(place) in places})
    names.update(dict.fromkeys(facts.subscriptions))
    return sorted(names)


def _group(group: str, copies: Sequence[StoredCopyView], facts: TrailFacts) -> LifeInGroup:
    subscription = facts.subscriptions.get(group)
    copy = newest_copy_for(group, copies)
    view: LifeInGroup = {"state": "unread", "until_us": None}
    if subscription is not None:
        view["expression"] = subscription.expression
    state = state_by_copy(copy)
    if copy is None:
        return view
    if state is not None:
        view["state"], view["until_us"] = state, copy.due_us
        return view
    committed = facts.committed.get((group, copy.broker, copy.topic, copy.queue_id))
    if committed is not None and committed > copy.queue_offset:
        wants_not = subscription is not None and subscription.wants is False and copy.group is None
        view["state"] = "filtered" if wants_not else "passed"
    elif committed is not None:
        view["state"], view["behind"] = "waiting", copy.queue_offset - committed
    return view
