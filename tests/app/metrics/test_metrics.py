"""/metrics against what was really sent and consumed, read by Prometheus' own parser."""

from __future__ import annotations

import math
import re
import urllib.request
from pathlib import Path

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from app.metrics import broker_metrics
from app.metrics.broker_metrics import BrokerMetrics
from app.metrics.broker_runtime_metrics import RATES, SINGLE_VALUES
from app.metrics.exposition import MetricFamily, exposition
from app.metrics.fault_metrics import fault_families
from app.metrics.idempotence_metrics import idempotence_families
from app.metrics.routes import SHARED_FOR_S, create_metrics_route
from app.picture.consumer_group import IdempotenceTotals
from engine.broker.foundation.traffic_samples import SAMPLE_INTERVAL_MS
from engine.faults.fault_injector import FaultInjector
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    UnregisterClientRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.enums import MessageModel
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.live.engine_thread import EngineUnavailable
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab
from tests.support.live.live_server import LiveServer, message

DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics.md"


class Page:
    """A page of metrics, as Prometheus reads it."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """The one sample of ``name`` that has ``labels`` among its own."""
        found = [
            value
            for (known, of_sample), value in self.samples.items()
            if known == name and labels.items() <= dict(of_sample).items()
        ]
        assert len(found) == 1, (name, labels, found)
        return found[0]

    def names(self) -> set[str]:
        return {name for name, _ in self.samples}


def look(lab: BrokerLab) -> Page:
    return Page(exposition(BrokerMetrics(lab.broker).collect()))


def commit(client: LabClient, group: str, topic: str, queue_id: int, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader(group, topic, queue_id, offset)
    assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS


def test_figures_are_those_of_what_was_sent_and_consumed() -> None:
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("orders", queues=2)
        client.heartbeat("billing", {"orders": "*"}, producer_groups=("shop",))
        for number in range(12):
            assert client.send("orders", b"x" * 100, queue_id=number % 2).code == ResponseCode.SUCCESS
        assert len(client.messages("orders", 0, group="billing", max_messages=4)) == 4
        commit(client, "billing", "orders", 0, 4)
        stored_ms = lab.broker.runtime.clock.now_ms()
        lab.run_for(6 * SAMPLE_INTERVAL_MS)
        page = look(lab)
        lag_ms = lab.broker.runtime.clock.now_ms() - stored_ms

        topic = {"cluster": "DefaultCluster", "broker": "broker-a", "topic": "orders"}
        stored_bytes = lab.broker.stats.topics["orders"].in_bytes
        assert page.value("rocketmq_producer_offset", **topic) == 12
        assert page.value("rocketmq_producer_tps", **topic) == pytest.approx(12 / 60)
        assert page.value("rocketmq_producer_message_size", **topic) == pytest.approx(stored_bytes / 60)
        of_group = {**topic, "group": "billing"}
        assert page.value("rocketmq_consumer_offset", **of_group) == 4
        assert page.value("rocketmq_consumer_tps", **of_group) == pytest.approx(4 / 60)
        assert page.value("rocketmq_consumer_message_size", **of_group) == pytest.approx(stored_bytes / 3 / 60)
        diff = {"group": "billing", "topic": "orders", "countOfOnlineConsumers": "1", "msgModel": "1"}
        assert page.value("rocketmq_group_diff", **diff) == 8
        latency_ms = page.value("rocketmq_group_get_latency_by_storetime", **of_group)
        assert lag_ms <= latency_ms <= lag_ms + 1_000
        assert page.value("rocketmq_broker_tps", brokerIP=lab.broker.address) == pytest.approx(12 / 60)
        assert page.value("rocketmq_broker_qps", broker="broker-a") == pytest.approx(4 / 60)
        assert page.value("rocketmq_group_count", group="billing", caddr="", localaddr="") == 1
        assert page.value("rocketmq_producer_count", group="shop") == 1
        assert page.value("rocketmq_brokeruntime_msg_put_total_today_now", des="V4_9_8", broker_version="409") == 12
        assert page.value("rocketmq_brokeruntime_commitlog_maxoffset") == lab.broker.store.commit_log.max_offset
        assert page.value("rocketmq_brokeruntime_put_tps60") == pytest.approx(12 / 60, rel=0.05)
        assert page.value("glassmq_messages_in_total") == 12
        assert page.value("glassmq_messages_out_total") == 4
        assert page.families["glassmq_messages_in"].type == "counter"


def test_a_group_that_has_everything_has_no_backlog_and_no_latency() -> None:
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("orders", queues=1)
        client.send("orders")
        commit(client, "billing", "orders", 0, 1)
        lab.run_for(60_000)
        page = look(lab)
        assert page.value("rocketmq_group_diff", group="billing", countOfOnlineConsumers="0") == 0
        assert page.value("rocketmq_group_get_latency_by_storetime", group="billing") == 0


def test_retry_and_dead_letter_topics_have_names_of_their_own() -> None:
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("orders", queues=1)
        client.heartbeat("billing", {"orders": "*"})
        client.send("orders")
        (received,) = client.messages("orders", group="billing")
        assert client.send_back(received, group="billing", delay_level=1).code == ResponseCode.SUCCESS
        assert client.send_back(received, group="billing", delay_level=-1).code == ResponseCode.SUCCESS
        lab.run_for(2_000)
        commit(client, "billing", "%RETRY%billing", 0, 0)
        page = look(lab)
        assert page.value("rocketmq_topic_retry_offset", topic="%RETRY%billing") == 1
        assert page.value("rocketmq_topic_dlq_offset", group="billing") == 1
        assert page.value("rocketmq_group_retrydiff", group="billing") == 1
        offsets = [labels for name, labels in page.samples if name == "rocketmq_producer_offset"]
        assert not [labels for labels in offsets if dict(labels)["topic"].startswith("%")]


def test_the_series_of_dead_letters_begins_at_0_with_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("orders", queues=1)
        client.heartbeat("billing", {"orders": "*"})
        client.heartbeat("mailing", {"orders": "*"})
        assert look(lab).value("rocketmq_topic_dlq_offset", group="billing") == 0
        client.send("orders")
        (received,) = client.messages("orders", group="billing")
        assert client.send_back(received, group="billing", delay_level=-1).code == ResponseCode.SUCCESS
        page = look(lab)
        assert page.value("rocketmq_topic_dlq_offset", group="billing") == 1
        assert page.value("rocketmq_topic_dlq_offset", group="mailing") == 0
        groups = [dict(labels)["group"] for name, labels in page.samples if name == "rocketmq_topic_dlq_offset"]
        assert sorted(groups) == ["billing", "mailing"], "without those of RocketMQ's own tools"
        monkeypatch.setattr(broker_metrics, "GROUPS_MAX", 0)
        assert look(lab).value("glassmq_metrics_omitted", kind="groups_without_dead_letters") == 1


def test_refusals_of_the_rules_are_counted_only_where_there_are_rules() -> None:
    with broker_lab() as lab:
        page = look(lab)
        assert "glassmq_acl_refused_requests_total" not in page.names()
        assert page.value("glassmq_info", acl="off") == 1


def test_what_is_beyond_the_bounds_is_counted_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_metrics, "TOPICS_MAX", 3)
    monkeypatch.setattr(broker_metrics, "PAIRS_MAX", 2)
    with broker_lab() as lab:
        client = lab.client()
        for number in range(5):
            client.create_topic(f"topic-{number}", queues=1)
            commit(client, "billing", f"topic-{number}", 0, 0)
        page = look(lab)
        assert len([name for name, _ in page.samples if name == "rocketmq_producer_offset"]) == 3
        assert len([name for name, _ in page.samples if name == "rocketmq_consumer_offset"]) == 2
        assert page.value("glassmq_metrics_omitted", kind="topics") == 2
        monkeypatch.setattr(broker_metrics, "MESSAGES_READ_MAX", 1)
        for number in range(5):
            client.send(f"topic-{number}")
        page = look(lab)
        assert len([name for name, _ in page.samples if name == "rocketmq_group_get_latency_by_storetime"]) == 1
        assert page.value("glassmq_metrics_omitted", kind="latencies") == 1
        assert page.value("glassmq_metrics_omitted", kind="topic_and_group") == 3


@given(st.lists(st.tuples(st.text(max_size=30), st.floats(allow_nan=True)), max_size=5))
def test_any_label_and_any_value_is_read_back_as_it_was(samples: list[tuple[str, float]]) -> None:
    # Prometheus ends a line at "\n" only, its Python parser at whatever Python takes for the end of one.
    samples = [("".join(text.splitlines()), value) for text, value in dict(samples).items()]
    family = MetricFamily("things", 'of "any"\nkind \\', ("name", "constant"))
    for text, value in dict(samples).items():
        family.add((text, 'back\\slash "quoted"\n'), value)
    read = [sample for found in text_string_to_metric_families(exposition([family])) for sample in found.samples]
    assert [sample.labels["name"] for sample in read] == list(dict(samples))
    assert all(sample.labels["constant"] == 'back\\slash "quoted"\n' for sample in read)
    for sample, value in zip(read, dict(samples).values(), strict=True):
        assert sample.value == value or (math.isnan(sample.value) and math.isnan(value))


def test_the_page_is_taken_at_most_once_a_second() -> None:
    now_s, looks = [100.0], []

    def collect() -> list[MetricFamily]:
        looks.append(now_s[0])
        family = MetricFamily("looks", "How often.")
        family.add((), len(looks))
        return [family]

    app = Flask("test")
    app.register_blueprint(create_metrics_route(collect, lambda: now_s[0]))
    client = app.test_client()
    assert client.get("/metrics").text == client.get("/metrics").text
    assert len(looks) == 1
    now_s[0] += SHARED_FOR_S
    reply = client.get("/metrics")
    assert len(looks) == 2 and reply.text.endswith("looks 2\n")
    assert reply.content_type == "text/plain; version=0.0.4; charset=utf-8"


def test_an_engine_that_does_not_answer_is_a_503() -> None:
    def collect() -> list[MetricFamily]:
        raise EngineUnavailable("the engine is stopped")

    app = Flask("test")
    app.register_blueprint(create_metrics_route(collect))
    reply = app.test_client().get("/metrics")
    assert reply.status_code == 503 and "stopped" in reply.text


def test_the_running_server_has_the_page(tmp_path: Path) -> None:
    with LiveServer(tmp_path / "data") as live:
        live.send(message("orders", "1"), message("orders", "2"))
        with urllib.request.urlopen(f"http://{live.server.page_address}/metrics", timeout=60) as answer:
            page = Page(answer.read().decode())
        assert page.value("rocketmq_producer_offset", topic="orders") == 2
        assert page.value("glassmq_metrics_collect_seconds") > 0


def test_every_metric_stands_in_the_documentation_and_no_other() -> None:
    documented = set(
        re.findall(r"`((?:rocketmq|glassmq)_\w+)`", DOCUMENT.read_text("utf-8").partition("## Omitted metrics")[0])
    )
    with broker_lab() as lab:
        injector = FaultInjector(lab.world.node("broker-a").clock)
        families = [*BrokerMetrics(lab.broker).collect(), *idempotence_families({}), *fault_families(injector, 0)]
    own = {"glassmq_acl_refused_requests_total", "glassmq_acl_rules_usable"}
    assert documented == {family.name for family in families} | own
    assert {f"rocketmq_brokeruntime_{name}" for name in SINGLE_VALUES} <= documented
    assert len(RATES) * 3 == len([name for name in documented if re.search(r"_tps\d+$", name)])


def test_what_is_broken_on_purpose_is_counted_where_that_is_allowed(tmp_path: Path) -> None:
    with LiveServer(tmp_path / "data", allow_faults=True) as live:
        live.break_it("fault", what="duplicate", frame="SEND_MESSAGE_V2", times=1)
        live.break_it("fault", what="hold", frame="HEART_BEAT")
        live.break_it("slow-fsync", ms=1)
        live.send(message("T"))
        page = Page(exposition(live.host.metrics()))
        assert page.value("glassmq_fault_hits_total", what="duplicate") == 1
        assert page.value("glassmq_fault_hits_total", what="cut") == 0
        assert page.value("glassmq_faults_active") == 2, "the first rule is spent"
        assert page.value("glassmq_held_frames") == len(live.host.faults.view()["held"])
        live.host.faults.clear()
        assert Page(exposition(live.host.metrics())).value("glassmq_faults_active") == 0
    with LiveServer(tmp_path / "data") as live:
        assert "glassmq_faults_active" not in Page(exposition(live.host.metrics())).families


def test_what_idempotent_listeners_reported_is_counted_by_group_and_verdict() -> None:
    reported: IdempotenceTotals = {
        "counters": {"first": 7, "swallowed": 2, "store_errors": 1},
        "members": {"state-table": 2},
        "age_ms": 2_500,
    }
    page = Page(exposition(idempotence_families({"billing": reported})))
    assert page.value("glassmq_idempotence_deliveries_total", group="billing", verdict="first") == 7
    assert page.value("glassmq_idempotence_deliveries_total", group="billing", verdict="swallowed") == 2
    assert page.value("glassmq_idempotence_store_errors_total", group="billing") == 1
    assert page.value("glassmq_idempotence_members", group="billing", strategy="state-table") == 2
    assert page.value("glassmq_idempotence_age_seconds", group="billing") == 2.5


def test_a_broadcasting_group_has_no_backlog_at_the_broker() -> None:
    """Its members keep their progress themselves."""
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("orders", queues=1)
        client.send("orders")
        client.heartbeat("screens", {"orders": "*"}, message_model=MessageModel.BROADCASTING)
        commit(client, "screens", "orders", 0, 0)
        for is_online in (True, False):
            page = look(lab)
            assert page.value("rocketmq_consumer_offset", group="screens") == 0
            assert "rocketmq_group_diff" not in page.names(), is_online
            client.call(RequestCode.UNREGISTER_CLIENT, UnregisterClientRequestHeader("client@1", "", "screens"))


def test_a_backlog_begins_no_earlier_than_what_is_kept() -> None:
    with broker_lab(store_config=MessageStoreConfig(mapped_file_size_commit_log=4096)) as lab:
        client = lab.client()
        client.create_topic("orders", queues=1)
        commit(client, "billing", "orders", 0, 0)
        lab.run_for(1_000)
        for _ in range(3):
            client.send("orders", b"x" * 3_000)
            lab.run_for(60_000)
        queues = {topic: queue for topic, _, queue in lab.broker.store.consume_queues()}
        queues["orders"].min_offset = 1
        assert lab.broker.store.min_offset("orders", 0) == 1
        page = look(lab)
        assert 120_000 <= page.value("rocketmq_group_get_latency_by_storetime", topic="orders") < 130_000


def test_groups_beyond_the_bound_are_counted_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_metrics, "GROUPS_MAX", 2)
    with broker_lab() as lab:
        client = lab.client()
        for number in range(5):
            client.heartbeat(f"group-{number}", producer_groups=tuple(f"shop-{one}" for one in range(4)))
        page = look(lab)
        for name in ("rocketmq_producer_count", "rocketmq_group_count"):
            assert len([known for known, _ in page.samples if known == name]) == 2
        assert page.value("glassmq_metrics_omitted", kind="producer_groups") == 2
        assert page.value("glassmq_metrics_omitted", kind="consumer_groups") == 3


def test_queues_that_are_only_written_count_and_bytes_are_counted_by_direction() -> None:
    with broker_lab() as lab:
        client = lab.client()
        header = CreateTopicRequestHeader("orders", "TBW102", 1, 2, 6, "SINGLE_TAG", 0, False)
        assert client.call(RequestCode.UPDATE_AND_CREATE_TOPIC, header).code == ResponseCode.SUCCESS
        for queue_id in (0, 1):
            assert client.send("orders", b"x" * 50, queue_id=queue_id).code == ResponseCode.SUCCESS
        page = look(lab)
        assert page.value("rocketmq_producer_offset", topic="orders") == 2
        stored_bytes = lab.broker.store.commit_log.max_offset
        assert (page.value("glassmq_bytes_in_total"), page.value("glassmq_bytes_out_total")) == (stored_bytes, 0)
        assert len(client.messages("orders", 0)) == 1
        assert look(lab).value("glassmq_bytes_out_total") == stored_bytes / 2


def test_damaged_messages_and_the_check_for_them_are_counted() -> None:
    with broker_lab() as lab:
        client = lab.client()
        for _ in range(3):
            client.send("orders", b"x" * 100)
        assert look(lab).value("glassmq_damaged_messages") == 0
        lab.broker.store.commit_log.files.files[0].file.write_at(100, b"?")
        assert len(client.messages("orders")) == 2
        page = look(lab)
        assert page.value("glassmq_damaged_messages") == 1
        assert page.value("glassmq_commit_log_check_bytes") == page.value("glassmq_commit_log_check_total_bytes") == 0
