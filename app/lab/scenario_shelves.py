"""On which shelf of the list each scenario stands. Within its shelf it stands where its own ``order`` puts it.

What a shelf is called is a text of the page, ``lab.shelf.`` and its name. A test holds that every scenario has a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.lab.scenario import Scenario

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


def on_shelves(scenarios: Iterable[Scenario]) -> dict[str, list[Scenario]]:
    """Shelf -> those of ``scenarios`` that stand there; empty shelves are left out, what has no shelf comes last."""
    shelf_of = {name: shelf for shelf, names in SHELVES.items() for name in names}
    shelves: dict[str, list[Scenario]] = {shelf: [] for shelf in (*SHELVES, "other")}
    for scenario in sorted(scenarios, key=lambda scenario: scenario.order):
        shelves[shelf_of.get(scenario.name, "other")].append(scenario)
    return {shelf: members for shelf, members in shelves.items() if members}
