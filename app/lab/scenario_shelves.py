"""How the list of scenarios is sorted: shelf by shelf, in the order in which a learner meets them.

What a shelf is called is a text of the page, ``lab.shelf.`` and its name. A test holds that every scenario has a place.
"""

from __future__ import annotations

from collections.abc import Mapping

SHELVES: Mapping[str, tuple[str, ...]] = {
    "basics": (
        "hello",
        "start-page",
        "rebalance-on-crash",
        "lost-offset-commit",
        "broker-crash-async-flush",
        "general",
        "big-stage",
    ),
    "order": (
        "three-locks",
        "global-order",
        "rebalance-join-leave",
        "blocked-queue",
        "killed-owner-waits-60s",
        "lock-expiry",
        "selector-and-queue-count",
        "two-consumers",
    ),
    "retry": ("retry-to-dead-letter", "delay-levels", "send-back-lost", "consume-timeout", "broadcast-drops"),
    "transactions": (
        "unknown-and-check-back",
        "producer-lost",
        "check-max-discard",
        "end-transaction-twice",
        "commit-without-op",
        "bank-naive",
        "bank-transaction",
        "xa-two-phase",
    ),
    "sending": ("send-modes", "request-reply", "latency-fault-avoidance", "batch-partial-ack", "batch-trade-offs"),
    "filters": ("tag-collision", "sql-filter"),
    "backlog": (
        "slow-consumer-flow-control",
        "backlog-and-scale-out",
        "early-ack-loses",
        "moved-aside",
        "rate-limited",
    ),
    "reports": ("subscription-mismatch", "consume-from-where-surprise", "first-delivery-after-30s"),
}


def on_shelves(names: list[str]) -> dict[str, list[str]]:
    """Shelf -> which of ``names`` stand there; shelves without any are left out, names without a shelf come last."""
    placed = {name for shelf in SHELVES.values() for name in shelf}
    shelves = {shelf: [name for name in members if name in names] for shelf, members in SHELVES.items()}
    shelves["other"] = [name for name in names if name not in placed]
    return {shelf: members for shelf, members in shelves.items() if members}
