"""What unmodified clients tell the live page of their internals (307), and what they keep to themselves."""

from __future__ import annotations

from functools import partial

from tests.interop.harness.clients import Clients
from tests.interop.harness.page import member_when

Unique = partial[str]


def test_the_cpp_client_tells_counts_and_times_of_its_queues_but_no_trees(clients: Clients, unique: Unique) -> None:
    topic, group = clients.cluster.create_topic(unique("CppInside"), queues=4), unique("cg")
    clients.cpp("send", unique("pg"), topic, mode="selected", count=8).wait_for_success()
    clients.cpp("consume", group, topic, instance="only")

    def has_all(member):
        return [queue["consume_offset"] for queue in member["queues"][:4]] == [2, 2, 2, 2]

    member = member_when(clients.cluster, group, has_all)
    assert (member["state"], member["language"], member["untold"]) == ("told", "CPP", ["trees"])
    for queue in member["queues"][:4]:
        assert (queue["topic"], queue["message_count"], queue["dropped"]) == (topic, 0, False)
        assert queue["last_pull_us"] >= member["started_us"]
        assert queue["locked_us"] is None  # never had: what it writes there is no time


def test_the_javascript_client_does_not_answer(clients: Clients, unique: Unique) -> None:
    topic, group = clients.cluster.create_topic(unique("JsInside"), queues=4), unique("cg")
    clients.ali_ons("consume", group, topic)
    member = member_when(clients.cluster, group, lambda member: member["state"] != "asked")
    assert (member["state"], member["queues"], member["answered_us"]) == ("silent", [], None)
