"""Metrics of the numbers that producers assign, by topic. :mod:`app.observation.stored_numbers` bounds their number."""

from __future__ import annotations

from app.foundation.json_types import JsonObject
from app.metrics.exposition import MetricFamily

#: Field of the view -> end of the metric's name, its help text.
_COUNTS = {
    "stored": ("stored", "Different numbers that are stored, as far back as was read."),
    "missing": ("missing", "Numbers that are missing and that no ledger explains."),
    "unknown": ("unknown", "Numbers that are missing and that their producers cannot account for."),
    "refused": ("refused", "Numbers that are missing because they were refused, according to their producers."),
    "open": ("open", "Numbers that are missing, but too recently to be judged."),
    "twice": ("twice", "Copies that were stored beyond the first."),
    "out_of_order": ("out_of_order", "Numbers that come after a higher one in their queue."),
    "forgotten": ("forgotten", "Numbers and places that were too many to be kept, and are not judged."),
    "unseen": ("unseen", "Places that could not be read; each may hold one of the missing."),
}


def number_families(view: JsonObject | None) -> list[MetricFamily]:
    """Return the metrics. ``view`` None: no producer numbers messages."""
    families = []
    for field, (name, text) in _COUNTS.items():
        family = MetricFamily(f"glassmq_numbers_{name}", text, ("topic",))
        for topic, counts in (view or {"topics": {}})["topics"].items():
            family.add((topic,), counts[field])
        families.append(family)
    for name, text in (
        ("unread", "Messages of these topics that were not looked at yet."),
        ("no_room", "Messages of producers and queues that are too many to be judged."),
    ):
        family = MetricFamily(f"glassmq_numbers_{name}", text)
        family.add((), 0 if view is None else view[name])
        families.append(family)
    return families
