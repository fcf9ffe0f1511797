"""The dead letters of a lab broker, by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.lab.foundation.bounds import DEAD_LETTERS_SHOWN

if TYPE_CHECKING:
    from app.lab.views.life_view import LifeView
    from app.lab.views.stored_copies import BrokerCopies
    from app.observation.message_life import StoredCopyView
    from app.picture.dead_letter import WorldDeadLetter, WorldDeadLetters


def dead_letters_view(copies: BrokerCopies, lives: LifeView) -> dict[str, WorldDeadLetters] | None:
    """Return the dead letters of a broker; None while it has none."""
    by_group: dict[str, list[StoredCopyView]] = {}
    for copy in copies.dead:
        if copy.group is not None:
            by_group.setdefault(copy.group, []).append(copy)
    if not by_group:
        return None
    return {group: _group(by_group[group], copies, lives) for group in sorted(by_group)}


def _group(dead: list[StoredCopyView], copies: BrokerCopies, lives: LifeView) -> WorldDeadLetters:
    messages: list[WorldDeadLetter] = [_dead_letter(copy, copies, lives) for copy in dead[-DEAD_LETTERS_SHOWN:]]
    return {"count": len(dead), "messages": messages}


def _dead_letter(copy: StoredCopyView, copies: BrokerCopies, lives: LifeView) -> WorldDeadLetter:
    again = copies.resent.get(copy.offset_message_id)
    return {
        "key": copy.key,
        "id": copy.offset_message_id,
        "unique_id": copy.message_id,
        "topic": copy.first_topic,
        "offset": copy.offset,
        "queue_id": copy.queue_id,
        "queue_offset": copy.queue_offset,
        "retry": copy.reconsume_times,
        "dead_us": copy.stored_us,
        "why": lives.last_result(copy.key, copy.group or "", copy.stored_us),
        "resent": None
        if again is None
        else {
            "topic": again.topic,
            "queue_id": again.queue_id,
            "queue_offset": again.queue_offset,
            "at_us": again.stored_us,
        },
    }
