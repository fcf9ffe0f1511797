"""Faults of the broker that runs, under unmodified clients in C++, Python and JavaScript."""

from __future__ import annotations

from functools import partial

import pytest

from tests.interop.harness.clients import Clients
from tests.interop.harness.faulty_broker import (
    Starter,
    check_dropped_end_of_transaction,
    check_duplicated_sends,
    check_rejected_pulls,
)
from tests.interop.harness.process import ManagedProcess

Unique = partial[str]


def _cpp_send(clients: Clients, group: str, topic: str) -> ManagedProcess:
    return clients.cpp("send", group, topic, mode="sync", count=8)


def _cpp_consume(clients: Clients, group: str, topic: str) -> ManagedProcess:
    return clients.cpp("consume", group, topic)


def _js_send(clients: Clients, group: str, topic: str) -> ManagedProcess:
    return clients.ali_ons("send", group, topic, 8)


def _js_consume(clients: Clients, group: str, topic: str) -> ManagedProcess:
    return clients.ali_ons("consume", group, topic)


@pytest.mark.parametrize("send", [_cpp_send, _js_send])
def test_a_duplicated_send_is_stored_twice(faulty_clients: Clients, unique: Unique, send: Starter) -> None:
    check_duplicated_sends(faulty_clients, unique, send)


def test_a_rejected_pull_makes_the_javascript_client_back_off(faulty_clients: Clients, unique: Unique) -> None:
    check_rejected_pulls(faulty_clients, unique, _js_send, _js_consume, rest_ms=2_900)


def test_the_cpp_client_asks_again_at_once_after_a_rejected_pull_and_loses_nothing(
    faulty_clients: Clients, unique: Unique
) -> None:
    rests = check_rejected_pulls(faulty_clients, unique, _cpp_send, _cpp_consume, rest_ms=0)
    assert min(rests) < 100


def test_a_dropped_end_transaction_is_checked_back(faulty_clients: Clients, unique: Unique) -> None:
    def transact(clients: Clients, group: str, topic: str) -> ManagedProcess:
        return clients.transactions(group, topic, tags="TAGA", check="commit")

    check_dropped_end_of_transaction(faulty_clients, unique, transact, '"checked"')
