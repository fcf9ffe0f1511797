"""The history of one message, as far as brokers know it: the copies that they store, and the offsets of the groups.

A broker never learns the result of a listener. That a group's offset is past a message means that its consumer has
confirmed it: it was consumed, or filtered. A failed message is sent back, and its copy shows that.

trail    id (unique id, else the first offset message id), topic, keys, tags, born_ms, born_host, body_preview
steps    in the order of time: kind ("produced", or as in engine.protocol.message.message_copies), at_ms, broker, topic,
         queue_id, queue_offset, offset (in the commit log), retry (how many times it was sent back before), group
         (null: all); delayed: level, until_ms; resent: resends (offset message id of the dead letter)
omitted_steps   how many of the oldest ones are left out
groups   by name: state, retry, `behind` (waiting: messages before it that the group has not confirmed), until_ms
         (delayed: when it is due), expression (what the group subscribes to; null: not known). States: "waiting",
         "passed", "filtered" (passed, and its subscription does not want it), "delayed", "dead", "unread" (the
         group has no offset there yet)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.foundation.json_types import JsonObject, JsonValue
from app.observation.record_view import message_summary
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_copies import (
    delay_level,
    destination,
    first_topic,
    group_of_copy,
    identity,
    kind_of_copy,
)
from engine.protocol.message.message_properties import PROPERTY_RESENT_DEAD_LETTER

STEPS_MAX = 100
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


def trail_of(copies: Sequence[MessageExt], facts: TrailFacts) -> JsonObject:
    """Return the history of one message as JSON. ``copies`` are its stored copies, each with its broker's name."""
    ordered = sorted(copies, key=lambda copy: (copy.store_timestamp, copy.commit_log_offset))
    first = ordered[0]
    summary = message_summary(first)
    steps: list[JsonValue] = [
        {"kind": "produced", "at_ms": first.born_timestamp, "host": first.born_host},
        *(_step(copy, facts) for copy in ordered),
    ]
    return {
        "id": identity(first),
        "topic": first_topic(ordered[-1]) if group_of_copy(ordered[-1]) else destination(first),
        "keys": list(first.keys),
        "tags": first.tags,
        "born_ms": first.born_timestamp,
        "born_host": first.born_host,
        "body_preview": summary["body_preview"],
        "steps": steps[-STEPS_MAX:],
        "omitted_steps": max(0, len(steps) - STEPS_MAX),
        "groups": {group: _group(group, ordered, facts) for group in _groups(ordered, facts)},
    }


def _step(copy: MessageExt, facts: TrailFacts) -> JsonObject:
    kind = kind_of_copy(copy)
    step: JsonObject = {
        "kind": kind or "stored",
        "at_ms": copy.store_timestamp,
        "broker": copy.broker_name,
        "offset": copy.commit_log_offset,
        "topic": copy.topic,
        "queue_id": copy.queue_id,
        "queue_offset": copy.queue_offset,
        "retry": copy.reconsume_times,
        "group": group_of_copy(copy),
    }
    if kind == "delayed":
        step.update(level=delay_level(copy), until_ms=_due_ms(copy, facts))
    if kind == "resent":
        step["resends"] = copy.properties[PROPERTY_RESENT_DEAD_LETTER]
    return step


def _due_ms(copy: MessageExt, facts: TrailFacts) -> int | None:
    level = delay_level(copy)
    if not 0 < level < len(facts.delay_levels_ms):
        return None
    return copy.store_timestamp + facts.delay_levels_ms[level]


def _groups(ordered: Sequence[MessageExt], facts: TrailFacts) -> list[str]:
    """Return the groups that a copy is for, and those that have an offset in the queue of a copy."""
    names = {group: None for copy in ordered if (group := group_of_copy(copy)) is not None}
    places = {(copy.broker_name, copy.topic, copy.queue_id): None for copy in ordered if group_of_copy(copy) is None}
    names.update({group: None for group, *place in facts.committed if tuple(place) in places})
    names.update(dict.fromkeys(facts.subscriptions))
    return sorted(names)


def _group(group: str, ordered: Sequence[MessageExt], facts: TrailFacts) -> JsonObject:
    subscription = facts.subscriptions.get(group)
    view: JsonObject = {
        "state": "unread",
        "retry": 0,
        "behind": None,
        "until_ms": None,
        "expression": None if subscription is None else subscription.expression,
    }
    for_group = [
        copy
        for copy in ordered
        if group_of_copy(copy) in (None, group) and kind_of_copy(copy) not in ("half", "given-up", None)
    ]
    if not for_group:
        return view
    last = for_group[-1]
    view["retry"] = last.reconsume_times
    kind = kind_of_copy(last)
    if kind == "dead":
        view["state"] = "dead"
    elif kind == "delayed":
        view.update(state="delayed", until_ms=_due_ms(last, facts))
    else:
        committed = facts.committed.get((group, last.broker_name or "", last.topic, last.queue_id))
        if committed is not None and committed > last.queue_offset:
            wants_not = subscription is not None and subscription.wants is False and group_of_copy(last) is None
            view["state"] = "filtered" if wants_not else "passed"
        elif committed is not None:
            view.update(state="waiting", behind=last.queue_offset - committed)
    return view
