"""What the unmodified Java client 4.9.8 tells the live page of its internals (307)."""

from __future__ import annotations

from functools import partial

import pytest

from tests.interop.harness.clients import Clients
from tests.interop.harness.page import member_when

pytestmark = pytest.mark.interop_java

Unique = partial[str]


def test_an_orderly_consumer_tells_counts_times_and_locks_but_no_trees(clients: Clients, unique: Unique) -> None:
    topic, group = clients.cluster.create_topic(unique("JavaInside"), queues=4), unique("cg")
    clients.java_driver("sync", unique("pg"), topic, 40).wait_for_success(90.0)
    clients.java_driver("orderly", group, topic)

    def is_done(member):
        queues = [queue for queue in member["queues"] if queue["topic"] == topic]
        return len(queues) == 4 and sum(queue["consume_offset"] or 0 for queue in queues) == 40

    member = member_when(clients.cluster, group, is_done)
    assert (member["state"], member["language"], member["untold"]) == ("told", "JAVA", ["trees"])
    assert member["orderly"] is True
    queues = [queue for queue in member["queues"] if queue["topic"] == topic]
    assert {(queue["message_count"], queue["locked"], queue["dropped"]) for queue in queues} == {(0, True, False)}
    assert all(queue["locked_us"] >= member["started_us"] for queue in queues)
    assert member["rates"][topic]["failed"] == 0
