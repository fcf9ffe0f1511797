"""Settings of the three roles; durations in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorConfig:
    """Settings of a transaction coordinator. The defaults are ours unless said."""

    #: A global transaction that was not decided so long after its begin is rolled back (Seata: 60 s).
    transaction_timeout_ms: int = 60_000
    #: How often that is looked at.
    timeout_scan_interval_ms: int = 1_000
    #: How long a resource manager may take to vote: longer than it may wait for a lock.
    prepare_timeout_ms: int = 10_000
    #: How long it may take to answer an order; then, and when it cannot be reached, the order is sent again ...
    order_timeout_ms: int = 3_000
    #: ... after so long, until it is acknowledged.
    order_again_ms: int = 1_000
    #: Bound of the unfinished global transactions; further ones are refused.
    max_open_transactions: int = 1_000
    #: Size of the log; when it is full, what is finished is left out of it.
    log_file_bytes: int = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerConfig:
    """Settings of a transaction manager."""

    #: How long the coordinator or a resource manager may take to answer.
    call_timeout_ms: int = 3_000
    #: How long the votes may take: longer than the coordinator waits for each.
    votes_timeout_ms: int = 20_000
    #: An order that was not answered is given again after so long ...
    order_again_ms: int = 1_000
    #: ... for so long; then the manager does not know what became of it.
    order_for_ms: int = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceManagerConfig:
    """Settings of a resource manager."""

    #: How long a branch waits for a lock; then it votes no (InnoDB's ``innodb_lock_wait_timeout`` is 50 s).
    lock_wait_timeout_ms: int = 5_000
    #: How long a registration at the coordinator may take.
    register_timeout_ms: int = 3_000
    #: How often the coordinator is asked about branches in doubt.
    query_interval_ms: int = 2_000
    #: How long such a question may wait for its answer.
    query_timeout_ms: int = 1_000
    #: Bound of the branches that are not over; further ones are refused.
    max_open_branches: int = 1_000
