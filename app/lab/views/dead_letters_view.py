"""The dead letters of a lab broker, by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.lab.foundation.bounds import DEAD_LETTERS_SHOWN
from app.observation.dead_letter_view import dead_letter_view, retry_max_times
from engine.broker.delivery.dead_letter import cause_of_death

if TYPE_CHECKING:
    from app.lab.views.life_view import LifeView
    from app.lab.views.stored_copies import BrokerCopies
    from app.observation.message_life import StoredCopyView
    from app.picture.dead_letter import DeadLetter, DeadLetterPage, ResentAs
    from engine.broker.broker import Broker


def dead_letters_view(broker: Broker, copies: BrokerCopies, lives: LifeView) -> dict[str, DeadLetterPage] | None:
    """Return the newest dead letters of each group; None while the broker has none."""
    by_group: dict[str, list[StoredCopyView]] = {}
    for copy in copies.dead:
        if copy.group is not None:
            by_group.setdefault(copy.group, []).append(copy)
    if not by_group:
        return None
    return {group: _page(broker, group, by_group[group], copies, lives) for group in sorted(by_group)}


def _page(
    broker: Broker, group: str, dead: list[StoredCopyView], copies: BrokerCopies, lives: LifeView
) -> DeadLetterPage:
    most = retry_max_times(broker, group)
    messages = [_dead_letter(copy, group, most, copies, lives) for copy in dead[-DEAD_LETTERS_SHOWN:]]
    return {
        "group": {"group": group, "count": len(dead), "min": 0, "max": len(dead), "newest_us": dead[-1].stored_us},
        "start": len(dead) - len(messages),
        "messages": messages,
    }


def _dead_letter(copy: StoredCopyView, group: str, most: int, copies: BrokerCopies, lives: LifeView) -> DeadLetter:
    assert copy.dead is not None, "it is a dead letter"
    dead = copy.dead
    again = copies.resent.get(dead.offset_message_id)
    resent: ResentAs | None = None
    if again is not None:
        resent = {
            "topic": again.topic,
            "queue_id": again.queue_id,
            "queue_offset": again.queue_offset,
            "offset": again.offset,
            "at_us": again.stored_us,
        }
    return dead_letter_view(
        dead,
        cause_of_death(dead, most),
        resent,
        last_result=lives.last_result(copy.key, group, copy.stored_us),
        # The clock as it was when the dead letter was stored: it may have jumped since.
        begin_ms=dead.store_timestamp - copy.stored_us // 1_000,
    )
