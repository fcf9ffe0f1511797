"""Dead letters for the page and for scripts: :mod:`app.picture.dead_letter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.observation.dead_letter_view import dead_letter_view
from app.observation.unix_time import unix_us
from engine.broker.delivery.dead_letter import DeadLetterRefused

if TYPE_CHECKING:
    from app.picture import dead_letter as picture
    from app.picture.refusal import Refusal
    from app.remote.remote_dead_letters import DeadLetterGroup, RemoteDeadLetters, ResendReport
    from engine.broker.transactions.half_message_lookup import HalfMessageRefused
    from engine.protocol.message.message import MessageExt

#: Failures that a report lists.
FAILED_MAX = 50


def group_view(group: DeadLetterGroup) -> picture.DeadLetterGroup:
    """Return a group as JSON."""
    return {
        "group": group.group,
        "count": group.count,
        "min": group.min_number,
        "max": group.max_number,
        "newest_us": unix_us(group.newest_ms) or None,
    }


async def remote_dead_letter_view(dead_letters: RemoteDeadLetters, group: str, dead: MessageExt) -> picture.DeadLetter:
    """Return a dead letter as JSON."""
    try:
        again, is_known = await dead_letters.resent_as(group, dead), True
    except DeadLetterRefused:  # there is no index
        again, is_known = None, False
    cause = await dead_letters.cause_of_death(group, dead)
    return dead_letter_view(dead, cause, None if again is None else _resent(again), resent_known=is_known)


def _resent(again: MessageExt) -> picture.ResentAs:
    return {
        "topic": again.topic,
        "queue_id": again.queue_id,
        "queue_offset": again.queue_offset,
        "offset": again.commit_log_offset,
        "at_us": unix_us(again.store_timestamp),
    }


def refusal_view(error: DeadLetterRefused | HalfMessageRefused) -> Refusal:
    """Return a refusal to resend a dead letter, or to decide a half message, as JSON."""
    return {"error": str(error), "reason": error.refusal.name.lower(), "text": dict(error.text)}


def report_view(report: ResendReport) -> picture.ResendReport:
    """Return a report as JSON."""
    failed: list[picture.FailedDeadLetter] = [
        {"id": name, **refusal_view(error)} for name, error in report.failed[:FAILED_MAX]
    ]
    resent: list[picture.ResentDeadLetter] = [
        {
            "id": one.dead.offset_message_id,
            "topic": one.topic,
            "queue_id": one.queue_id,
            "queue_offset": one.queue_offset,
        }
        for one in report.resent
    ]
    return {
        "resent": resent,
        "already": report.already,
        "failed": failed,
        "failed_omitted": max(0, len(report.failed) - FAILED_MAX),
        "next": report.next_number,
    }
