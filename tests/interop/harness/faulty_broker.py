"""A broker that is broken on purpose under real clients: its faults over HTTP, and what every client goes through."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from tests.interop.harness.clients import Clients, messages
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.page import page_of
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.wire import max_offsets
from tests.support.waiting import wait_until

#: Starts one program of a client: (clients, group, topic).
Starter = Callable[[Clients, str, str], ManagedProcess]


def ask_faults(cluster: Cluster, method: str = "GET", body: object = None, path: str = "") -> Any:
    """See app/live/fault_routes.py."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{page_of(cluster)}/api/faults{path}", data, {"Content-Type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def add_rule(cluster: Cluster, what: str, **fields: object) -> int:
    """Its number."""
    view = ask_faults(cluster, "POST", {"kind": "fault", "target": cluster.broker_name, "what": what, **fields})
    return int(view["rules"][-1]["rule_id"])


def hits_when(cluster: Cluster, rule: int, at_least: int) -> list[int]:
    """Return when the rule acted, in milliseconds, oldest first, once it has acted this often."""

    def hits() -> list[int]:
        return [hit["at_us"] // 1_000 for hit in reversed(ask_faults(cluster)["hits"]) if hit["rule"] == rule]

    wait_until(lambda: len(hits()) >= at_least, f"rule {rule} to act {at_least} times", 90.0)
    return hits()


def check_duplicated_sends(clients: Clients, unique: partial[str], send: Starter) -> None:
    """Two of the sends come twice: both are stored twice, and the client does not notice."""
    topic = clients.cluster.create_topic(unique("Doubled"), queues=1)
    rule = add_rule(clients.cluster, "duplicate", topic=topic, direction="in", times=2)
    send(clients, unique("pg"), topic).wait_for_success(90.0)
    assert len(hits_when(clients.cluster, rule, 2)) == 2
    assert max_offsets(clients.cluster.broker, topic, 1) == [8 + 2]


def check_rejected_pulls(
    clients: Clients, unique: partial[str], send: Starter, consume: Starter, rest_ms: int
) -> list[int]:
    """The client rests ``rest_ms`` after each refusal, and has lost nothing when it is served again; its rests."""
    topic = clients.cluster.create_topic(unique("Refused"), queues=1)
    send(clients, unique("pg"), topic).wait_for_success(90.0)
    rule = add_rule(clients.cluster, "reject", frame="PULL_MESSAGE", topic=topic, code="SYSTEM_ERROR")
    consumer = consume(clients, unique("cg"), topic)
    times = hits_when(clients.cluster, rule, 4)
    rests = [later - earlier for earlier, later in pairwise(times)]
    assert min(rests) >= rest_ms, rests
    ask_faults(clients.cluster, "DELETE", path=f"/{rule}")
    wait_until(lambda: len(messages(consumer)) == 8, "all messages", 90.0, seen=consumer.output_end)
    assert len({event["body"] for event in messages(consumer)}) == 8
    return rests


def check_dropped_end_of_transaction(clients: Clients, unique: partial[str], transact: Starter, checked: str) -> None:
    """The commit is lost: the broker asks the producer, which says it again, and its driver says ``checked``."""
    topic, group = clients.cluster.create_topic(unique("Lost"), queues=1), unique("tpg")
    rule = add_rule(clients.cluster, "drop", frame="END_TRANSACTION", group=group, times=1)
    producer = transact(clients, group, topic)
    hits_when(clients.cluster, rule, 1)
    assert max_offsets(clients.cluster.broker, topic, 1) == [0]
    stored = partial(max_offsets, clients.cluster.broker, topic, 1)
    wait_until(lambda: stored() == [1], "the message to be committed", 90.0, seen=producer.output_end)
    producer.wait_for_output(checked)
