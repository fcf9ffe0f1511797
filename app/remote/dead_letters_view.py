"""Dead letters for the page and for scripts: :mod:`app.picture.dead_letter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.observation.bounds import client_text
from app.observation.record_view import message_summary
from engine.broker.delivery.dead_letter import DeadLetterRefused, original_topic, retries_of

if TYPE_CHECKING:
    from app.picture import dead_letter as picture
    from app.remote.remote_dead_letters import DeadLetterGroup, RemoteDeadLetters, ResendReport
    from engine.protocol.message.message import MessageExt

#: Failures that a report lists.
FAILED_MAX = 50
_PROPERTIES_MAX = 64


def group_view(group: DeadLetterGroup) -> picture.DeadLetterGroup:
    """Return a group as JSON."""
    return {
        "group": group.group,
        "count": group.count,
        "min": group.min_number,
        "max": group.max_number,
        "newest_ms": group.newest_ms or None,
    }


async def dead_letter_view(dead_letters: RemoteDeadLetters, group: str, dead: MessageExt) -> picture.DeadLetter:
    """Return a dead letter as JSON."""
    summary = message_summary(dead)
    try:
        again, is_known = await dead_letters.resent_as(group, dead), True
    except DeadLetterRefused:  # there is no index
        again, is_known = None, False
    return {
        "queue_id": dead.queue_id,
        "queue_offset": dead.queue_offset,
        "offset": dead.commit_log_offset,
        "id": dead.offset_message_id,
        "unique_id": dead.unique_id,
        "keys": [client_text(key) for key in dead.keys],
        "tags": dead.tags,
        "topic": original_topic(dead),
        "retries": retries_of(dead),
        "cause": str(await dead_letters.cause_of_death(group, dead)),
        "born_ms": dead.born_timestamp,
        "born_host": dead.born_host,
        "dead_ms": dead.store_timestamp,
        "body_preview": summary["body_preview"],
        "body_bytes": summary["body_bytes"],
        "properties": {
            client_text(name): client_text(value) for name, value in list(dead.properties.items())[:_PROPERTIES_MAX]
        },
        "resent": None if again is None else _resent(again),
        "resent_known": is_known,
    }


def _resent(again: MessageExt) -> picture.ResentAs:
    return {
        "topic": again.topic,
        "queue_id": again.queue_id,
        "queue_offset": again.queue_offset,
        "offset": again.commit_log_offset,
        "at_ms": again.store_timestamp,
    }


def refusal_view(error: DeadLetterRefused) -> picture.Refusal:
    """Return ``error`` (English), ``reason``, ``text`` in both languages."""
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
