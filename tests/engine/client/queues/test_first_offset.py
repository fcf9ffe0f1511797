"""Where a group without a stored offset begins, and that it skips nothing from then on, whichever member gets a queue
next.

The broker keeps nothing "in memory" here, so that it answers "none" and CONSUME_FROM_LAST_OFFSET counts.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.client import (
    ConsumeFromWhere,
    ConsumeOrderlyStatus,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageModel,
    MessageQueue,
)
from engine.protocol.command.remoting_command import decode_command
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.client.push_consumer_world import SUCCESS, Heard
from tests.support.lab.lab_cluster import LabCluster
from tests.support.tiers import examples

NOTHING_IN_MEMORY = MessageStoreConfig(mapped_file_size_commit_log=1 << 20, access_message_in_memory_max_bytes=0)
LAST = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET


class SlowMaxOffset:
    """Requests for the end of a queue take 200 ms."""

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        if parcel.kind is ParcelKind.FRAME and decode_command(parcel.data[4:]).code == RequestCode.GET_MAX_OFFSET:
            return (200_000,)
        return None


class OldTopic:
    """Topic T with three old messages in each queue, which no new group wants.

    :ivar heard: what any member of the group got.
    """

    def __init__(self, queues: int, *, orderly: bool) -> None:
        self.cluster = LabCluster(seed=3, store_config=NOTHING_IN_MEMORY)
        self.queues = [MessageQueue("T", "broker-a", number) for number in range(queues)]
        self._orderly = orderly
        self.heard = Heard(self.cluster, lambda message: ConsumeOrderlyStatus.SUCCESS if orderly else SUCCESS)
        self.producer: DefaultMQProducer = self.cluster.producer("P", "producers")
        self.cluster.start(self.producer)
        self.cluster.run(self.producer, self.producer.create_topic("T", queue_nums=queues))
        for _ in range(3):
            self.send("old")

    def send(self, body: str) -> None:
        """One message to each queue."""

        async def send_all() -> None:
            for queue in self.queues:
                await self.producer.send(Message("T", body.encode()), queue=queue)

        self.cluster.run(self.producer, send_all())

    def member(self, node: str, begin: ConsumeFromWhere = LAST, **settings: object) -> DefaultMQPushConsumer:
        consumer = self.cluster.push_consumer(node, "g", consume_from_where=begin, **settings)
        consumer.subscribe("T")
        register = consumer.register_message_listener_orderly if self._orderly else consumer.register_message_listener
        register(self.heard)
        self.cluster.start(consumer)
        return consumer

    def wait_until_owned(self, *consumers: DefaultMQPushConsumer) -> None:
        def all_owned() -> bool:
            owned = [queue for one in consumers for queue in one.process_queues if queue.topic == "T"]
            return sorted(owned) == self.queues

        self.cluster.world.run_until(all_owned, 60_000)

    def places(self, body: str) -> list[tuple[int, int]]:
        return sorted((one.queue_id, one.queue_offset) for one in self.heard.messages if one.body == body.encode())


@pytest.mark.parametrize("model", MessageModel)
@pytest.mark.parametrize("orderly", [False, True])
def test_what_arrives_between_two_look_ups_of_a_position_is_consumed(orderly: bool, model: MessageModel):
    world = OldTopic(16, orderly=orderly)
    with world.cluster:
        world.cluster.world.network.faults.append(SlowMaxOffset())
        consumer = world.member("C", message_model=model)
        world.wait_until_owned(consumer)
        world.send("new")
        world.cluster.world.run_for(30_000)
        assert world.places("new") == [(number, 3) for number in range(16)]
        assert world.places("old") == []


def leave(world: OldTopic, consumer: DefaultMQPushConsumer) -> None:
    world.cluster.stop(consumer)


def crash(world: OldTopic, consumer: DefaultMQPushConsumer) -> None:
    world.cluster.world.crash(consumer.instance.runtime.node_name)


@pytest.mark.parametrize("end", [leave, crash])
@pytest.mark.parametrize("begin", [LAST, ConsumeFromWhere.CONSUME_FROM_TIMESTAMP])
@pytest.mark.parametrize("orderly", [False, True])
def test_a_queue_that_moves_before_its_first_commit_goes_on_where_its_first_owner_began(
    orderly: bool, begin: ConsumeFromWhere, end: Callable[[OldTopic, DefaultMQPushConsumer], None]
):
    world = OldTopic(4, orderly=orderly)
    with world.cluster:
        world.cluster.world.run_for(2_000)
        now_ms = world.cluster.world.node("P").clock.now_ms()
        first = world.member("C1", begin, consume_timestamp_ms=now_ms)
        world.wait_until_owned(first)
        end(world, first)
        world.cluster.world.run_for(2_000)
        world.send("between")
        world.cluster.world.run_for(120_000)
        # Of its own accord it would begin after all of them.
        second = world.member("C2", begin, consume_timestamp_ms=now_ms + 100_000)
        world.wait_until_owned(second)
        world.send("new")
        world.cluster.world.run_for(60_000)
        for body, offset in (("between", 3), ("new", 4)):
            assert world.places(body) == [(number, offset) for number in range(4)]


def test_a_broadcasting_member_that_has_heard_nothing_yet_gets_what_came_while_it_was_away():
    world = OldTopic(2, orderly=False)
    with world.cluster:
        first = world.member("C", message_model=MessageModel.BROADCASTING)
        world.wait_until_owned(first)
        world.cluster.stop(first)
        world.send("between")
        second = world.member("C", message_model=MessageModel.BROADCASTING)
        world.wait_until_owned(second)
        world.cluster.world.run_for(5_000)
        assert (world.places("old"), world.places("between")) == ([], [(0, 3), (1, 3)])


def test_the_start_of_a_group_is_shown_as_its_progress_before_it_consumes_anything():
    world = OldTopic(2, orderly=False)
    with world.cluster:
        world.wait_until_owned(world.member("C"))
        world.cluster.world.run_for(10)
        offsets = world.cluster.broker.consumer_offset_manager
        assert [offsets.query_offset("g", "T", number) for number in range(2)] == [3, 3]


MOVES = st.sampled_from(["join", "leave", "crash", "send", "wait 10 ms", "wait 1 s", "wait 30 s"])


@settings(max_examples=examples(quick=6, full=40))
@given(moves=st.lists(MOVES, max_size=12), orderly=st.booleans())
def test_once_a_queue_had_an_owner_every_message_is_consumed_whatever_members_do(moves: list[str], orderly: bool):
    world = OldTopic(4, orderly=orderly)
    with world.cluster:
        first = world.member("C0")
        world.wait_until_owned(first)
        members, joined, sent = [first], 1, 0
        for move in moves:
            if move == "join":
                members.append(world.member(f"C{joined}"))
                joined += 1
            elif move == "send":
                world.send(f"new {sent}")
                sent += 1
            elif move.startswith("wait"):
                world.cluster.world.run_for({"10 ms": 10, "1 s": 1_000, "30 s": 30_000}[move[5:]])
            elif members:
                (leave if move == "leave" else crash)(world, members.pop(0))
        members.append(world.member("last"))
        world.cluster.world.run_for(180_000)
        heard = {(one.queue_id, one.body) for one in world.heard.messages}
        assert heard == {(number, b"new %d" % each) for number in range(4) for each in range(sent)}
