"""Settings of the three roles; durations in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorConfig:
    """Settings of a transaction coordinator. The defaults are GlassMQ's unless stated."""

    #: A global transaction that is undecided this long after its begin is rolled back (Seata: 60 s).
    transaction_timeout_ms: int = 60_000
    #: How often that is checked.
    timeout_scan_interval_ms: int = 1_000
    #: How long a resource manager may take to vote: longer than it may wait for a lock.
    prepare_timeout_ms: int = 10_000
    #: The timeout of an order; after it, or if the resource manager cannot be reached, the order is sent again ...
    order_timeout_ms: int = 3_000
    #: ... after this delay, until it is acknowledged.
    order_again_ms: int = 1_000
    #: The maximum number of unfinished global transactions; further ones are refused.
    max_open_transactions: int = 1_000
    #: The maximum size of the log; when it is full, finished transactions are removed.
    log_file_bytes: int = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerConfig:
    """Settings of a transaction manager."""

    #: The timeout of requests to the coordinator or a resource manager.
    call_timeout_ms: int = 3_000
    #: How long the votes may take: longer than the coordinator waits for each.
    votes_timeout_ms: int = 20_000
    #: An unanswered order is sent again after this delay ...
    order_again_ms: int = 1_000
    #: ... for this long; then the manager does not know its outcome.
    order_for_ms: int = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceManagerConfig:
    """Settings of a resource manager."""

    #: How long a branch waits for a lock; then it votes no (InnoDB's ``innodb_lock_wait_timeout`` is 50 s).
    lock_wait_timeout_ms: int = 5_000
    #: The timeout of a registration at the coordinator.
    register_timeout_ms: int = 3_000
    #: How often the coordinator is asked about branches in doubt.
    query_interval_ms: int = 2_000
    #: The timeout of such a query.
    query_timeout_ms: int = 1_000
    #: The maximum number of unfinished branches; further ones are refused.
    max_open_branches: int = 1_000
