"""The running info (request 307) of a group's members, for every kind of client. Nothing a client wrote is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from app.live.client_questions import AnswerState, Look, Member, StoredRetry
from app.live.idempotence_tally import idempotence_view
from app.observation.bounds import client_text
from app.observation.unix_time import unix_us
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

if TYPE_CHECKING:
    from app.picture.consumer_group import GroupReport, MemberReport, RunningInfo, WaitingRetry
    from app.picture.lock import LocalLock
    from app.picture.process_queue import HeldMessages, ProcessQueue
    from engine.client.queues.message_tree import TreeNode

#: Queues of one member.
QUEUES_MAX = 128
TOPICS_MAX = 32
#: Retries of one group, those that are due first.
RETRIES_MAX = 30

_MIB = 1 << 20
_NOTHING = b"{}"
_INT64_MAX = 2**63 - 1
#: The years 2000 to 2100 in milliseconds. The C++ client reports uninitialized memory as the time of a lock that it
#: never had.
_TIMES = range(946_684_800_000, 4_102_444_800_000)
#: Depth of a tree. Twice the logarithm of the messages that a queue may hold is less.
_DEPTH_MAX = 60


def look_view(group: str, look: Look) -> GroupReport:
    """Return the view of a snapshot of a group."""
    retries = sorted(
        (view for retry in look.retries if (view := _retry(group, retry)) is not None),
        key=lambda view: (view["due_us"] or 0, view["queue_offset"]),
    )
    return {
        "group": group,
        "now_us": unix_us(look.now_ms),
        "members": [member_view(member) for member in look.members],
        "omitted_members": look.omitted_members,
        "retries": retries[:RETRIES_MAX],
        "are_all_retries": look.are_all_retries and len(retries) <= RETRIES_MAX,
    }


def member_view(member: Member) -> MemberReport:
    """Return the view of a member."""
    client = member.client
    state: str = member.outcome
    reported = None
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
        "asked_us": unix_us(member.asked_ms) or None,
        "answered_us": unix_us(member.answered_ms) if reported is not None else None,
        "remark": client_text(member.remark) if state not in (AnswerState.TOLD, AnswerState.ASKED) else "",
        **(reported or running_info_view(_NOTHING)),
    }


def running_info_view(body: bytes) -> RunningInfo:
    """Return the view of the body of an answer to 307. Raises :class:`ProtocolError`."""
    info = loads_json_object(body, "the answer")
    properties = _mapping(info.get("properties"))
    internals = _internals(properties.get(INTERNALS_PROPERTY))
    offsets_file = client_text(str(properties.get(OFFSETS_FILE_PROPERTY) or ""))
    pairs = _queue_pairs(info.get("mqTable"))
    nodes_left = [ANSWER_NODES_MAX]
    queues = [_queue(key, reported, internals, nodes_left) for key, reported in pairs[:QUEUES_MAX]]
    queues.sort(key=lambda queue: (queue["topic"].startswith("%"), queue["topic"], queue["broker"], queue["queue_id"]))
    topics = _mapping(info.get("statusTable"))
    untold = {
        "trees": not internals,
        "counts": all(queue["waiting"] is None for queue in queues),
        "times": all(queue["last_pull_us"] is None for queue in queues),
    }
    return {
        "orderly": _boolean(properties.get("PROP_CONSUMEORDERLY")),
        "threads": _number(properties.get("PROP_THREADPOOL_CORE_SIZE")),
        "started_us": _time_us(properties.get("PROP_CONSUMER_START_TIMESTAMP")),
        "strategy": client_text(str(properties.get("allocateMessageQueueStrategy") or "")),
        "suspended": _boolean(properties.get(SUSPENDED_PROPERTY)),
        "queues_in_reset": _number(properties.get(QUEUES_IN_RESET_PROPERTY)),
        "offsets_failure": "" if offsets_file == OFFSETS_WRITTEN else offsets_file,
        "idempotence": idempotence_view(properties),
        "rates": {
            client_text(topic): {
                "ok_per_s": _real(_mapping(rates).get("consumeOKTPS")),
                "failed_per_s": _real(_mapping(rates).get("consumeFailedTPS")),
                "rt_ms": _real(_mapping(rates).get("consumeRT")),
                "failed": _real(_mapping(rates).get("consumeFailedMsgs")),
            }
            for topic, rates in islice(topics.items(), TOPICS_MAX)
        },
        "queues": queues,
        "omitted_queues": len(pairs) - len(queues),
        "untold": [name for name, is_untold in untold.items() if queues and is_untold],
    }


# ---------------------------------------------------------------------------------------------------- queues


def _queue_pairs(table: object) -> list[tuple[Mapping[str, object], Mapping[str, object]]]:
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
    key: Mapping[str, object], reported: Mapping[str, object], internals: Mapping[str, object], nodes_left: list[int]
) -> ProcessQueue:
    topic, broker, queue_id = (
        str(key.get("topic", "")),
        str(key.get("brokerName", "")),
        _number(key.get("queueId")) or 0,
    )
    inside = _mapping(internals.get(f"{topic}@{broker}@{queue_id}"))
    waiting, in_hand = _held(reported, "cachedMsg"), _held(reported, "transactionMsg")
    consume_offset = _number(reported.get("commitOffset"))
    cached_mib = _number(reported.get("cachedMsgSizeInMiB"))
    flow_control = reported.get("flowControl")
    return {
        "topic": client_text(topic),
        "broker": client_text(broker),
        "queue_id": queue_id,
        "tree": _tree(inside.get("msgTreeMap"), nodes_left),
        "consuming_tree": _tree(inside.get("consumingMsgOrderlyTreeMap"), nodes_left),
        "waiting": waiting,
        "in_hand": in_hand,
        "message_count": None if waiting is None else _bounded(waiting["count"] + (in_hand["count"] if in_hand else 0)),
        "cached_bytes": None if cached_mib is None else _bounded(cached_mib * _MIB),
        "dropped": _boolean(reported.get("droped")),
        "locked": _boolean(reported.get("locked")),
        "locked_us": _time_us(reported.get("lastLockTimestamp")),
        "lock_lease_ms": _number(inside.get("lockMaxLiveTime")),
        "consume_offset": None if consume_offset is None or consume_offset < 0 else consume_offset,
        "last_pull_us": _time_us(reported.get("lastPullTimestamp")),
        "last_consume_us": _time_us(reported.get("lastConsumeTimestamp")),
        "flow_control": str(flow_control) if flow_control in ("count", "size", "span") else None,
        "try_unlock_times": _number(reported.get("tryUnlockTimes")),
        "consume_lock": _lock(inside.get("consumeLock")),
        "local_lock": _lock(inside.get("localLock")),
        "consuming": _boolean(inside.get("consuming")),
    }


def _held(reported: Mapping[str, object], tree: str) -> HeldMessages | None:
    """Return what is in the tree of messages that RocketMQ's fields call ``tree``."""
    count = _number(reported.get(f"{tree}Count"))
    if count is None:
        return None
    first, last = (_number(reported.get(f"{tree}{end}Offset")) if count else None for end in ("Min", "Max"))
    return {"count": count, "first": first, "last": last}


