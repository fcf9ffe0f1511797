"""Faults of the broker that runs, under the unmodified Java client 4.9.8."""

from __future__ import annotations

from functools import partial

import pytest

from tests.interop.harness.clients import Clients
from tests.interop.harness.faulty_broker import (
    check_dropped_end_of_transaction,
    check_duplicated_sends,
    check_rejected_pulls,
)
from tests.interop.harness.process import ManagedProcess

pytestmark = pytest.mark.interop_java

Unique = partial[str]


def _send(clients: Clients, group: str, topic: str) -> ManagedProcess:
    return clients.java_driver("sync", group, topic, 8)


def _consume(clients: Clients, group: str, topic: str) -> ManagedProcess:
    return clients.java_driver("push", group, topic)


def _transact(clients: Clients, group: str, topic: str) -> ManagedProcess:
    return clients.java_driver("transaction", group, topic, 100)


def test_a_duplicated_send_is_stored_twice(faulty_clients: Clients, unique: Unique) -> None:
    check_duplicated_sends(faulty_clients, unique, _send)


def test_a_rejected_pull_makes_the_client_back_off(faulty_clients: Clients, unique: Unique) -> None:
    """pullTimeDelayMillsWhenException is 1,000 for a consumer whose settings nobody touched."""
    check_rejected_pulls(faulty_clients, unique, _send, _consume, rest_ms=900)


def test_a_dropped_end_transaction_is_checked_back(faulty_clients: Clients, unique: Unique) -> None:
    check_dropped_end_of_transaction(faulty_clients, unique, _transact, '"checked"')
