"""The running info (request 307) of a group's members as JSON, for every kind of client. Nothing here trusts what a
client wrote.

look     group, now_ms, members, omitted_members, retries, are_all_retries (false: some messages that wait were not
         looked at)
member   client_id, address, language, version, state (an Outcome of app.live.client_questions, or "unreadable"),
         asked_ms, answered_ms (of what follows; null: unknown), remark, orderly, threads, started_ms,
         strategy, idempotence (see app.live.idempotence_tally; null without),
         rates (per topic: ok_per_s, failed_per_s, rt_ms, failed in the last hour), queues, omitted_queues,
         untold: what its kind of client does not report of queues ("trees", "counts", "times")
queue    topic, broker, queue_id, count, first, last (waiting messages and their offsets), in_hand, in_hand_first,
         in_hand_last (those that an orderly listener has), mib, commit_offset, dropped, locked, last_lock_ms,
         last_pull_ms, last_consume_ms, try_unlock_times; null where it is not reported. Of our own client also
         flow_control, tree, consuming_tree (see engine.client.queues.message_tree), consuming, lock_lease_ms,
         consume_lock, local_lock ({owner, waiters})
retry    key, topic (its first one), queue_id, queue_offset, offset (in the commit log), retries (how often it was sent
         back), due_ms (null: it can be pulled)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from app.foundation.json_types import JsonObject, JsonValue
from app.live.client_questions import AnswerState, Look, Member, StoredRetry
from app.live.idempotence_tally import idempotence_view
from app.observation.bounds import client_text
from engine.client.consumer.consumer_running_info import (
    ANSWER_NODES_MAX,
    INTERNALS_PROPERTY,
    OFFSETS_FILE_PROPERTY,
    OFFSETS_WRITTEN,
    QUEUES_IN_RESET_PROPERTY,
    SUSPENDED_PROPERTY,
)
from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_text import ObjectKeyMap, loads_json, loads_json_object
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_copies import first_topic, group_of_copy

#: Queues of one member.
QUEUES_MAX = 128
TOPICS_MAX = 32
#: Retries of one group, those that are due first.
RETRIES_MAX = 30

_NUMBERS = {
    "count": "cachedMsgCount",
    "first": "cachedMsgMinOffset",
    "last": "cachedMsgMaxOffset",
    "in_hand": "transactionMsgCount",
    "in_hand_first": "transactionMsgMinOffset",
    "in_hand_last": "transactionMsgMaxOffset",
    "mib": "cachedMsgSizeInMiB",
    "commit_offset": "commitOffset",
    "last_lock_ms": "lastLockTimestamp",
    "last_pull_ms": "lastPullTimestamp",
    "last_consume_ms": "lastConsumeTimestamp",
    "try_unlock_times": "tryUnlockTimes",
}
_RATES = {
    "ok_per_s": "consumeOKTPS",
    "failed_per_s": "consumeFailedTPS",
    "rt_ms": "consumeRT",
    "failed": "consumeFailedMsgs",
}
#: The parts that a kind of client may leave out, and the field that shows it.
_TOLD_BY = {"trees": "tree", "counts": "count", "times": "last_pull_ms"}
_INT64_MAX = 2**63 - 1
#: The years 2000 to 2100 in milliseconds. The C++ client reports uninitialized memory as the time of a lock that it
#: never had.
_TIMES = range(946_684_800_000, 4_102_444_800_000)
#: Depth of a tree. Twice the logarithm of the messages that a queue may hold is less.
_DEPTH_MAX = 60


def look_view(group: str, look: Look) -> JsonObject:
    """Return a snapshot of a group as JSON."""
    members: list[JsonValue] = [member_view(member) for member in look.members]
    retries = sorted(
        (view for retry in look.retries if (view := _retry(group, retry)) is not None),
        key=lambda view: (view["due_ms"] or 0, view["queue_offset"]),
    )
    return {
        "group": group,
        "now_ms": look.now_ms,
        "members": members,
        "omitted_members": look.omitted_members,
        "retries": [*retries[:RETRIES_MAX]],
        "are_all_retries": look.are_all_retries and len(retries) <= RETRIES_MAX,
    }


def member_view(member: Member) -> JsonObject:
    """Return a member as JSON."""
    client = member.client
    state: str = member.outcome
    reported: JsonObject = {}
    if member.answered_ms:
        try:
            reported = running_info_view(member.body)
        except ProtocolError as error:
            state, member.remark = "unreadable", str(error)
    return {
        "client_id": client_text(client.client_id),
        "address": client.channel.remote_address,
        "language": client.language_name,
        "version": client.version,
        "state": state,
        "asked_ms": member.asked_ms or None,
        "answered_ms": member.answered_ms if reported else None,
        "remark": client_text(member.remark) if state not in (AnswerState.TOLD, AnswerState.ASKED) else "",
        "queues": [],
        **reported,
    }


def running_info_view(body: bytes) -> JsonObject:
    """Return the body of an answer to 307 as JSON. Raises :class:`ProtocolError`."""
    info = loads_json_object(body, "the answer")
    properties = _mapping(info.get("properties"))
    internals = _internals(properties.get(INTERNALS_PROPERTY))
    offsets_file = client_text(str(properties.get(OFFSETS_FILE_PROPERTY) or ""))
    pairs = _queue_pairs(info.get("mqTable"))
    nodes_left = [ANSWER_NODES_MAX]
    queues = [_queue(key, reported, internals, nodes_left) for key, reported in pairs[:QUEUES_MAX]]
    queues.sort(key=lambda queue: (queue["topic"].startswith("%"), queue["topic"], queue["broker"], queue["queue_id"]))
    topics = _mapping(info.get("statusTable"))
    untold = [name for name, field in _TOLD_BY.items() if queues and all(field not in each for each in queues)]
    return {
        "orderly": _boolean(properties.get("PROP_CONSUMEORDERLY")),
        "threads": _number(properties.get("PROP_THREADPOOL_CORE_SIZE")),
        "started_ms": _number(properties.get("PROP_CONSUMER_START_TIMESTAMP")),
        "strategy": client_text(str(properties.get("allocateMessageQueueStrategy") or "")),
        "suspended": _boolean(properties.get(SUSPENDED_PROPERTY)),
        "queues_in_reset": _number(properties.get(QUEUES_IN_RESET_PROPERTY)),
        "offsets_failure": "" if offsets_file == OFFSETS_WRITTEN else offsets_file,
        "idempotence": idempotence_view(properties),
        "rates": {
            client_text(topic): {name: _real(_mapping(rates).get(field)) for name, field in _RATES.items()}
            for topic, rates in islice(topics.items(), TOPICS_MAX)
        },
        "queues": [dict.fromkeys(("count", "tree", *_NUMBERS)) | queue for queue in queues],
        "omitted_queues": len(pairs) - len(queues),
        "untold": [*untold],
    }


# ---------------------------------------------------------------------------------------------------- queues


def _queue_pairs(table: object) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the queues with their data.

    Java writes an object as the key of each; other clients write the key as text, or leave it out.
    """
    if isinstance(table, ObjectKeyMap):
        return [(key, _mapping(value)) for key, value in table.pairs]
    pairs = []
    for key, value in _mapping(table).items():
        try:
            pairs.append((_mapping(loads_json(key.encode())), _mapping(value)))
        except ProtocolError:
            continue
    return pairs


