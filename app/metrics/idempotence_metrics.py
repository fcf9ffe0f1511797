"""Metrics of idempotent listeners, by group: :mod:`app.live.idempotence_tally` counts them and bounds their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.metrics.exposition import MetricFamily

if TYPE_CHECKING:
    from app.picture.consumer_group import IdempotenceTotals

#: The only counter that does not count deliveries.
_STORE_ERRORS = "store_errors"


def idempotence_families(view: Mapping[str, IdempotenceTotals]) -> list[MetricFamily]:
    """Return the metrics. ``view``: group -> what its listeners counted."""
    text = "Deliveries to idempotent listeners, by outcome."
    deliveries = MetricFamily("glassmq_idempotence_deliveries_total", text, ("group", "verdict"), "counter")
    text = "Calls of a store of records that failed."
    errors = MetricFamily("glassmq_idempotence_store_errors_total", text, ("group",), "counter")
    members = MetricFamily("glassmq_idempotence_members", "Members with an idempotent listener.", ("group", "strategy"))
    age = MetricFamily("glassmq_idempotence_age_seconds", "Age of the oldest answer that is counted.", ("group",))
    for group, reported in view.items():
        for verdict, count in reported["counters"].items():
            if verdict == _STORE_ERRORS:
                errors.add((group,), count)
            else:
                deliveries.add((group, verdict), count)
        for strategy, count in reported["members"].items():
            members.add((group, strategy), count)
        age.add((group,), reported["age_ms"] / 1_000)
    return [deliveries, errors, members, age]
