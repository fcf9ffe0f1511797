"""Resets of offsets (220) that meet each other, a suspension, an alarm or a rebalance. In the lab, with two brokers."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.client import (
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyStatus,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MessageModel,
    MessageQueue,
)
from engine.idempotence.failure_alarm import FailureAlarm
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.command.headers import GetConsumerRunningInfoRequestHeader, ResetOffsetRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.request_code import RequestCode
from tests.engine.client.push_consumer_world import FROM_FIRST
from tests.support.idempotence.deliveries import message
from tests.support.lab.lab_cluster import LabCluster
from tests.support.tiers import examples

#: More than a reset takes.
OVER_MS = 12_000
QUEUES = (MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-b", 0))
OTHER = MessageQueue("Other", "broker-a", 0)


class TwoBrokers:
    """A queue of topic T on each broker with ten messages, consumed by member C of group g.

    :ivar heard: queue -> the offsets that a listener got, in that order.
    """

    def __init__(self, *, orderly: bool = False, model: MessageModel = MessageModel.CLUSTERING) -> None:
        self.cluster = LabCluster(seed=5, brokers=2)
        self.run_for = self.cluster.world.run_for
        self.heard: dict[MessageQueue, list[int]] = {queue: [] for queue in (*QUEUES, OTHER)}
        self.listener_ms = 0
        self._orderly, self._model = orderly, model
        self.producer = producer = self.cluster.producer("P", "producers")
        self.cluster.start(producer)
        for topic in ("T", "Other"):
            self.cluster.run(producer, producer.create_topic(topic, queue_nums=1))
        for queue in QUEUES:
            self.send(queue, 10)
        self.consumer = self.member("C")
        self.cluster.world.run_until(lambda: all(self.committed(queue) == 10 for queue in QUEUES), 30_000)

    def member(self, node: str) -> DefaultMQPushConsumer:
        consumer = self.cluster.push_consumer(node, "g", consume_from_where=FROM_FIRST, message_model=self._model)
        consumer.subscribe("T")
        consumer.subscribe("Other")
        if self._orderly:
            consumer.register_message_listener_orderly(self._listen)
        else:
            consumer.register_message_listener(self._listen)
        self.cluster.start(consumer)
        return consumer

    async def _listen(self, messages: Sequence[MessageExt], context: object) -> object:
        for one in messages:
            assert one.broker_name is not None
            self.heard[MessageQueue(one.topic, one.broker_name, one.queue_id)].append(one.queue_offset)
        await asyncio.sleep(self.listener_ms / 1_000)
        return ConsumeOrderlyStatus.SUCCESS if self._orderly else ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def committed(self, queue: MessageQueue) -> int | None:
        return self.consumer.offset_store.offset_in_memory(queue)

    def send(self, queue: MessageQueue, count: int) -> None:
        async def send_all() -> None:
            for _ in range(count):
                await self.producer.send(Message(queue.topic, b"x"), queue=queue)

        self.cluster.run(self.producer, send_all())

    def reset(self, offsets: Mapping[MessageQueue, int]) -> None:
        """What a broker sends to all members it knows."""

        async def report(broker: str) -> None:
            info = self.cluster.brokers[broker].consumer_manager.get_consumer_group_info("g")
            assert info is not None
            header = ResetOffsetRequestHeader("T", "g", 0, True)
            body = ResetOffsetBody(dict(offsets)).to_json()
            for channel in info.channels:
                channel.send_oneway(RemotingCommand.request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body))

        broker = next(iter(offsets)).broker_name
        self.cluster.world.run(report(broker), node=broker)

    def reset_all_to_the_beginning(self) -> None:
        """As ``glassmq groups reset-offset`` does: one request (222) to each broker."""
        client = self.producer.instance.remoting_client
        for broker in self.cluster.brokers.values():
            header = ResetOffsetRequestHeader("T", "g", 0, True)
            request = RemotingCommand.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
            self.cluster.run(self.producer, client.call(broker.address, request, 5_000))

    def at_member(self, act: object) -> None:
        """Call ``act`` on the member's node."""

        async def call() -> None:
            act()  # type: ignore[operator]

        self.cluster.run(self.consumer, call())

    def forget(self) -> None:
        for offsets in self.heard.values():
            offsets.clear()

    def running_info(self) -> dict[str, str]:
        info = self.cluster.broker.consumer_manager.get_consumer_group_info("g")
        assert info is not None
        header = GetConsumerRunningInfoRequestHeader("g", self.consumer.instance.client_id)
        call = info.channels[0].call(RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO, header), 5_000)
        return dict(loads_json(self.cluster.world.run(call, node="broker-a").body)["properties"])