def _queue(
    key: Mapping[str, Any], reported: Mapping[str, Any], internals: Mapping[str, Any], nodes_left: list[int]
) -> dict[str, Any]:
    """Return one queue without the fields that the client does not report."""
    topic, broker, queue_id = (
        str(key.get("topic", "")),
        str(key.get("brokerName", "")),
        _number(key.get("queueId")) or 0,
    )
    inside = _mapping(internals.get(f"{topic}@{broker}@{queue_id}"))
    view: dict[str, Any] = {"topic": client_text(topic), "broker": client_text(broker), "queue_id": queue_id}
    for name, field in _NUMBERS.items():
        number = _number(reported.get(field))
        if number is not None and (number in _TIMES or not name.endswith("_ms")):
            view[name] = number
    view["dropped"], view["locked"] = _boolean(reported.get("droped")), _boolean(reported.get("locked"))
    if view.get("commit_offset", -1) < 0:
        view["commit_offset"] = None
    flow_control = reported.get("flowControl")
    view["flow_control"] = flow_control if flow_control in ("count", "size", "span") else None
    if inside:
        view["tree"] = _tree(inside.get("msgTreeMap"), nodes_left)
        view["consuming_tree"] = _tree(inside.get("consumingMsgOrderlyTreeMap"), nodes_left)
        view["consuming"] = _boolean(inside.get("consuming"))
        view["lock_lease_ms"] = _number(inside.get("lockMaxLiveTime"))
        view["consume_lock"], view["local_lock"] = _lock(inside.get("consumeLock")), _lock(inside.get("localLock"))
    return view


def _internals(text: object) -> Mapping[str, Any]:
    try:
        return _mapping(loads_json(text.encode())) if isinstance(text, str) else {}
    except ProtocolError:
        return {}


def _tree(node: object, nodes_left: list[int], depth: int = 0) -> JsonObject | None:
    """Return the nodes of a tree; all trees of an answer together have no more than ``nodes_left`` allows."""
    reported = _mapping(node)
    offset = _number(reported.get("offset"))
    if offset is None or nodes_left[0] <= 0 or depth > _DEPTH_MAX:
        return None
    nodes_left[0] -= 1
    return {
        "offset": offset,
        "key": client_text(str(reported.get("key", ""))),
        "red": reported.get("red") is True,
        "left": _tree(reported.get("left"), nodes_left, depth + 1),
        "right": _tree(reported.get("right"), nodes_left, depth + 1),
    }


def _lock(lock: object) -> JsonObject | None:
    reported = _mapping(lock)
    if not reported:
        return None
    owner = reported.get("owner")
    return {
        "owner": None if owner is None else client_text(str(owner)),
        "waiters": _number(reported.get("waiters")) or 0,
    }


# ---------------------------------------------------------------------------------------------------- values


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int | None:
    """Return a number; some clients write numbers as texts."""
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= _INT64_MAX else None


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < _INT64_MAX else None


def _boolean(value: object) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())


def _retry(group: str, retry: StoredRetry) -> dict[str, Any] | None:
    """Return a retry; None when it is for another group."""
    try:
        message = decode_stored_message(retry.record)
    except ProtocolError:
        return None
    if group_of_copy(message) != group:
        return None
    return {
        "key": client_text(message.keys[0]) if message.keys else "",
        "topic": client_text(first_topic(message)),
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "offset": message.commit_log_offset,
        "retries": message.reconsume_times,
        "due_ms": retry.due_ms,
    }
