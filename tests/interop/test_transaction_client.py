"""The transactional producer of PyPI ``rocketmq-client-python`` 2.0.0, unmodified; the C++ client consumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients, messages, sent
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.wire import max_offsets
from tests.support.waiting import wait_until

Unique = partial[str]
HALF_TOPIC, OP_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"


@pytest.fixture(scope="module")
def hasty_cluster(tmp_path_factory: pytest.TempPathFactory, start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    """A broker that asks after 2 s, every 2 s, and gives up after 18 questions.

    Not sooner: the library sometimes tells the broker of its producer group only with its heartbeat after 30 s.
    """
    running = start_cluster(
        tmp_path_factory.mktemp("transactions"),
        settings={"transactionTimeOut": "2000", "transactionCheckInterval": "2000", "transactionCheckMax": "18"},
    )
    yield running
    running.stop()


@pytest.fixture
def clients(hasty_cluster: Cluster, tmp_path: Path) -> Iterator[Clients]:
    started = Clients(hasty_cluster, tmp_path)
    yield started
    started.stop_all()


def _events(process: ManagedProcess, kind: str) -> list[str]:
    return [event["body"] for event in process.events() if event["event"] == kind]


def _received(consumer: ManagedProcess) -> list[str]:
    return [event["body"] for event in messages(consumer)]


def test_commit_rollback_and_check_back_end_as_the_listener_says(clients: Clients, unique: Unique) -> None:
    topic = clients.cluster.create_topic(unique("Transfers"), queues=2)
    producer = clients.transactions(unique("tpg"), topic, tags="TAGA,TAGB,TAGC", check="commit")
    consumer = clients.cpp("consume", unique("cg"), topic)
    wait_until(lambda: len(_received(consumer)) == 2, "two messages", seen=consumer.output_end)
    assert _events(producer, "executed") == ["Hi,0", "Hi,1", "Hi,2"]
    assert _events(producer, "checked") == ["Hi,2"]
    assert sorted(_received(consumer)) == ["Hi,0", "Hi,2"]
    assert [event["status"] for event in sent(producer)] == [0, 0, 0]
    assert {event["tags"] for event in messages(consumer)} == {"TAGA", "TAGC"}


def test_whoever_never_knows_is_asked_until_the_broker_gives_up(clients: Clients, unique: Unique) -> None:
    topic = clients.cluster.create_topic(unique("Transfers"), queues=1)
    producer = clients.transactions(unique("tpg"), topic, tags="TAGC", check="unknown")
    discarded = partial(max_offsets, clients.cluster.broker, "TRANS_CHECK_MAX_TIME_TOPIC", 1)
    wait_until(lambda: discarded() == [1], "the message to be given up", seen=producer.output_end)
    assert 1 <= len(_events(producer, "checked")) <= 18
    assert max_offsets(clients.cluster.broker, topic, 1) == [0]