@pytest.fixture
def world() -> Iterator[TwoBrokers]:
    made = TwoBrokers()
    yield made
    made.cluster.close()


KINDS = [(False, MessageModel.CLUSTERING), (True, MessageModel.CLUSTERING), (False, MessageModel.BROADCASTING)]


@pytest.mark.parametrize(("orderly", "model"), KINDS)
def test_the_resets_of_two_brokers_both_take_effect(orderly: bool, model: MessageModel):
    world = TwoBrokers(orderly=orderly, model=model)
    with world.cluster:
        world.forget()
        for queue, offset in zip(QUEUES, (4, 7), strict=True):
            world.reset({queue: offset})
        world.run_for(OVER_MS)
        assert world.heard[QUEUES[0]] == [4, 5, 6, 7, 8, 9]
        assert world.heard[QUEUES[1]] == [7, 8, 9]
        for queue in QUEUES:
            world.send(queue, 5)
        world.run_for(1_000)
        assert all(offsets[-5:] == [10, 11, 12, 13, 14] for offsets in (world.heard[queue] for queue in QUEUES))


def test_an_administrators_reset_of_all_brokers_begins_every_queue_again(world: TwoBrokers):
    world.run_for(10_000)  # the progress is stored, which that reset asks for
    world.forget()
    world.reset_all_to_the_beginning()
    world.run_for(OVER_MS)
    assert [world.heard[queue] for queue in QUEUES] == [list(range(10))] * 2


def test_the_newest_of_several_resets_of_a_queue_counts_ten_seconds_after_the_first(world: TwoBrokers):
    queue = QUEUES[0]
    world.forget()
    for offset in (2, 8, 5):
        world.reset({queue: offset})
        world.run_for(3_000)
    assert world.running_info()["GLASSMQ_QUEUES_IN_RESET"] == "1"
    world.run_for(2_000)
    assert world.heard[queue] == [5, 6, 7, 8, 9]
    world.run_for(20_000)
    assert world.heard[queue] == [5, 6, 7, 8, 9], "it does not begin once more"
    world.reset({queue: 9})
    world.run_for(OVER_MS)
    assert world.heard[queue] == [5, 6, 7, 8, 9, 9]
    assert world.running_info()["GLASSMQ_QUEUES_IN_RESET"] == "0"


@pytest.mark.parametrize("model", MessageModel)
def test_a_suspension_during_a_reset_stays_and_the_reset_counts_afterwards(model: MessageModel):
    world = TwoBrokers(model=model)
    with world.cluster:
        world.forget()
        world.reset({QUEUES[0]: 6})
        world.run_for(5_000)
        world.at_member(world.consumer.suspend)
        assert world.running_info()["GLASSMQ_SUSPENDED"] == "true"
        world.run_for(60_000)
        assert world.consumer.is_suspended
        assert world.heard[QUEUES[0]] == []
        world.at_member(world.consumer.resume)
        world.run_for(2_000)
        assert world.heard[QUEUES[0]] == [6, 7, 8, 9]


def test_an_end_of_a_suspension_during_a_reset_stays(world: TwoBrokers):
    world.at_member(world.consumer.suspend)
    world.reset({QUEUES[0]: 6})
    world.run_for(5_000)
    world.at_member(world.consumer.resume)
    world.run_for(30_000)
    world.send(QUEUES[0], 1)
    world.run_for(1_000)
    assert not world.consumer.is_suspended
    assert world.heard[QUEUES[0]][10:] == [6, 7, 8, 9, 10]


