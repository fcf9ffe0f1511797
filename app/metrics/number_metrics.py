"""Metrics of the numbers that producers assign, by topic. :mod:`app.observation.stored_numbers` bounds their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from app.metrics.exposition import MetricFamily

if TYPE_CHECKING:
    from app.picture.numbers import Numbers

_Count = Literal["stored", "missing", "unknown", "refused", "open", "twice", "out_of_order", "forgotten", "unseen"]

#: Field of the view, the end of the metric's name -> its help text.
_COUNTS: Mapping[_Count, str] = {
    "stored": "Different numbers that are stored, as far back as was read.",
    "missing": "Numbers that are missing and that no ledger explains.",
    "unknown": "Numbers that are missing and that their producers cannot account for.",
    "refused": "Numbers that are missing because they were refused, according to their producers.",
    "open": "Numbers that are missing, but too recently to be judged.",
    "twice": "Copies that were stored beyond the first.",
    "out_of_order": "Numbers that come after a higher one in their queue.",
    "forgotten": "Numbers and places that were too many to be kept, and are not judged.",
    "unseen": "Places that could not be read; each may hold one of the missing.",
}


def number_families(view: Numbers | None) -> list[MetricFamily]:
    """Return the metrics. ``view`` None: no producer numbers messages."""
    families = []
    for field, text in _COUNTS.items():
        family = MetricFamily(f"glassmq_numbers_{field}", text, ("topic",))
        for topic, counts in view["topics"].items() if view is not None else ():
            family.add((topic,), counts[field])
        families.append(family)
    unread = MetricFamily("glassmq_numbers_unread", "Messages of these topics that were not looked at yet.")
    unread.add((), 0 if view is None else view["unread"])
    no_room = MetricFamily(
        "glassmq_numbers_no_room", "Messages of producers and queues that are too many to be judged."
    )
    no_room.add((), 0 if view is None else view["no_room"])
    return [*families, unread, no_room]