def _internals(text: object) -> Mapping[str, object]:
    try:
        return _mapping(loads_json(text.encode())) if isinstance(text, str) else {}
    except ProtocolError:
        return {}


def _tree(node: object, nodes_left: list[int], depth: int = 0) -> TreeNode | None:
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


def _lock(lock: object) -> LocalLock | None:
    reported = _mapping(lock)
    if not reported:
        return None
    owner = reported.get("owner")
    return {
        "owner": None if owner is None else client_text(str(owner)),
        "waiter_count": _number(reported.get("waiters")) or 0,
        "on": True,
    }


# ---------------------------------------------------------------------------------------------------- values


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int | None:
    """Return a number; some clients write numbers as texts."""
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= _INT64_MAX else None


def _bounded(number: int) -> int:
    """Return the number, or the greatest or least one that JSON takes."""
    return max(-_INT64_MAX, min(number, _INT64_MAX))


def _time_us(value: object) -> int | None:
    """Return a time that a client reports, in milliseconds since 1970; None where it cannot be one."""
    number = _number(value)
    return unix_us(number) if number is not None and number in _TIMES else None


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < _INT64_MAX else None


def _boolean(value: object) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())


def _retry(group: str, retry: StoredRetry) -> WaitingRetry | None:
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
        "reconsume_times": message.reconsume_times,
        "due_us": None if retry.due_ms is None else unix_us(retry.due_ms),
    }