def raise_alarm(alarm: FailureAlarm) -> None:
    alarm(dataclasses.replace(message(1), reconsume_times=2), "order-1", None)


def test_an_alarm_during_a_reset_stops_the_consumer_until_somebody_resumes_it(world: TwoBrokers):
    alarm = FailureAlarm(world.consumer, after=3)
    world.reset({QUEUES[0]: 6})
    world.run_for(5_000)
    world.at_member(lambda: raise_alarm(alarm))
    assert alarm.raised_for == "order-1"
    world.run_for(60_000)
    assert world.consumer.is_suspended


def test_other_queues_go_on_while_one_is_reset(world: TwoBrokers):
    world.forget()
    world.reset({QUEUES[0]: 0})
    world.send(QUEUES[1], 3)
    world.send(OTHER, 2)
    world.run_for(2_000)
    assert (world.heard[QUEUES[0]], world.heard[QUEUES[1]], world.heard[OTHER]) == ([], [10, 11, 12], [0, 1])


def test_a_pull_that_ends_after_the_reset_does_not_move_the_new_offset(world: TwoBrokers):
    queue = QUEUES[0]
    world.listener_ms = 60_000
    world.reset({queue: 0})  # a pull was parked at the broker a moment ago, and stays there for 15 s
    world.run_for(30_000)
    assert world.heard[queue][10:] == list(range(10))
    assert world.committed(queue) == 0, "the listener has all of them in hand"


def test_a_member_that_joins_during_the_reset_begins_its_queues_at_the_new_offset(world: TwoBrokers):
    world.forget()
    for queue in QUEUES:
        world.reset({queue: 3})
    world.run_for(3_000)
    second = world.member("C2")
    world.run_for(30_000)
    owners = [[queue for queue in QUEUES if queue in one.process_queues] for one in (world.consumer, second)]
    assert sorted(map(len, owners)) == [1, 1]
    for queue in QUEUES:
        assert sorted(set(world.heard[queue])) == list(range(3, 10))


STEPS = st.one_of(
    st.tuples(st.just("reset"), st.sampled_from(QUEUES), st.integers(0, 10)),
    st.sampled_from([("suspend",), ("resume",), ("alarm",), ("send",)]),
    st.tuples(st.just("wait"), st.sampled_from([1, 1_000, 4_000, 9_990, 10_000, 11_000])),
)


@settings(max_examples=examples(quick=10, full=60))
@given(steps=st.lists(STEPS, max_size=12), orderly=st.booleans())
def test_in_whatever_order_they_come_the_last_word_of_each_counts(steps: list[tuple], orderly: bool):
    world = TwoBrokers(orderly=orderly)
    with world.cluster:
        alarm = FailureAlarm(world.consumer, after=3)
        actions = {
            "suspend": world.consumer.suspend,
            "resume": world.consumer.resume,
            "alarm": lambda: raise_alarm(alarm),
        }
        is_suspended = False
        newest: dict[MessageQueue, int] = {}
        for name, *arguments in steps:
            if name == "reset":
                queue, offset = arguments
                newest[queue] = offset
                world.heard[queue].clear()
                world.reset({queue: offset})
            elif name == "wait":
                world.run_for(arguments[0])
            elif name == "send":
                for queue in QUEUES:
                    world.send(queue, 1)
            else:
                is_suspended = name != "resume"
                world.at_member(actions[name])
        world.run_for(30_000)
        assert world.consumer.is_suspended is is_suspended
        world.at_member(world.consumer.resume)
        world.run_for(5_000)
        for queue in QUEUES:
            world.send(queue, 1)
        world.run_for(2_000)
        for queue in QUEUES:
            end = world.cluster.brokers[queue.broker_name].store.max_offset("T", 0)
            begin = newest.get(queue, 0)
            assert world.heard[queue][-(end - begin) :] == list(range(begin, end))
            assert world.committed(queue) == end
