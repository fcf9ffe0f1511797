"""Damaged messages on the page, and the check that searches old files for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.picture.commit_log import Damage
    from engine.store.message_store import MessageStore

#: Places that are shown; the log names more.
PLACES_MAX = 10


def damage_view(store: MessageStore) -> Damage:
    """Return ``commit_log.damage`` of the state."""
    damaged, check = store.commit_log.damaged_records, store.check_service
    return {
        "count": len(damaged),
        "is_full": damaged.is_full,
        "places": [
            {
                "offset": record.commit_log_offset,
                "kind": record.damage.name.lower(),
                "topic": record.topic,
                "queue_id": record.queue_id,
                "queue_offset": record.queue_offset,
            }
            for record in damaged.newest(PLACES_MAX)
        ],
        "check": {
            "is_walking": check.is_walking,
            "checked_bytes": check.checked_bytes,
            "total_bytes": check.total_bytes,
        },
    }
