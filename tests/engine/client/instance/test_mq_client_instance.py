"""One client id is one member of a group: a second one in the same process is refused."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine.client import ConsumeConcurrentlyStatus, DefaultMQProducer, MessageModel, TransactionMQProducer
from engine.client.foundation.errors import DuplicateClient
from tests.support.lab.lab_cluster import Client, LabCluster


def push_consumer(cluster: LabCluster, node: str, group: str, **settings: object) -> Client:
    consumer = cluster.push_consumer(node, group, **settings)
    consumer.subscribe("T")
    consumer.register_message_listener(lambda messages, context: ConsumeConcurrentlyStatus.CONSUME_SUCCESS)
    return consumer


def transaction_producer(cluster: LabCluster, node: str, group: str, **settings: object) -> Client:
    listener: Any = object()
    return TransactionMQProducer(cluster.world.node(node), group, cluster.name_server_address, listener, **settings)


Make = Callable[..., Client]
CONSUMERS: list[Make] = [push_consumer, LabCluster.pull_consumer]
PRODUCERS: list[Make] = [LabCluster.producer, transaction_producer]
PAIRS = [(first, second) for kind in (CONSUMERS, PRODUCERS) for first in kind for second in kind]


@pytest.fixture
def cluster() -> Iterator[LabCluster]:
    with LabCluster(seed=6) as made:
        yield made


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_second_client_of_one_group_and_one_id_is_refused_and_the_first_goes_on(cluster, first, second):
    running = first(cluster, "C", "g", instance_name="x")
    cluster.start(running)
    cluster.world.run_for(2_000)
    refused = second(cluster, "C", "g", instance_name="x")
    with pytest.raises(DuplicateClient, match=r"of group 'g' with the client id .*@x runs in this process already"):
        cluster.start(refused)
    cluster.stop(refused)
    assert running._life.is_running
    cluster.stop(running)
    cluster.start(second(cluster, "C", "g", instance_name="x"))


@pytest.mark.parametrize("make", [*CONSUMERS, *PRODUCERS])
def test_clients_that_differ_in_anything_run_side_by_side(cluster, make):
    cluster.start(make(cluster, "C", "g", instance_name="x"))
    cluster.start(make(cluster, "C", "g", instance_name="y"))
    cluster.start(make(cluster, "C", "h", instance_name="x"))
    cluster.start(make(cluster, "D", "g", instance_name="x"))
    cluster.start(make(cluster, "C", "g", instance_name="x", unit_name="u"))
    cluster.start(make(cluster, "C", "g"), make(cluster, "C", "g"))


def test_a_producer_and_a_consumer_may_have_one_id_and_one_group(cluster):
    cluster.start(push_consumer(cluster, "C", "g", instance_name="x"), cluster.producer("C", "g", instance_name="x"))


def test_broadcasting_members_of_one_process_need_names_of_their_own(cluster):
    cluster.start(push_consumer(cluster, "C", "g", message_model=MessageModel.BROADCASTING))
    with pytest.raises(DuplicateClient, match="give one of them another instance_name"):
        cluster.start(push_consumer(cluster, "C", "g", message_model=MessageModel.BROADCASTING))


def test_all_live_clients_of_a_process_count_whichever_runtime_they_have():
    def producer() -> DefaultMQProducer:
        return DefaultMQProducer(group="live", name_server_addresses="127.0.0.1:1", instance_name="x")

    async def run() -> None:
        first = producer()
        await first.start()
        with pytest.raises(DuplicateClient):
            await producer().start()
        await first.shutdown()
        async with producer():
            pass

    asyncio.run(run())


def test_a_client_that_is_gone_without_a_shutdown_is_in_nobodys_way():
    async def run() -> None:
        producer = DefaultMQProducer(group="lost", name_server_addresses="127.0.0.1:1", instance_name="x")
        await producer.start()

    asyncio.run(run())
    gc.collect()
    asyncio.run(run())
