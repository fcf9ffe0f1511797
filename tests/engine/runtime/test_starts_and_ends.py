"""A start takes effect wholly or not at all: each kind of component, cut off at each step of its start.

Steps are events of the lab. Whatever the step, afterwards nothing is left: no task, no connection, no listener, no lock
of a folder, no open file, and no broker or name server knows a member.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.group_member import GroupMember
from engine.client import (
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQPushConsumer,
    ExpressionType,
    Message,
    MessageModel,
    TransactionMQProducer,
)
from engine.client.foundation.errors import ClientNotRunning
from engine.kafka.broker.kafka_broker import KafkaBroker
from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.name_server.name_server import NameServer
from engine.name_server.name_server_config import NameServerConfig
from engine.replication.ha.ha_config import HaRole
from engine.replication.majority.group_config import GroupConfig
from engine.runtime.lab.lab_disk import LabOpenFile
from engine.runtime.started_parts import StartRefused
from tests.support.lab.lab_cluster import LAB_STORE, LabCluster
from tests.support.tiers import examples

#: Where the component runs that is started.
NODE = "X"
#: A start is cut off after this many events at most; a longer one is a bug of the test.
MOST_EVENTS = 2_000


class Component(Protocol):
    async def start(self) -> object: ...

    async def shutdown(self) -> None: ...


def push_consumer(cluster: LabCluster, **settings: Any) -> DefaultMQPushConsumer:
    consumer = cluster.push_consumer(NODE, "g", **settings)
    consumer.subscribe("T", "a > 1", ExpressionType.SQL92)
    consumer.register_message_listener(lambda messages, context: ConsumeConcurrentlyStatus.CONSUME_SUCCESS)
    return consumer


def orderly_consumer(cluster: LabCluster) -> DefaultMQPushConsumer:
    consumer = cluster.push_consumer(NODE, "g")
    consumer.subscribe("T")
    consumer.register_message_listener_orderly(lambda messages, context: None)
    return consumer


def transaction_producer(cluster: LabCluster) -> TransactionMQProducer:
    listener: Any = object()
    return TransactionMQProducer(cluster.world.node(NODE), "g", cluster.name_server_address, listener)


def broker(cluster: LabCluster, node: str = NODE, **settings: Any) -> Broker:
    runtime = cluster.world.node(node)
    address = (cluster.name_server_address,)
    config = BrokerConfig(broker_name="X", host=runtime.identity.host_ip, name_server_addresses=address, **settings)
    return Broker(runtime, config, LAB_STORE)


def slave(cluster: LabCluster) -> Broker:
    master = cluster.brokers["X"] = broker(cluster, "M", ha_listen_port=0)
    cluster.world.run(master.start(), node="M")
    return broker(cluster, broker_role=HaRole.SLAVE, broker_id=1)


def group_member(cluster: LabCluster) -> GroupMember:
    runtime = cluster.world.node(NODE)
    group = GroupConfig("n0", {"n0": f"{runtime.identity.host_ip}:40911"})
    return GroupMember(runtime, group, broker(cluster).config, LAB_STORE)


class LoneKafkaBroker(KafkaBroker):
    """Starts without arguments, as the others do."""

    async def start(self, host: str = "", port: int = 9092) -> str:
        return await super().start(host, port)


COMPONENTS: dict[str, Callable[[LabCluster], Component]] = {
    "push consumer": push_consumer,
    "traced push consumer": lambda cluster: push_consumer(cluster, enable_msg_trace=True),
    "broadcasting consumer": lambda cluster: push_consumer(cluster, message_model=MessageModel.BROADCASTING),
    "orderly consumer": orderly_consumer,
    "pull consumer": lambda cluster: cluster.pull_consumer(NODE, "g"),
    "producer": lambda cluster: cluster.producer(NODE, "g", enable_msg_trace=True),
    "transaction producer": transaction_producer,
    "name server": lambda cluster: NameServer(cluster.world.node(NODE), NameServerConfig(host="", port=9876)),
    "broker": broker,
    "synchronous master": lambda cluster: broker(cluster, broker_role=HaRole.SYNC_MASTER),
    "slave": slave,
    "member of a group": group_member,
    "Kafka broker": lambda cluster: LoneKafkaBroker(cluster.world.node(NODE), KafkaBrokerConfig({"T": 2})),
}


@dataclass
class Stage:
    """A cluster in which a component is about to start."""

    cluster: LabCluster
    component: Component
    open_files: list[LabOpenFile]

    def begin(self, work: Awaitable[object]) -> asyncio.Task[object]:
        async def run() -> object:
            return await work

        return self.cluster.world.node(NODE).spawn(run(), "test")

    def assert_nothing_is_left(self) -> None:
        world = self.cluster.world
        world.run_for(1_000)
        assert [task.get_name() for task in world.node(NODE).node.tasks if not task.done()] == []
        host = world.network._hosts[NODE]
        assert [connection.actor.name for connection in host.connections] == []
        assert list(host.listeners) == []
        assert world.storages[NODE].lock is None
        assert [file.path for file in self.open_files if not file._is_closed and file._disk.node.name == NODE] == []
        for known in self.cluster.brokers.values():
            assert [group for group in known.consumer_manager if group.group_name == "g"] == []
            assert known.producer_manager.clients_of_group("g") == []
            if known.replication.service is not None:
                assert list(known.replication.service.slaves) == []
        routes = self.cluster.name_server.route_info_manager
        known_at_node = [address for address in routes._broker_live_table if address.startswith(f"{host.ip}:")]
        assert known_at_node == []


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Stage]]:
    opened: list[LabOpenFile] = []
    made: list[LabCluster] = []
    initialise = LabOpenFile.__init__

    def noted(self: LabOpenFile, *arguments: Any) -> None:
        initialise(self, *arguments)
        opened.append(self)

    monkeypatch.setattr(LabOpenFile, "__init__", noted)

    def stage(kind: str) -> Stage:
        if made:
            made.pop().close()
        opened.clear()
        cluster = LabCluster(seed=3, broker_settings={"enable_property_filter": True})
        made.append(cluster)
        producer = cluster.producer("P", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=2))
        return Stage(cluster, COMPONENTS[kind](cluster), opened)

    yield stage
    for cluster in made:
        cluster.close()


def cut_off_at_each_step(
    stages: Callable[[str], Stage], kind: str, cut: Callable[[Stage, asyncio.Task[object]], None]
) -> None:
    for events in range(1, MOST_EVENTS):
        stage = stages(kind)
        world = stage.cluster.world
        starting = stage.begin(stage.component.start())
        world.loop.run_events(events)
        if starting.done():
            starting.result()
            world.run(stage.begin(stage.component.shutdown()))
            stage.assert_nothing_is_left()
            return
        cut(stage, starting)
        stage.assert_nothing_is_left()
    pytest.fail("the start never ends")


@pytest.mark.parametrize("kind", COMPONENTS)
def test_a_start_that_is_cancelled_at_any_step_leaves_nothing(stages, kind):
    def cancel(stage: Stage, starting: asyncio.Task[object]) -> None:
        starting.cancel()
        stage.cluster.world.run_until(starting.done, 10_000)
        assert starting.cancelled()
        with pytest.raises((ClientNotRunning, StartRefused), match="cannot be started again; make a new one"):
            stage.cluster.world.run(stage.component.start(), node=NODE)
        stage.cluster.world.run(stage.begin(stage.component.shutdown()))

    cut_off_at_each_step(stages, kind, cancel)


@pytest.mark.parametrize("kind", COMPONENTS)
def test_a_shutdown_at_any_step_of_a_start_ends_it_and_leaves_nothing(stages, kind):
    def shut_down(stage: Stage, starting: asyncio.Task[object]) -> None:
        first, second = stage.begin(stage.component.shutdown()), stage.begin(stage.component.shutdown())
        stage.cluster.world.run_until(lambda: first.done() and second.done(), 10_000)
        assert first.exception() is None and second.exception() is None
        assert starting.done()
        # It may have been through with its last step before the shutdown took its first.
        assert starting.exception() is None or isinstance(starting.exception(), (ClientNotRunning, StartRefused))

    cut_off_at_each_step(stages, kind, shut_down)


@pytest.mark.parametrize("kind", COMPONENTS)
def test_a_start_that_is_cancelled_again_while_it_is_undone_leaves_nothing(stages, kind):
    def cancel_twice(stage: Stage, starting: asyncio.Task[object]) -> None:
        world = stage.cluster.world
        starting.cancel()
        # Not the same number at each step.
        world.loop.run_events(1 + world.loop.event_number % 7)
        starting.cancel()
        world.run_until(starting.done, 10_000)

    cut_off_at_each_step(stages, kind, cancel_twice)


@pytest.mark.parametrize("kind", COMPONENTS)
def test_a_shutdown_that_is_cancelled_at_any_step_is_finished_all_the_same(stages, kind):
    for events in range(1, MOST_EVENTS, examples(quick=3, full=1)):
        stage = stages(kind)
        world = stage.cluster.world
        world.run(stage.begin(stage.component.start()))
        world.run_for(6_000)
        ending = stage.begin(stage.component.shutdown())
        world.loop.run_events(events)
        if ending.done():
            return
        ending.cancel()
        world.run(stage.begin(stage.component.shutdown()), limit_ms=10_000)
        stage.assert_nothing_is_left()
    pytest.fail("the shutdown never ends")


def test_starts_that_are_given_up_leave_no_ghost_in_the_group():
    with LabCluster(seed=5) as cluster:
        world = cluster.world
        producer = cluster.producer("P", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=8))
        heard: list[bytes] = []

        def listen(messages: Any, context: Any) -> ConsumeConcurrentlyStatus:
            heard.extend(message.body for message in messages)
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        def consumer() -> DefaultMQPushConsumer:
            made = cluster.push_consumer("C", "g", consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
            made.subscribe("T")
            made.register_message_listener(listen)
            return made

        async def give_up(client: DefaultMQPushConsumer) -> None:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.start(), 1)
            await client.shutdown()

        for _ in range(3):
            client = consumer()
            world.pause("name-server")
            world.run(give_up(client), node="C")
            world.resume("name-server")
        cluster.start(consumer())
        world.run_for(5_000)
        group = cluster.broker.consumer_manager.get_consumer_group_info("g")
        assert group is not None and len(group.channel_info_table) == 1
        bodies = [f"{number}".encode() for number in range(40)]

        async def send() -> None:
            for body in bodies:
                await producer.send(Message("T", body))

        cluster.run(producer, send())
        world.run_until(lambda: len(heard) >= 40, 30_000)
        assert sorted(heard) == sorted(bodies)
