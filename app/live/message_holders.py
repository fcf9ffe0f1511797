"""Which member of a group holds a message, by the answers to request 307: :mod:`app.live.client_questions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from app.live.client_answers import member_view
from app.live.client_questions import GROUPS_MAX, Member

if TYPE_CHECKING:
    from app.picture.consumer_group import MemberReport
    from app.picture.message_life import CopyMark, StoredMessageLife
    from app.picture.process_queue import HeldMessages, ProcessQueue
    from engine.client.queues.message_tree import TreeNode

#: States of a message of which a member may hold it: the group may not have reported any offset yet.
_UNCONFIRMED = ("waiting", "unread")


def waiting_groups(lives: Sequence[StoredMessageLife]) -> list[str]:
    """Return the groups that have not confirmed one of the messages; at most as many as are asked at a time."""
    waiting = (group for life in lives for group, part in life["groups"].items() if part["state"] in _UNCONFIRMED)
    return list(dict.fromkeys(waiting))[:GROUPS_MAX]


def note_holders(lives: list[StoredMessageLife], members: Mapping[str, Sequence[Member]]) -> list[StoredMessageLife]:
    """Return the lives, with the members that hold what their groups wait for."""
    reports = {group: [member_view(member) for member in those] for group, those in members.items()}
    for life in lives:
        for group, part in life["groups"].items():
            copy = _newest_copy_for(group, life)
            if part["state"] not in _UNCONFIRMED or copy is None:
                continue
            for report in reports.get(group, ()):
                state = _state_at(report, copy)
                if state is not None:
                    part["state"], part["holder"] = state, report["client_id"]
    return lives


def _newest_copy_for(group: str, life: StoredMessageLife) -> CopyMark | None:
    """Return the newest mark of a copy in a queue that the group reads."""
    for mark in reversed(life["marks"]):
        if mark["kind"] in ("stored", "due", "resent") and mark["group"] in (None, group):
            return mark
    return None


def _state_at(report: MemberReport, copy: CopyMark) -> Literal["held", "delivering"] | None:
    for queue in report["queues"]:
        place = (queue["topic"], queue["broker"], queue["queue_id"])
        if place == (copy["topic"], copy["broker"], copy["queue_id"]) and not queue["dropped"]:
            return state_in(queue, copy["queue_offset"])
    return None


def state_in(queue: ProcessQueue, offset: int) -> Literal["held", "delivering"] | None:
    """Return how a process queue holds the message. A concurrent listener's messages stay in the tree of those that
    wait, so only an ordered one is known to have it.
    """
    if _has(queue["consuming_tree"], queue["in_hand"], offset):
        return "delivering"
    return "held" if _has(queue["tree"], queue["waiting"], offset) else None


def _has(tree: TreeNode | None, held: HeldMessages | None, offset: int) -> bool:
    """Return whether the message certainly is there; clients of other kinds report no tree."""
    while tree is not None and tree["offset"] != offset:
        tree = tree["left"] if offset < tree["offset"] else tree["right"]
    if tree is not None:
        return True
    if held is None or held["first"] is None or held["last"] is None:
        return False
    has_all = held["count"] == held["last"] - held["first"] + 1
    return has_all and held["first"] <= offset <= held["last"]
