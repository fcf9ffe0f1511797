"""Brokers with rules: the npm client ali-ons signs, and is held to what its account may do.

Delay and retry run here too: one broker and one node process show all three.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients, messages
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.wire import (
    GET_MAX_OFFSET,
    UPDATE_AND_CREATE_TOPIC,
    RequestRefused,
    request,
    signed,
    write_queues,
)
from tests.support.waiting import wait_until

ADMIN, SHOP = ("admin-key", "admin-secret"), ("shop-key", "shop-secret")
RULES = """\
accounts:
  - {accessKey: admin-key, secretKey: admin-secret, admin: true}
  - accessKey: shop-key
    secretKey: shop-secret
    defaultTopicPerm: DENY
    defaultGroupPerm: DENY
    topicPerms: [orders=PUB|SUB]
    groupPerms: [billing=SUB]
"""
#: Second level and third: what the delayed message waits, and a failed one before it comes again.
DELAY_LEVELS = "1s 2s 1s 1s 1s"


@pytest.fixture
def guarded(real_client: None, tmp_path: Path) -> Iterator[Clients]:
    """Clients of a GlassMQ with ``RULES``."""
    rules = tmp_path / "cluster" / "data" / "config" / "plain_acl.yml"
    rules.parent.mkdir(parents=True)
    rules.write_text(RULES, "ascii")
    levels = ("--store-setting", f"messageDelayLevel={DELAY_LEVELS}")
    cluster = start_glassmq(tmp_path / "cluster", settings={"aclEnable": "true"}, options=levels)
    started = Clients(cluster, tmp_path)
    yield started
    started.stop_all()
    cluster.stop()


def create_topic_as_admin(cluster: Cluster, topic: str) -> None:
    fields = {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}
    fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
    with pytest.raises(RequestRefused, match="Need admin permission for request code=17, but accessKey=shop-key"):
        request(cluster.broker, UPDATE_AND_CREATE_TOPIC, signed(fields, b"", *SHOP))
    request(cluster.broker, UPDATE_AND_CREATE_TOPIC, signed(fields, b"", *ADMIN))
    wait_until(lambda: write_queues(cluster.name_server, topic) == 1, f"the route of {topic}")


def at(process: ManagedProcess, event: str, body: str, times: int | None = None) -> int:
    """When ``process`` reported it, ms."""
    found = [
        one["at"]
        for one in process.events()
        if one["event"] == event and one.get("body") == body and one.get("reconsume_times") == times
    ]
    assert found, (event, body, times)
    return int(found[0])


def test_ali_ons_signs_delays_and_retries_within_what_its_account_may_do(guarded: Clients) -> None:
    for topic in ("orders", "secrets"):
        create_topic_as_admin(guarded.cluster, topic)
    client = guarded.ali_ons_with_account(SHOP, "billing", "orders", "secrets")
    client.wait_for_output('"refused"')
    assert "AclException: No default permission for topic:secrets" in guarded.cluster.logs()
    of_queue = signed({"topic": "secrets", "queueId": "0"}, b"", *ADMIN)
    assert request(guarded.cluster.broker, GET_MAX_OFFSET, of_queue)[0]["extFields"]["offset"] == "0"

    def all_came() -> bool:
        return sorted((event["body"], event["reconsume_times"]) for event in messages(client)) == [
            ("delayed", 0),
            ("failing", 0),
            ("failing", 1),
            ("plain", 0),
        ]

    wait_until(all_came, "the delayed message and the retried one", 90, client.output_end)
    assert at(client, "message", "delayed", 0) - at(client, "sent", "delayed") >= 2_000 - 1
    assert at(client, "message", "failing", 1) - at(client, "message", "failing", 0) >= 1_000 - 1


def test_ali_ons_with_a_wrong_secret_gets_nowhere(guarded: Clients, unique: partial[str]) -> None:
    create_topic_as_admin(guarded.cluster, "orders")
    client = guarded.ali_ons_with_account((SHOP[0], "another-secret"), "billing", "orders", "orders")
    client.wait_for_output("Check signature failed for accessKey=shop-key", deadline_s=60)
    assert not messages(client)
