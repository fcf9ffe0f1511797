"""The audit of a live GlassMQ: real producers that number, real consumers that report, a loss that was made."""

from __future__ import annotations

import asyncio

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.client import ConsumeConcurrentlyStatus, DefaultMQProducer, DefaultMQPushConsumer, Message
from engine.pipeline.jobs.arguments import read_arguments
from engine.pipeline.jobs.delivery_audit.description import DESCRIPTION
from engine.pipeline.jobs.delivery_audit.job import JOB
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.source.cluster.cluster import open_cluster
from tests.support.live.live_server import LiveServer
from tests.support.pipeline.memory_report import MemoryReport

COUNT = 60
#: Numbers that were given and whose messages nobody sent: to the audit they are lost.
LOST = (10, 11, 40)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    broker = BrokerConfig(port=0, trace_topic_enable=True)
    with LiveServer(tmp_path_factory.mktemp("audit"), broker=broker, page=False) as running:
        asyncio.run(send_and_consume(running.name_servers))
        yield running


async def send_and_consume(name_servers) -> None:
    received: list[str] = []
    done = asyncio.Event()

    async def listen(messages, _context):
        received.extend(message.body.decode() for message in messages)
        if len(received) >= COUNT - len(LOST):
            done.set()
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    settings = {"number_messages": True, "enable_msg_trace": True}
    async with DefaultMQProducer(None, "senders", name_servers, **settings) as producer:
        await producer.create_topic("Audited", queue_nums=3)
        for number in range(COUNT):
            message = Message("Audited", b"%d" % number)
            if number in LOST:
                producer.numbering.number("Audited", [message.properties])
            else:
                await producer.send(message)
    consumer = DefaultMQPushConsumer(None, "readers", name_servers, enable_msg_trace=True)
    consumer.subscribe("Audited", "*")
    consumer.register_message_listener(listen)
    async with consumer, asyncio.timeout(60):
        await done.wait()


def audit(spark, server, watch=lambda _query: None, **arguments) -> MemoryReport:
    report = MemoryReport()
    checked = read_arguments(DESCRIPTION, {"topics": "Audited", "grace_ms": 0, **arguments})
    JOB(JobRun(spark, checked, {"nameServer": server.name_servers[0]}, report, watch=watch))
    return report


def rows(report: MemoryReport, table: str) -> list[dict]:
    return report.rows(DESCRIPTION, table)


def check(report: MemoryReport) -> None:
    (producer,) = rows(report, "producers")
    assert producer["producer"].startswith("senders@")
    assert (producer["numbered"], producer["stored"], producer["lost"]) == (COUNT, COUNT - len(LOST), len(LOST))
    assert (producer["duplicated"], producer["out_of_order"], producer["has_ended"]) == (0, 0, True)
    lost = {(row["first"], row["last"]) for row in rows(report, "findings") if row["kind"] == "lost"}
    assert lost == {(10, 11), (40, 40)}
    (group,) = rows(report, "groups")
    assert (group["group"], group["consumed"], group["missing"], group["twice"]) == ("readers", COUNT - 3, 0, 0)
    assert {row["from_to"]: row["messages"] for row in rows(report, "latency")} == {
        "born > stored": COUNT - 3,
        "stored > consumed": COUNT - 3,
    }
    assert sum(report.reached["Audited"].values()) == COUNT - 3


def places_of_lost(report: MemoryReport) -> list[str]:
    """The places of both findings, each between two messages."""
    places = [row["where"] for row in rows(report, "findings") if row["kind"] == "lost"]
    assert all("after broker" in place and "before broker" in place for place in places)
    return sorted(places)


def test_a_batch_finds_the_loss_and_sees_who_consumed(spark, server):
    report = audit(spark, server)
    check(report)
    assert len(places_of_lost(report)) == 2


@pytest.mark.parametrize("follow", [False, True])
def test_a_group_whose_consumers_report_nothing_is_judged_by_its_offsets(spark, server, tmp_path, follow):
    with open_cluster({"nameServer": server.name_servers[0]}) as cluster:
        ends = cluster.max_offsets(cluster.queues(["Audited"]))
        cluster.store_group_offsets("quiet", ends)

    def read_what_is_there(query) -> None:
        query.processAllAvailable()
        query.stop()

    arguments = {"follow": "true", "checkpoint_folder": str(tmp_path)} if follow else {}
    report = audit(spark, server, read_what_is_there, groups="quiet", **arguments)
    kinds = {row["kind"]: row["count"] for row in rows(report, "finding_counts")}
    assert kinds == {"lost": len(LOST), "not reported": COUNT - len(LOST)}
    assert any("offset or its next consumer is past them" in note["en"] for note in report.notes)
    assert [row["missing"] for row in rows(report, "groups")] == [0]


def test_a_stream_finds_the_same_and_a_restarted_one_still_knows_it(spark, server, tmp_path):
    def read_what_is_there(query) -> None:
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    arguments = {"follow": "true", "checkpoint_folder": str(tmp_path / "audit"), "max_messages_per_batch": 25}
    report = audit(spark, server, read_what_is_there, **arguments)
    check(report)
    places = places_of_lost(report)
    assert places == places_of_lost(audit(spark, server))
    server.send(Message("Audited", b"one more"), group="unnumbered")
    report = audit(spark, server, read_what_is_there, **arguments)
    stored = {row["producer"].partition("@")[0]: row["stored"] for row in rows(report, "producers")}
    assert stored == {"senders": COUNT - 3, "(not numbered)": 1}
    assert places_of_lost(report) == places


def test_a_cluster_without_traces_is_audited_by_numbers_alone(spark, server):
    report = audit(spark, server, trace_topic="NobodyReports")
    assert "groups" not in report.tables
    assert any("no client has reported" in note["en"] for note in report.notes)
    assert sum(row["lost"] for row in rows(report, "producers")) == 3
