"""A reset of offsets says what came of it: what is stored, whether members began there, and what they do not follow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.foundation.operator_requests import OperationRefused, ResetOffsetRequest, ResetTarget
from app.remote.cluster_admin import ClusterAdmin, Reset, _looked_at
from app.remote.cluster_reader import ClusterReader
from engine.client import ConsumeConcurrentlyStatus, ConsumeFromWhere, DefaultMQPushConsumer, Message, MessageQueue
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.command.headers import UpdateConsumerOffsetRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.remoting.remoting_client import RemotingClient
from tests.support.lab.lab_cluster import LabCluster

TO_EARLIEST = ResetOffsetRequest("g", "T", ResetTarget.EARLIEST)
TO_LATEST = ResetOffsetRequest("g", "T", ResetTarget.LATEST)
QUEUE = MessageQueue("T", "broker-a", 0)


class Stage:
    """Topic T on two brokers with two queues of five messages each, and a tool of the operator."""

    def __init__(self) -> None:
        self.cluster = cluster = LabCluster(seed=7, brokers=2)
        producer = cluster.producer("P", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=2))

        async def send() -> None:
            for number in range(20):
                queue = MessageQueue("T", ("broker-a", "broker-b")[number % 2], number // 2 % 2)
                await producer.send(Message("T", b"%d" % number), queue)

        cluster.run(producer, send())
        self.heard = 0
        client = RemotingClient(cluster.world.node("tool"), "tool")
        servers = (cluster.name_server_address,)
        self.admin = ClusterAdmin(ClusterReader(client, servers))

    def consumer(self, node: str = "C") -> DefaultMQPushConsumer:
        """A member of group g."""
        consumer = self.cluster.push_consumer(node, "g", consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
        consumer.subscribe("T")

        async def listen(messages, context):
            self.heard += len(messages)
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer.register_message_listener(listen)
        self.cluster.start(consumer)
        return consumer

    def deaf_member(self) -> None:
        """A member of group g that does nothing."""
        deaf = RemotingClient(self.cluster.world.node("deaf"), "deaf")
        subscriptions = tuple(build_subscription_data(topic, "*") for topic in ("T", retry_topic("g")))
        heartbeat = HeartbeatData("deaf", (), (ConsumerData("g", subscriptions=subscriptions),)).to_json()

        async def join() -> None:
            for broker in self.cluster.brokers.values():
                await deaf.call(broker.address, RemotingCommand.request(RequestCode.HEART_BEAT, body=heartbeat), 3_000)

        self.cluster.world.run(join(), node="deaf")

    def consume_all(self, consumer: DefaultMQPushConsumer) -> None:
        """Until everything is confirmed."""
        self.cluster.world.run_until(lambda: self.offsets() == [5] * 4, 60_000)

    def offsets(self) -> list[int]:
        """What is stored of all queues."""
        return [
            broker.consumer_offset_manager.query_offset("g", "T", queue_id)
            for broker in self.cluster.brokers.values()
            for queue_id in range(2)
        ]

    def now_ms(self) -> int:
        return self.cluster.world.node("tool").clock.now_ms()

    def reset(self, operation: ResetOffsetRequest) -> list[Reset]:
        return self.cluster.world.run(self.admin.reset_offset(operation), node="tool")


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.cluster.close()


def test_a_reset_is_done_when_the_members_have_taken_it_up(stage: Stage):
    stage.consume_all(stage.consumer())
    before_ms = stage.now_ms()
    resets = stage.reset(TO_EARLIEST)
    assert [(one.old, one.new, one.is_stored, one.is_awaited) for one in resets] == [(5, 0, True, False)] * 4
    assert stage.now_ms() - before_ms < 13_000
    assert stage.heard == 20, "they drop their queues at once, confirm the new offsets, and begin there after 10 s"
    stage.cluster.world.run_for(13_000)
    assert stage.heard == 40


def test_members_that_are_past_the_old_offset_again_before_the_last_broker_is_asked_have_followed(stage, monkeypatch):
    stage.consume_all(stage.consumer())
    ask, slow = stage.admin._ask, stage.cluster.brokers["broker-b"].address

    async def ask_slowly(address, *arguments, **others):
        await asyncio.sleep(30 if address == slow else 0)
        return await ask(address, *arguments, **others)

    monkeypatch.setattr(stage.admin, "_ask", ask_slowly)
    resets = stage.reset(TO_EARLIEST)
    assert [(one.stored, one.is_stored, one.is_awaited) for one in resets[:2]] == [(5, True, False)] * 2
    assert all(one.is_stored for one in resets)


def test_members_that_have_not_stored_an_offset_yet_are_reset_on_all_brokers(stage: Stage):
    stage.consumer()
    stage.cluster.world.run_until(lambda: stage.heard == 20, 5_000)
    assert stage.offsets() == [-1] * 4, "the brokers answer 0 where nothing is stored and the topic is young"
    plan = stage.cluster.world.run(stage.admin.plan_reset(TO_EARLIEST), node="tool")
    assert (plan.is_online, [one.new for one in plan.resets]) == (True, [0] * 4)
    resets = stage.reset(TO_EARLIEST)
    assert [(one.new, one.is_stored, one.is_awaited) for one in resets] == [(0, True, False)] * 4
    stage.cluster.world.run_for(13_000)
    assert stage.heard == 40


def test_a_group_of_which_nothing_at_all_is_stored_is_reset_as_soon_as_members_are_online(stage: Stage):
    stage.deaf_member()
    resets = stage.reset(TO_LATEST)
    assert [(one.old, one.stored, one.is_awaited) for one in resets] == [(None, 5, True)] * 4


def test_a_group_that_nobody_knows_is_refused(stage: Stage):
    with pytest.raises(OperationRefused, match="Group g does not exist"):
        stage.reset(TO_EARLIEST)


def test_a_reset_of_a_group_that_is_offline_is_stored_at_once(stage: Stage):
    consumer = stage.consumer()
    stage.consume_all(consumer)
    stage.cluster.stop(consumer)
    resets = stage.reset(TO_EARLIEST)
    assert [(one.stored, one.is_stored, one.is_awaited) for one in resets] == [(0, True, False)] * 4
    assert stage.offsets() == [0] * 4


def test_members_that_do_not_follow_a_reset_are_noticed(stage: Stage):
    consumer = stage.consumer()
    stage.consume_all(consumer)
    stage.cluster.stop(consumer)
    stage.deaf_member()
    resets = stage.reset(TO_EARLIEST)
    assert [(one.stored, one.is_awaited) for one in resets] == [(0, True)] * 4


@pytest.mark.parametrize("operation", [TO_EARLIEST, TO_LATEST])
def test_members_that_pull_for_themselves_refuse_a_reset_before_anything_is_stored(
    stage: Stage, operation: ResetOffsetRequest
):
    pusher = stage.consumer()
    stage.consume_all(pusher)
    stage.cluster.stop(pusher)
    puller = stage.cluster.pull_consumer("C2", "g")
    stage.cluster.start(puller)
    for broker_name in ("broker-a", "broker-b"):
        stage.cluster.run(puller, puller.pull(MessageQueue("T", broker_name, 0), "*", 0, 32))
    stage.cluster.world.run_for(31_000)
    for act in (stage.admin.plan_reset, stage.admin.reset_offset):
        with pytest.raises(
            OperationRefused, match=r"manage their own pulls.*nothing was stored.*Stop them, reset"
        ) as refused:
            stage.cluster.world.run(act(operation), node="tool")
        assert "自己管理位点" in refused.value.text["zh"]
    assert stage.offsets() == [5] * 4


def test_a_commit_from_before_a_reset_that_arrives_after_it_does_not_win(stage: Stage):
    consumer = stage.consumer()
    stage.consume_all(consumer)
    stage.reset(TO_EARLIEST)
    late = UpdateConsumerOffsetRequestHeader("g", "T", 0, 999)
    broker = stage.cluster.brokers["broker-a"]

    async def commit() -> None:
        client = consumer.instance.remoting_client
        await client.call(broker.address, RemotingCommand.request(RequestCode.UPDATE_CONSUMER_OFFSET, late), 3_000)

    stage.cluster.run(consumer, commit())
    assert stage.offsets()[0] <= 5


@given(st.integers(0, 9), st.integers(0, 9), st.lists(st.integers(0, 9)))
def test_what_is_stored_is_as_asked_once_it_was_the_new_offset_or_on_the_way_from_there(old, new, looks):
    reset = Reset(QUEUE, old, new)
    for stored in looks:
        reset = _looked_at(reset, stored, is_awaited=False)
    if new in looks:
        assert reset.is_stored
    if not any(new <= stored for stored in looks):
        assert not reset.is_stored
    if new < old and all(stored >= old for stored in looks):
        assert not reset.is_stored, "the old offset was still there"
