"""The lag of consumer groups as the brokers tell it, and what is said where they do not."""

from __future__ import annotations

import threading

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.pipeline.jobs.traffic import consumer_lag
from engine.pipeline.jobs.traffic.consumer_lag import LagLook, LagReporter, QueueLag, look_at_lag, watched_lag
from engine.pipeline.source.cluster.cluster import Cluster, open_cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from tests.support.live.live_server import LiveServer
from tests.support.pipeline.memory_report import MemoryReport

RULES = """\
accounts:
  - {accessKey: shop-key, secretKey: shop-secret, defaultTopicPerm: PUB|SUB, defaultGroupPerm: SUB}
"""
QUEUE = QueueKey("Orders", "broker-a", 0)


class Notes(MemoryReport):
    """Counts notes that were awaited."""

    def __init__(self):
        super().__init__()
        self.reported = threading.Semaphore(0)

    def note(self, text):
        super().note(text)
        self.reported.release()

    def table(self, name, rows, *, left_out=0):
        super().table(name, rows, left_out=left_out)
        self.reported.release()


def test_a_refusal_of_the_broker_is_no_missing_progress(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "plain_acl.yml").write_text(RULES)
    topic = "SELF_TEST_TOPIC"
    with LiveServer(tmp_path, broker=BrokerConfig(port=0, acl_enable=True), page=False) as live:
        cluster = {"nameServer": live.name_servers[0], "accessKey": "shop-key", "secretKey": "shop-secret"}
        with open_cluster(cluster) as look:
            queues = look.queues([topic])
            assert look.group_offsets("readers", queues) == {queues[0]: 0}
        said = rf"\[ROCKETMQ_REFUSED\] group 'readers', topic '{topic}': broker "
        with open_cluster(cluster | {"secretKey": "wrong"}) as look, pytest.raises(RocketMQError, match=said):
            look.group_offsets("readers", look.queues([topic]))


def test_a_group_has_a_lag_only_in_the_topics_that_it_consumes(tmp_path):
    with LiveServer(tmp_path, page=False) as live:
        cluster = {"nameServer": live.name_servers[0]}
        for topic in ("Orders", "Mails"):
            live.create_topic(topic, 2)
        with open_cluster(cluster) as look:
            orders = look.queues(["Orders"])
            look.store_group_offsets("billing", {orders[1]: 0})
            seen = look_at_lag(look, ["billing", "misspelt"], ["Orders", "Mails"])
            assert [(one.group, one.queue) for one in seen.lags] == [("billing", queue) for queue in orders]
            assert seen.idle == ["misspelt"]
    report = MemoryReport()
    reporter = LagReporter(report)
    for now_ms in (1, 2):
        reporter.report(seen, now_ms)
    (note,) = report.notes
    assert note["en"].startswith("misspelt consumes none of these topics")


def test_a_group_that_is_refused_does_not_hide_the_others():
    class Look(Cluster):
        def __init__(self):
            pass

        def queues(self, topics, option=None):
            return [QUEUE]

        def ask_queues(self, queues, ask, *, group=None, without=(), refusals=None):
            return {queue: frozenset({"Orders"}) for queue in queues}

        def group_offsets(self, group, queues):
            if group == "secret":
                raise RocketMQError("ROCKETMQ_REFUSED", "no right")
            return {} if group == "new" else {QUEUE: 3}

        def max_offsets(self, queues):
            return {QUEUE: 10}

    seen = look_at_lag(Look(), ["readers", "secret", "new"], ["Orders"])
    assert {one.group: one.lag for one in seen.lags} == {"readers": 7, "new": None}
    assert seen.refused == {"secret": "[ROCKETMQ_REFUSED] no right"}


def test_what_is_refused_is_said_once_in_both_languages_and_the_other_groups_are_shown():
    report = MemoryReport()
    reporter = LagReporter(report)
    seen = LagLook([QueueLag("readers", QUEUE, 3, 10)], {"secret": "no right"})
    for now_ms in (1, 2):
        reporter.report(seen, now_ms)
    assert report.notes == [
        {"en": "The lag of secret is unknown: no right", "zh": "无法得知消费组 secret 的堆积：no right"}
    ]
    assert report.tables["lag"] == [["readers", "Orders", "broker-a:0", 3, 10, 7]]
    assert report.points == [("lag", "readers", 1, 7), ("lag", "readers", 2, 7)]


def test_the_watch_goes_on_after_whatever_error_and_says_each_once(monkeypatch):
    outcomes = [
        RocketMQError("ROCKETMQ_BROKER_AWAY", "gone"),
        RocketMQError("ROCKETMQ_BROKER_AWAY", "gone"),
        ValueError("a bug"),
        LagLook([QueueLag("readers", QUEUE, 3, 10)], {}),
    ]

    def look_at_lag(*_):
        outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(consumer_lag, "look_at_lag", look_at_lag)
    report, ticks = Notes(), []
    with watched_lag({"nameServer": "127.0.0.1:1"}, ["readers"], ["Orders"], 1, report, ticks.append):
        for _ in range(3):
            assert report.reported.acquire(timeout=60)
    assert [note["en"] for note in report.notes] == [
        "The lag is unknown: [ROCKETMQ_BROKER_AWAY] gone",
        "The lag is unknown: ValueError: a bug",
    ]
    assert report.tables["lag"][0][-1] == 7
    assert len(ticks) >= 4
