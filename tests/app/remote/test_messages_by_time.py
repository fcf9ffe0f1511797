"""Messages of a topic by the time of their storage: every message of the span once, the newest first, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.remote import messages_by_time
from app.remote.cluster_reader import ClusterReader
from app.remote.messages_by_time import MessagesByTime, check_place, spans_before
from app.remote.own_broker import OwnBroker, OwnServers
from app.remote.remote_broker import remote_brokers
from engine.client import Message, MessageQueue
from engine.protocol.message.message import MessageExt
from engine.remoting.remoting_client import RemotingClient
from tests.engine.broker.lab_broker import BrokerLab, broker_lab
from tests.support.lab.lab_cluster import LabCluster

#: Of each message: its queue, and how long after the one before it is sent.
SENT = [(0, 0), (1, 0), (0, 5), (2, 1), (0, 0), (0, 0), (1, 700), (3, 1), (0, 40), (2, 3)]


@pytest.fixture(scope="module")
def lab() -> Iterator[BrokerLab]:
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", queues=4)
        for number, (queue_id, pause_ms) in enumerate(SENT):
            lab.run_for(pause_ms)
            client.send(keys=f"k{number}", queue_id=queue_id)
        lab.run_for(100)
        yield lab


def search(lab: BrokerLab, topic: str = "T") -> MessagesByTime:
    return MessagesByTime(
        {"broker-a": OwnBroker(ClusterReader(OwnServers(lab.broker.runtime, lambda: (lab.broker,)), ()), lab.broker)},
        topic,
    )


def run(lab: BrokerLab, work):
    return lab.world.run(work, node="broker-a")


def pages(lab: BrokerLab, from_ms: int, to_ms: int, count: int, queue_id: int | None = None) -> list[list[MessageExt]]:
    """All pages, each asked for by what the page before it returned."""
    found: list[list[MessageExt]] = []
    places: list[str] | None = None
    while True:
        spans, _ = run(lab, search(lab).spans(from_ms, to_ms, queue_id))
        page, left = run(lab, search(lab).page(spans if places is None else spans_before(spans, places), count))
        found.append(page)
        if not left:
            return found
        places = [f"{span.queue_id}:{span.end}" for span in left]


def all_messages(lab: BrokerLab) -> list[MessageExt]:
    (whole,) = pages(lab, 0, 1 << 50, 100)
    return whole


def test_all_messages_come_once_and_the_newest_comes_first(lab):
    whole = all_messages(lab)
    assert sorted(message.keys[0] for message in whole) == [f"k{number}" for number in range(len(SENT))]
    assert all(newer.commit_log_offset > older.commit_log_offset for newer, older in pairwise(whole))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 5), st.sampled_from([None, 0, 2]))
def test_pages_have_each_message_of_the_span_once_in_the_order_of_time(lab, data, count, queue_id):
    whole = all_messages(lab)
    times = [message.store_timestamp for message in whole]
    moments = st.integers(min(times) - 2, max(times) + 2) | st.sampled_from(times)
    first, last = sorted((data.draw(moments), data.draw(moments)))
    found = pages(lab, first, last, count, queue_id)
    wanted = {
        message.keys[0]
        for message in whole
        if first <= message.store_timestamp <= last and queue_id in (None, message.queue_id)
    }
    one_by_one = [message for page in found for message in page]
    assert [len(page) for page in found[:-1]] == [count] * (len(found) - 1)
    assert {message.keys[0] for message in one_by_one} == wanted
    assert len(one_by_one) == len(wanted)
    assert all(newer.commit_log_offset > older.commit_log_offset for newer, older in pairwise(one_by_one))


def test_a_topic_or_queue_that_is_not_there_has_no_spans(lab):
    assert run(lab, search(lab, "unknown").spans(0, 10)) == ([], 0)
    assert run(lab, search(lab).spans(0, 10, 9)) == ([], 0)


def test_queues_over_the_bound_are_left_out_and_counted(lab, monkeypatch):
    monkeypatch.setattr(messages_by_time, "QUEUES_MAX", 3)
    spans, omitted = run(lab, search(lab).spans(0, 1 << 50))
    assert ([span.queue_id for span in spans], omitted) == ([0, 1, 2], 1)


@pytest.mark.parametrize("text", ["", "1", "1:", ":1", "1:2:3", "-1:2", "1:-2", "1:x", "1:" + "9" * 20])
def test_what_is_no_place_of_a_page_is_refused(text):
    with pytest.raises(ValueError, match="QUEUE:OFFSET"):
        check_place(text)


def test_several_brokers_are_searched_over_the_wire():
    with LabCluster(seed=3, brokers=2) as cluster:
        producer = cluster.producer("P", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=2))

        async def send() -> None:
            for number in range(8):
                queue = MessageQueue("T", ("broker-a", "broker-b")[number % 2], number // 2 % 2)
                await producer.send(Message("T", b"%d" % number), queue)

        cluster.run(producer, send())
        client = RemotingClient(cluster.world.node("tool"), "tool")

        async def find() -> list[MessageExt]:
            brokers = await remote_brokers(ClusterReader(client, (cluster.name_server_address,)))
            found = MessagesByTime(brokers, "T")
            return (await found.page((await found.spans(0, 1 << 50))[0], 6))[0]

        page = cluster.world.run(find(), node="tool")
    assert [message.body for message in page] == [b"7", b"6", b"5", b"4", b"3", b"2"]
