"""What both worlds compute alike of a message's life: its copies as marks, and what they say about each group.

The lab adds what its clients saw (:mod:`app.lab.views.message_life`), the live page the offsets of the groups
(:mod:`app.observation.message_trail`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from engine.protocol.message.message_copies import CopyKind, PlacedCopy, delay_level, first_topic, group_of_copy
from engine.protocol.message.message_properties import PROPERTY_RESENT_DEAD_LETTER

if TYPE_CHECKING:
    from app.picture.message_life import CopyMark, CopyName, GroupState, LifeInGroup, LifeMark, MessageLife
    from engine.protocol.message.message import MessageExt

#: Kinds of marks that say that something went wrong.
BAD_KINDS = ("refused", "unknown", "dead", "given-up", "resent")


class StoredCopyView(NamedTuple):
    """One record of a broker's commit log; times are those of the world.

    ``kind``: see :class:`~engine.protocol.message.message_copies.CopyKind`. A delayed one waits until ``due_us`` (None:
    the broker has no such level), to be delivered to ``group`` again (None: to all groups for the first time).
    ``resends``: the offset message id of the dead letter that it, or the message that it is a retry of, was resent for,
    else empty. ``dead``: the whole message, of a dead letter in the lab only.
    """

    kind: str
    stored_us: int
    broker: str
    offset: int
    topic: str
    queue_id: int
    queue_offset: int
    key: str
    reconsume_times: int
    level: int
    due_us: int | None
    group: str | None
    resends: str
    first_topic: str
    dead: MessageExt | None = None


def copy_view(
    message: PlacedCopy, kind: CopyKind, broker: str, key: str, us_of: Callable[[int], int], levels_ms: Sequence[int]
) -> StoredCopyView:
    """Return the view of a copy.

    :param us_of: turns a time of the broker's clock, in milliseconds, into one of the world.
    :param levels_ms: the delay of level 0 (none), 1, 2 ...
    """
    level = delay_level(message)
    is_known = 0 < level < len(levels_ms)
    return StoredCopyView(
        kind,
        us_of(message.store_timestamp),
        broker,
        message.commit_log_offset,
        message.topic,
        message.queue_id,
        message.queue_offset,
        key,
        message.reconsume_times,
        level,
        us_of(message.store_timestamp + levels_ms[level]) if is_known else None,
        group_of_copy(message),
        message.properties.get(PROPERTY_RESENT_DEAD_LETTER, "") if kind in ("resent", "due") else "",
        first_topic(message),
    )


def copy_mark(copy: StoredCopyView, at_us: int, *, is_lost: bool = False) -> CopyMark:
    """Return the mark of a copy."""
    mark: CopyMark = {
        "kind": cast("CopyName", copy.kind),
        "at_us": at_us,
        "broker": copy.broker,
        "offset": copy.offset,
        "topic": copy.topic,
        "queue_id": copy.queue_id,
        "queue_offset": copy.queue_offset,
        "reconsume_times": copy.reconsume_times,
        "group": copy.group,
    }
    if copy.kind == "delayed":
        mark["level"], mark["until_us"] = copy.level, copy.due_us
    if copy.kind == "resent":
        mark["resends"] = copy.resends
    if is_lost:
        mark["lost"] = True
    return mark


def newest_copy_for(group: str, copies: Iterable[StoredCopyView]) -> StoredCopyView | None:
    """Return the newest copy that is, or will be, for the group."""
    for_group = [copy for copy in copies if copy.group in (None, group) and copy.kind not in ("half", "given-up")]
    return max(for_group, key=lambda copy: (copy.stored_us, copy.offset), default=None)


def state_by_copy(copy: StoredCopyView | None) -> GroupState | None:
    """Return the state of a group for which ``copy`` is the newest; None where the copy is in a queue of consumers."""
    if copy is not None and copy.kind == "dead":
        return "dead"
    return "delayed" if copy is not None and copy.kind == "delayed" else None


def message_life_view(
    key: str,
    topic: str,
    at_us: int,
    marks: Sequence[LifeMark],
    marks_max: int,
    groups: dict[str, LifeInGroup],
    *,
    is_in_trouble: bool,
) -> MessageLife:
    """Return the life with its newest marks."""
    return {
        "key": key,
        "topic": topic,
        "at_us": at_us,
        "in_trouble": is_in_trouble,
        "marks": list(marks[-marks_max:]),
        "omitted_marks": max(0, len(marks) - marks_max),
        "groups": groups,
    }
