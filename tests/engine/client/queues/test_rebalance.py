"""Who owns which queue when members come and go, and where a new owner begins. In the lab."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from engine.client import (
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueConsistentHash,
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MessageQueue,
    RequestFailed,
)
from engine.client.foundation.client_config import ClientConfig
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.client.queues.rebalance_push_impl import DEFAULT_CONSUME_TIMESTAMP_AGE_MS, RebalancePushImpl
from engine.client.queues.remote_broker_offset_store import RemoteBrokerOffsetStore
from engine.protocol.command.headers import OffsetResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.lab_faults import DropsRequests
from tests.support.lab.stub_server import Answer, StubServer, answer_routes, refuse, route_of

QUEUES = 8


async def consume(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


def member(cluster: LabCluster, node: str, **settings: Any) -> DefaultMQPushConsumer:
    consumer = cluster.push_consumer(node, "g", **settings)
    consumer.subscribe("T")
    consumer.register_message_listener(consume)
    cluster.start(consumer)
    return consumer


def owned(consumer: DefaultMQPushConsumer) -> list[int]:
    return sorted(queue.queue_id for queue in consumer.process_queues if queue.topic == "T")


def make_cluster(seed: int = 4) -> LabCluster:
    cluster = LabCluster(seed)
    producer = cluster.producer("P", "producers")
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=QUEUES))
    return cluster


def test_queues_move_as_members_join_leave_and_crash():
    with make_cluster() as cluster:
        first = member(cluster, "C1")
        cluster.world.run_for(1_000)
        assert owned(first) == list(range(8))
        second = member(cluster, "C2")
        cluster.world.run_for(100)
        assert (owned(first), owned(second)) == ([0, 1, 2, 3], [4, 5, 6, 7]), "told by the broker, at once"
        third = member(cluster, "C3")
        cluster.world.run_for(100)
        assert [owned(consumer) for consumer in (first, second, third)] == [[0, 1, 2], [3, 4, 5], [6, 7]]
        cluster.stop(second)
        cluster.world.run_for(100)
        assert (owned(first), owned(third)) == ([0, 1, 2, 3], [4, 5, 6, 7])
        cluster.world.crash("C1")
        cluster.world.run_for(100)
        assert owned(third) == list(range(8)), "a closed connection says enough"


def test_no_pull_overtakes_the_heartbeat_that_a_rebalance_sends(caplog: pytest.LogCaptureFixture):
    with make_cluster() as cluster:
        for name in ("C1", "C2", "C3"):
            member(cluster, name)
            cluster.world.run_for(25_000)
    assert "SUBSCRIPTION_NOT_LATEST" not in caplog.text


def test_a_member_that_vanishes_without_a_word_is_missed_after_two_minutes():
    with make_cluster() as cluster:
        member(cluster, "C1")
        second = member(cluster, "C2")
        cluster.world.run_for(1_000)
        cluster.world.crash("C1", silent=True)
        cluster.world.run_for(100_000)
        assert owned(second) == [4, 5, 6, 7]
        cluster.world.run_for(60_000)
        assert owned(second) == list(range(8))


def test_members_are_asked_of_another_broker_when_the_first_is_down():
    with LabCluster(seed=6, brokers=2) as cluster:
        admin = cluster.producer("P", "admins")
        cluster.start(admin)
        cluster.run(admin, admin.create_topic("T", queue_nums=4))
        first, second = member(cluster, "C1"), member(cluster, "C2")
        cluster.world.run_for(1_000)
        assert {queue.broker_name for queue in second.process_queues if queue.topic == "T"} == {"broker-b"}
        cluster.world.crash("broker-a")
        cluster.stop(second)
        cluster.world.run_for(5_000)
        assert owned(first) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_without_a_word_from_the_broker_members_notice_each_other_within_twenty_seconds():
    with make_cluster() as cluster:
        first = member(cluster, "C1")
        cluster.world.run_for(1_000)
        cluster.world.network.faults.append(DropsRequests("broker-a", RequestCode.NOTIFY_CONSUMER_IDS_CHANGED))
        second = member(cluster, "C2")
        cluster.world.run_for(1_000)
        assert (owned(first), owned(second)) == (list(range(8)), [4, 5, 6, 7]), "both own four of them"
        cluster.world.run_for(20_000)
        assert (owned(first), owned(second)) == ([0, 1, 2, 3], [4, 5, 6, 7])


@pytest.mark.parametrize(
    "strategy", [AllocateMessageQueueAveragelyByCircle(), AllocateMessageQueueConsistentHash()], ids=lambda s: s.name
)
def test_a_group_shares_all_queues_by_the_strategy_of_its_members(strategy):
    with make_cluster() as cluster:
        members = [member(cluster, name, allocate_strategy=strategy) for name in ("C1", "C2", "C3")]
        cluster.world.run_for(1_000)
        assert sorted(number for consumer in members for number in owned(consumer)) == list(range(8))


def test_a_strategy_that_raises_is_asked_again_next_time():
    class Moody(AllocateMessageQueueAveragelyByCircle):
        calls = 0

        def allocate(self, *arguments: Any) -> list[MessageQueue]:
            self.calls += 1
            if self.calls < 3:
                raise RuntimeError("not in the mood")
            return super().allocate(*arguments)

    with make_cluster() as cluster:
        consumer = member(cluster, "C1", allocate_strategy=Moody())
        cluster.world.run_for(1_000)
        cluster.world.run_for(41_000)
        assert owned(consumer) == list(range(8))


def test_a_queue_added_to_a_topic_is_consumed():
    with make_cluster() as cluster:
        consumer = member(cluster, "C1")
        cluster.world.run_for(1_000)
        admin = cluster.producer("P2", "admins")
        cluster.start(admin)
        cluster.run(admin, admin.create_topic("T", queue_nums=10))
        cluster.world.run_for(60_000)
        assert owned(consumer) == list(range(10))


def test_nobody_consumes_a_message_twice_when_members_join_one_after_the_other_and_nothing_is_in_flight():
    with make_cluster() as cluster:
        bodies: list[bytes] = []

        async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
            bodies.extend(message.body for message in messages)
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        producer = cluster.producer("P2", "producers")
        cluster.start(producer)

        async def send(first: int) -> None:
            for number in range(first, first + 100):
                await producer.send(Message("T", b"%d" % number))

        for round_number, node in enumerate(("C1", "C2", "C3")):
            consumer = cluster.push_consumer(node, "g")
            consumer.subscribe("T")
            consumer.register_message_listener(listen)
            cluster.start(consumer)
            cluster.world.run_for(10_000)
            cluster.run(producer, send(100 * round_number))
            cluster.world.run_for(10_000)
        assert sorted(map(int, bodies)) == list(range(300))


# --- where a group begins ---------------------------------------------------------------------------------------------


class Beginning:
    """A rebalance of one group against a stub that holds offsets 100 to 500 of every queue."""

    def __init__(self, stored: int | Answer, **settings: Any) -> None:
        self.world = LabMachines(seed=1)
        self.stub = StubServer(self.world, "a")
        name_server = StubServer(self.world, "ns", 9876)
        routes = {topic: route_of({"a": self.stub.address}) for topic in ("T", "%RETRY%g")}
        name_server.script(answer_routes(routes), codes=(RequestCode.GET_ROUTEINFO_BY_TOPIC,))

        def offset(value: int) -> Any:
            return lambda request: request.reply(ResponseCode.SUCCESS, None, OffsetResponseHeader(value))

        query = offset(stored) if isinstance(stored, int) else stored
        self.stub.script(query, codes=(RequestCode.QUERY_CONSUMER_OFFSET,))
        self.stub.script(offset(500), codes=(RequestCode.GET_MAX_OFFSET,))
        self.stub.script(self._search, codes=(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,))
        self.searched: list[int] = []
        self.runtime = self.world.node("C")
        config = PushConsumerConfig(**settings)
        instance = MQClientInstance(self.runtime, ClientConfig(name_server_addresses=(name_server.address,)))
        store = RemoteBrokerOffsetStore(instance, "g")
        self.rebalance = RebalancePushImpl(instance, "g", config, store, lambda request: None)

    def _search(self, request: RemotingCommand) -> RemotingCommand:
        self.searched.append(int(request.ext_fields["timestamp"]))
        return request.reply(ResponseCode.SUCCESS, None, OffsetResponseHeader(321))

    def of(self, topic: str = "T") -> int:
        try:
            return self.world.run(self.rebalance.compute_pull_from_where(MessageQueue(topic, "a", 0)), node="C")
        finally:
            self.world.close()


UNKNOWN = refuse(ResponseCode.QUERY_NOT_FOUND)
LAST, FIRST, TIME = (
    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    ConsumeFromWhere.CONSUME_FROM_TIMESTAMP,
)


@pytest.mark.parametrize("where", list(ConsumeFromWhere))
@pytest.mark.parametrize("stored", [0, 7])
def test_a_stored_offset_wins_over_everything(where, stored):
    assert Beginning(stored, consume_from_where=where).of() == stored


@pytest.mark.parametrize(
    ("where", "topic", "expected"),
    [
        (LAST, "T", 500),
        (LAST, "%RETRY%g", 0),
        (ConsumeFromWhere.CONSUME_FROM_MIN_OFFSET, "T", 500),
        (FIRST, "T", 0),
        (FIRST, "%RETRY%g", 0),
        (TIME, "T", 321),
        (TIME, "%RETRY%g", 0),
    ],
)
def test_a_group_without_a_stored_offset_begins_where_it_is_configured_to(where, topic, expected):
    assert Beginning(UNKNOWN, consume_from_where=where).of(topic) == expected


def test_the_time_to_begin_from_is_the_given_one_or_half_an_hour_ago():
    given = Beginning(UNKNOWN, consume_from_where=TIME, consume_timestamp_ms=123_456)
    given.of()
    assert given.searched == [123_456]
    default = Beginning(UNKNOWN, consume_from_where=TIME)
    default.of()
    assert default.searched == [default.runtime.clock.now_ms() // 1000 * 1000 - DEFAULT_CONSUME_TIMESTAMP_AGE_MS]


def test_when_the_broker_cannot_say_the_offset_the_queue_waits_for_the_next_round():
    with pytest.raises(Exception, match="refused to report the offset"):
        Beginning(refuse(ResponseCode.SYSTEM_ERROR)).of()
    with pytest.raises(RequestFailed, match="no reply"):
        Beginning(lambda request: None).of()


def test_a_broker_holds_its_first_messages_in_memory_and_so_hands_a_new_group_everything():
    """CONSUME_FROM_LAST_OFFSET begins at 0 on a small, new topic: RocketMQ's behaviour that surprises most."""
    with make_cluster() as cluster:
        producer = cluster.producer("P2", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.send(Message("T", b"from before")))
        bodies: list[bytes] = []

        async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
            bodies.extend(message.body for message in messages)
            await asyncio.sleep(0)
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer = cluster.push_consumer("C", "new", consume_from_where=LAST)
        consumer.subscribe("T")
        consumer.register_message_listener(listen)
        cluster.start(consumer)
        cluster.world.run_for(5_000)
        assert bodies == [b"from before"]
