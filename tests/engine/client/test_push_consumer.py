"""A push consumer against a real broker, in the lab: delivery, retries, flow control, offsets, shutdown."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    ExpressionType,
    Message,
    MessageExt,
    MessageModel,
    MessageQueue,
    MQBrokerError,
)
from engine.client.consumer_config import MINUTE_MS
from engine.protocol.java_hash import java_string_hash
from engine.protocol.request_code import RequestCode
from tests.support.lab_cluster import LabCluster
from tests.support.lab_faults import DropsRequests

SUCCESS = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
LATER = ConsumeConcurrentlyStatus.RECONSUME_LATER
FROM_FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


class Heard:
    """A listener that keeps what it got and answers as told."""

    def __init__(self, cluster: LabCluster, answer: Callable[[MessageExt], object] = lambda message: SUCCESS) -> None:
        self.messages: list[MessageExt] = []
        self.seconds: list[float] = []
        self._cluster = cluster
        self._answer = answer

    async def __call__(self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        answer: object = None
        for message in messages:
            self.messages.append(message)
            self.seconds.append(self._cluster.world.loop.now_us / 1_000_000)
            answer = self._answer(message)
        return answer

    @property
    def bodies(self) -> list[str]:
        return [message.body.decode() for message in self.messages]


@pytest.fixture
def cluster() -> Iterator[LabCluster]:
    with LabCluster(seed=11) as made:
        yield made


@pytest.fixture
def producer(cluster: LabCluster) -> DefaultMQProducer:
    made = cluster.producer("P", "producers")
    cluster.start(made)
    cluster.run(made, made.create_topic("T", queue_nums=1))
    return made


def send(cluster: LabCluster, producer: DefaultMQProducer, *messages: Message | str) -> None:
    async def send_all() -> None:
        for message in messages:
            await producer.send(message if isinstance(message, Message) else Message("T", message.encode()))

    cluster.run(producer, send_all())


def consumer_of(
    cluster: LabCluster, listener: Any, node: str = "C", group: str = "g", expression: str = "*", **settings: Any
) -> DefaultMQPushConsumer:
    consumer = cluster.push_consumer(node, group, **({"consume_from_where": FROM_FIRST} | settings))
    consumer.subscribe("T", expression)
    consumer.register_message_listener(listener)
    cluster.start(consumer)
    return consumer


def committed(cluster: LabCluster, group: str = "g", topic: str = "T", queue_id: int = 0) -> int:
    return cluster.broker.consumer_offset_manager.query_offset(group, topic, queue_id)


def queue_of(consumer: DefaultMQPushConsumer, topic: str = "T") -> Any:
    (found,) = (process_queue for queue, process_queue in consumer.process_queues.items() if queue.topic == topic)
    return found


# --- delivery ---------------------------------------------------------------------------------------------------------


def test_a_message_reaches_a_waiting_consumer_within_milliseconds(cluster, producer):
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(100_000)
    before = cluster.world.loop.now_us
    send(cluster, producer, "late news")
    cluster.world.run_until(lambda: heard.messages)
    assert cluster.world.loop.now_us - before < 10_000, "the broker answers a held pull at once"
    (message,) = heard.messages
    assert (message.topic, message.body, message.queue_id, message.queue_offset) == ("T", b"late news", 0, 0)
    assert message.broker_name == "broker-a"


def test_a_plain_function_may_listen(cluster, producer):
    bodies: list[bytes] = []

    def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        bodies.extend(message.body for message in messages)
        return SUCCESS

    consumer_of(cluster, listen)
    send(cluster, producer, "a", "b")
    cluster.world.run_until(lambda: len(bodies) == 2)


def test_only_wanted_tags_arrive_even_where_hash_codes_collide(cluster, producer):
    assert java_string_hash("AaAa") == java_string_hash("BBBB")
    heard = Heard(cluster)
    consumer_of(cluster, heard, expression="AaAa || other")
    for tag in ("AaAa", "BBBB", "wrong", "other"):
        send(cluster, producer, Message("T", tag.encode(), tags=tag))
    cluster.world.run_for(20_000)
    assert heard.bodies == ["AaAa", "other"]
    assert committed(cluster) == 4, "what nobody wants is progress too"


def test_a_listener_gets_as_many_messages_at_once_as_it_asks_for(cluster, producer):
    sizes: list[int] = []

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        sizes.append(len(messages))
        return SUCCESS

    send(cluster, producer, *(str(number) for number in range(20)))
    consumer_of(cluster, listen, consume_message_batch_max_size=8)
    cluster.world.run_until(lambda: sum(sizes) == 20)
    assert max(sizes) == 8


def test_no_more_listeners_run_at_a_time_than_allowed(cluster, producer):
    running: list[int] = [0, 0]

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        running[0] += 1
        running[1] = max(running)
        await asyncio.sleep(0.1)
        running[0] -= 1
        return SUCCESS

    send(cluster, producer, *(str(number) for number in range(30)))
    consumer_of(cluster, listen, consume_thread_max=4)
    cluster.world.run_until(lambda: committed(cluster) == 30, 60_000)
    assert running[1] == 4


def test_a_topic_that_is_made_after_its_consumer_is_noticed_within_seconds(cluster, producer):
    heard = Heard(cluster)
    consumer = cluster.push_consumer("C", "g", consume_from_where=FROM_FIRST)
    consumer.subscribe("Later")
    consumer.register_message_listener(heard)
    cluster.start(consumer)
    cluster.world.run_for(40_000)
    send(cluster, producer, Message("Later", b"first"))
    cluster.world.run_until(lambda: heard.messages, 3_000)


# --- failures of the listener -----------------------------------------------------------------------------------------


def fail_once() -> Callable[[MessageExt], object]:
    return lambda message: SUCCESS if message.reconsume_times else LATER


@pytest.mark.parametrize("answer", [LATER, None, "nonsense", ZeroDivisionError("of a user"), asyncio.CancelledError()])
def test_a_message_that_was_not_consumed_comes_again_after_ten_seconds(cluster, producer, answer):
    def first_fails(message: MessageExt) -> object:
        if message.reconsume_times:
            return SUCCESS
        if isinstance(answer, BaseException):
            raise answer
        return answer

    heard = Heard(cluster, first_fails)
    consumer_of(cluster, heard)
    send(cluster, producer, Message("T", b"x", tags="A", keys="k"))
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    first, again = heard.messages
    assert again.topic == "T", "shown under its own topic"
    assert (again.body, again.tags, again.keys, again.reconsume_times) == (b"x", "A", ("k",), 1)
    assert again.message_id == first.message_id
    assert 10 <= heard.seconds[1] - heard.seconds[0] < 11
    assert committed(cluster) in (0, 1)
    cluster.world.run_for(10_000)
    assert (committed(cluster), committed(cluster, topic="%RETRY%g")) == (1, 1)


def test_after_the_last_retry_a_message_goes_to_the_dead_letter_topic(cluster, producer):
    heard = Heard(cluster, lambda message: LATER)
    consumer_of(cluster, heard, max_reconsume_times=2)
    send(cluster, producer, "hopeless")
    cluster.world.run_for(10 * MINUTE_MS)
    assert [message.reconsume_times for message in heard.messages] == [0, 1, 2]
    assert cluster.broker.store.max_offset("%DLQ%g", 0) == 1


def test_the_listener_chooses_the_delay_of_the_next_delivery(cluster, producer):
    heard = Heard(cluster)

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        context.delay_level_when_next_consume = 1
        return SUCCESS if messages[0].reconsume_times else LATER

    consumer_of(cluster, listen)
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    assert 1 <= heard.seconds[1] - heard.seconds[0] < 2.5


def test_messages_up_to_the_acknowledged_index_are_done_and_the_others_come_again(cluster, producer):
    heard = Heard(cluster)

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        if messages[0].reconsume_times == 0:
            context.ack_index = 1
        return SUCCESS

    send(cluster, producer, "0", "1", "2", "3")
    consumer_of(cluster, listen, consume_message_batch_max_size=8)
    cluster.world.run_for(30_000)
    assert heard.bodies[:4] == ["0", "1", "2", "3"]
    assert sorted(heard.bodies[4:]) == ["2", "3"]


def test_a_message_that_cannot_be_given_back_is_sent_as_a_copy(cluster, producer):
    heard = Heard(cluster, fail_once())
    consumer_of(cluster, heard)
    cluster.world.network.faults.append(DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK))
    send(cluster, producer, Message("T", b"x", tags="A"))
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    again = heard.messages[1]
    assert (again.body, again.topic, again.tags, again.reconsume_times) == (b"x", "T", "A", 1)
    assert again.message_id == heard.messages[0].message_id
    assert heard.seconds[1] - heard.seconds[0] >= 15, "5 s without an answer, then the delay of level 3"


def test_a_copy_to_a_retry_topic_that_does_not_exist_misleads_nobody_about_its_queues(cluster, producer):
    consumer = consumer_of(cluster, Heard(cluster))
    cluster.world.run_for(2_000)
    cluster.run(consumer, consumer.instance.update_route_by_default_topic("%RETRY%g", 4))
    cluster.world.run_for(40_000)
    assert sorted(map(str, consumer.process_queues)) == ["%RETRY%g@broker-a:0", "T@broker-a:0"]


def test_a_message_that_can_leave_in_neither_way_is_consumed_again_here(cluster, producer):
    heard = Heard(cluster, fail_once())
    consumer = consumer_of(cluster, heard)
    cluster.world.network.faults += [
        DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK),
        DropsRequests("C", RequestCode.SEND_MESSAGE_V2),
    ]
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: heard.messages, 60_000)
    cluster.world.run_for(10_000)
    assert queue_of(consumer).msg_count == 1
    assert committed(cluster) < 1, "the progress waits for it"
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    assert heard.messages[1] is heard.messages[0]
    cluster.world.run_until(lambda: committed(cluster) == 1, 60_000)


def test_a_message_held_longer_than_the_consume_timeout_is_given_to_another_listener(cluster, producer):
    heard = Heard(cluster)
    release = asyncio.Event()

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        if messages[0].reconsume_times == 0 and messages[0].body == b"slow":
            await release.wait()
        return SUCCESS

    consumer_of(cluster, listen, consume_timeout_ms=MINUTE_MS)
    send(cluster, producer, "slow", "quick")
    cluster.world.run_for(30_000)
    assert committed(cluster) == 0, "the slow one holds the progress back"
    cluster.world.run_for(3 * MINUTE_MS)
    assert committed(cluster) == 2
    assert heard.bodies == ["slow", "quick", "slow"]


def test_a_queue_that_moves_while_its_message_is_consumed_has_it_consumed_twice(cluster, producer):
    first, second = Heard(cluster), Heard(cluster)

    async def slow(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await first(messages, context)
        await asyncio.sleep(30)
        return SUCCESS

    cluster.world.node("C0")  # the lower address sorts first, so the newcomer gets the only queue
    consumer_of(cluster, slow, node="C1")
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: first.messages)
    consumer_of(cluster, second, node="C0")
    cluster.world.run_until(lambda: second.messages, 5_000)
    cluster.world.run_for(MINUTE_MS)
    assert (first.bodies, second.bodies, committed(cluster)) == (["x"], ["x"], 1)


# --- flow control -----------------------------------------------------------------------------------------------------


def blocked(cluster: LabCluster, producer: DefaultMQProducer, count: int, body: bytes, **settings: Any) -> Any:
    """A consumer whose listener waits for the returned event, after a minute; and its process queue."""
    release = asyncio.Event()

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await release.wait()
        return SUCCESS

    send(cluster, producer, *(Message("T", body) for _ in range(count)))
    consumer = consumer_of(cluster, listen, **settings)
    cluster.world.run_for(MINUTE_MS)
    return release, queue_of(consumer)


def test_pulling_pauses_while_too_many_messages_wait_and_goes_on_afterwards(cluster, producer):
    release, process_queue = blocked(cluster, producer, 200, b"x", pull_threshold_for_queue=50, pull_batch_size=10)
    assert process_queue.msg_count == 60, "one batch beyond the threshold"
    release.set()
    cluster.world.run_until(lambda: committed(cluster) == 200, 60_000)


def test_pulling_pauses_while_too_many_bytes_wait(cluster, producer):
    settings = {"pull_threshold_size_for_queue_mib": 1, "pull_batch_size": 1}
    release, process_queue = blocked(cluster, producer, 40, bytes(100_000), **settings)
    assert 1 << 20 < process_queue.msg_size <= (2 << 20) + 100_000
    release.set()
    cluster.world.run_until(lambda: committed(cluster) == 40, 60_000)


def test_pulling_pauses_while_the_waiting_messages_lie_far_apart(cluster, producer):
    settings = {"consume_concurrently_max_span": 50, "pull_batch_size": 10}
    release, process_queue = blocked(cluster, producer, 200, b"x", **settings)
    assert 50 < process_queue.max_span < 60
    release.set()
    cluster.world.run_until(lambda: committed(cluster) == 200, 60_000)


def test_a_suspended_consumer_pulls_nothing_until_it_is_resumed(cluster, producer):
    heard = Heard(cluster)
    consumer = consumer_of(cluster, heard)
    cluster.world.run_for(1_000)
    consumer.suspend()
    cluster.world.run_for(20_000)
    send(cluster, producer, "while suspended")
    cluster.world.run_for(20_000)
    assert consumer.is_suspended and heard.bodies == []
    cluster.run(consumer, _resume(consumer))
    cluster.world.run_until(lambda: heard.messages, 2_000)


async def _resume(consumer: DefaultMQPushConsumer) -> None:
    consumer.resume()


def test_a_broker_that_asks_for_a_moments_rest_is_pulled_again_soon(cluster, producer):
    heard = Heard(cluster)
    refused: list[int] = []
    pull = cluster.broker.pull_message_processor.pull_message
    processors = cluster.broker.server.processors._processors

    def refuse_at_first(channel: Any, request: Any) -> Any:
        if len(refused) < 5 and request.ext_fields["topic"] == "T":
            refused.append(cluster.world.loop.now_us)
            return request.reply(215, "flow control")
        return pull(channel, request)

    processors[RequestCode.PULL_MESSAGE] = refuse_at_first
    send(cluster, producer, "x")
    consumer_of(cluster, heard)
    cluster.world.run_until(lambda: heard.messages, 1_000)
    assert all(20_000 <= later - earlier < 30_000 for earlier, later in itertools.pairwise(refused))


def test_a_pull_interval_spaces_the_pulls_of_a_queue(cluster, producer):
    heard = Heard(cluster)
    send(cluster, producer, *(str(number) for number in range(5)))
    consumer_of(cluster, heard, pull_interval_ms=1_000, pull_batch_size=1)
    cluster.world.run_until(lambda: len(heard.messages) == 5, 10_000)
    assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(heard.seconds))


# --- offsets ----------------------------------------------------------------------------------------------------------


def test_progress_reaches_the_broker_within_five_seconds(cluster, producer):
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(20_000)
    send(cluster, producer, "x")
    cluster.world.run_for(5_100)
    assert committed(cluster) == 1


def test_a_group_goes_on_where_it_stopped(cluster, producer):
    first, second = Heard(cluster), Heard(cluster)
    consumer = consumer_of(cluster, first)
    send(cluster, producer, "a", "b")
    cluster.world.run_until(lambda: len(first.messages) == 2)
    cluster.stop(consumer)
    send(cluster, producer, "c")
    consumer_of(cluster, second, node="C2")
    cluster.world.run_for(30_000)
    assert second.bodies == ["c"]


def test_a_crashed_member_leaves_its_queue_and_the_unstored_progress_to_the_next(cluster, producer):
    first, second = Heard(cluster), Heard(cluster)
    consumer_of(cluster, first)
    cluster.world.run_for(20_000)
    send(cluster, producer, "a")
    cluster.world.run_until(lambda: first.messages)
    cluster.world.crash("C")
    consumer_of(cluster, second, node="C2")
    cluster.world.run_until(lambda: second.messages, 30_000)
    assert second.bodies == ["a"], "consumed twice: at least once, not exactly once"


def test_an_offset_beyond_the_end_is_corrected_after_ten_seconds(cluster, producer):
    send(cluster, producer, "a", "b", "c")
    cluster.broker.consumer_offset_manager.commit_offset("test", "g", "T", 0, 1_000)
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(5_000)
    send(cluster, producer, "d")
    cluster.world.run_for(5_000)
    assert heard.bodies == []
    cluster.world.run_for(10_000)
    send(cluster, producer, "e")
    cluster.world.run_until(lambda: heard.messages, 30_000)
    assert heard.bodies in (["e"], ["d"]), "it begins anew at the end that the queue had"


# --- life -------------------------------------------------------------------------------------------------------------


def test_a_shutdown_waits_for_running_listeners_and_stores_what_they_did(cluster, producer):
    done: list[bytes] = []

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await asyncio.sleep(2)
        done.extend(message.body for message in messages)
        return SUCCESS

    consumer = consumer_of(cluster, listen)
    send(cluster, producer, "slow")
    cluster.world.run_for(1_000)
    cluster.stop(consumer)
    assert done == [b"slow"]
    cluster.world.run_for(100)
    assert committed(cluster) == 1
    assert cluster.broker.consumer_manager.get_consumer_group_info("g") is None
    assert cluster.broker.producer_manager.clients_of_group("CLIENT_INNER_PRODUCER") == []


def test_a_shutdown_gives_up_on_a_listener_that_never_ends(cluster, producer):
    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await asyncio.sleep(3_600)
        return SUCCESS

    consumer = consumer_of(cluster, listen, await_termination_when_shutdown_ms=3_000)
    send(cluster, producer, "stuck")
    cluster.world.run_for(1_000)
    before = cluster.world.loop.now_us
    cluster.stop(consumer)
    assert 3_000_000 <= cluster.world.loop.now_us - before < 3_100_000
    assert committed(cluster) < 1, "it will be delivered again"


def test_after_a_shutdown_nothing_of_the_consumer_runs(cluster, producer):
    consumer = consumer_of(cluster, Heard(cluster))
    cluster.world.run_for(1_000)
    cluster.stop(consumer)
    cluster.world.run_for(1_000)
    tasks = cluster.world.node("C").node.tasks
    assert [task.get_name() for task in tasks if not task.done()] == []


def test_a_consumer_needs_a_listener_and_starts_once(cluster):
    consumer = cluster.push_consumer("C", "g")
    consumer.subscribe("T")
    with pytest.raises(ValueError, match="no listener: call register_message_listener"):
        cluster.start(consumer)
    consumer.register_message_listener(Heard(cluster))
    cluster.start(consumer)
    with pytest.raises(Exception, match="consumer group g is RUNNING"):
        cluster.start(consumer)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"group": "a b"}, "illegal character"),
        ({"group": "DEFAULT_CONSUMER"}, "choose a name of your own"),
        ({"pull_batch_size": 0}, "pull_batch_size must be 1 to 1024, got 0"),
        ({"consume_message_batch_max_size": 5_000}, "1 to 1024, got 5000"),
        ({"pull_threshold": 7}, "did you mean pull_threshold_for_queue"),
        ({"name_server_addresses": "nowhere"}, "expected host:port"),
    ],
)
def test_a_setting_that_is_not_allowed_is_named(cluster, settings, complaint):
    arguments: dict[str, Any] = {"group": "g", "name_server_addresses": "a:1"} | settings
    with pytest.raises(ValueError, match=complaint):
        DefaultMQPushConsumer(cluster.world.node("C"), **arguments)


def test_an_expression_that_no_broker_takes_ends_the_start_and_leaves_nothing_running(cluster, producer):
    consumer = cluster.push_consumer("C", "g")
    consumer.subscribe("T", "a > 1", ExpressionType.SQL92)
    consumer.register_message_listener(Heard(cluster))
    with pytest.raises(MQBrokerError, match="refused to accept the subscription 'a > 1' to 'T'"):
        cluster.start(consumer)
    cluster.world.run_for(1_000)
    assert [task.get_name() for task in cluster.world.node("C").node.tasks if not task.done()] == []


def test_a_subscription_that_cannot_be_is_refused(cluster):
    consumer = cluster.push_consumer("C", "g")
    with pytest.raises(ValueError, match="illegal character"):
        consumer.subscribe("a b")
    with pytest.raises(ValueError, match="names no tag"):
        consumer.subscribe("T", " || ")


def test_a_subscription_may_change_while_the_consumer_runs(cluster, producer):
    heard = Heard(cluster)
    consumer = consumer_of(cluster, heard, expression="old")
    cluster.world.run_for(2_000)
    cluster.run(producer, producer.create_topic("Second", queue_nums=1))

    async def change() -> None:
        consumer.subscribe("Second")
        consumer.unsubscribe("T")

    cluster.run(consumer, change())
    cluster.world.run_for(2_000)
    send(cluster, producer, Message("Second", b"yes"), Message("T", b"no", tags="old"))
    cluster.world.run_for(2_000)
    assert heard.bodies == ["yes"]
    assert MessageQueue("T", "broker-a", 0) not in consumer.process_queues


def test_a_restarted_broker_gets_its_consumers_back_within_seconds(cluster, producer):
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(60_000)
    cluster.restart_broker("broker-a")
    cluster.world.run_for(4_000)
    send(cluster, producer, "after the restart")
    cluster.world.run_until(lambda: heard.messages, 2_000)


def test_a_queue_that_was_not_pulled_for_two_minutes_is_taken_over_anew(cluster, producer):
    heard = Heard(cluster)
    consumer = consumer_of(cluster, heard)
    cluster.world.run_for(1_000)
    lost = queue_of(consumer)
    lost.last_pull_timestamp -= 121_000
    cluster.run(consumer, _resume(consumer))  # rebalances
    cluster.world.run_for(100)
    assert lost.dropped
    assert queue_of(consumer) is not lost
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: heard.messages, 1_000)


# --- broadcasting -----------------------------------------------------------------------------------------------------


def broadcaster(cluster: LabCluster, heard: Heard, node: str) -> DefaultMQPushConsumer:
    return consumer_of(cluster, heard, node=node, message_model=MessageModel.BROADCASTING)


def test_every_member_of_a_broadcasting_group_gets_every_message(cluster, producer):
    one, two = Heard(cluster), Heard(cluster)
    broadcaster(cluster, one, "C1")
    broadcaster(cluster, two, "C2")
    cluster.world.run_for(1_000)
    send(cluster, producer, "a", "b")
    cluster.world.run_for(1_000)
    assert sorted(one.bodies) == sorted(two.bodies) == ["a", "b"]
    assert committed(cluster) < 0, "the broker keeps no progress of a broadcasting group"


def test_a_broadcasting_member_keeps_its_progress_in_a_file(cluster, producer):
    heard = Heard(cluster)
    consumer = broadcaster(cluster, heard, "C1")
    send(cluster, producer, "a", "b")
    cluster.world.run_until(lambda: len(heard.messages) == 2)
    cluster.stop(consumer)
    send(cluster, producer, "c")
    again = Heard(cluster)
    broadcaster(cluster, again, "C1")
    cluster.world.run_for(5_000)
    assert again.bodies == ["c"]


def test_a_failed_broadcast_message_is_not_delivered_again(cluster, producer):
    heard = Heard(cluster, lambda message: LATER)
    broadcaster(cluster, heard, "C1")
    send(cluster, producer, "a")
    cluster.world.run_for(MINUTE_MS)
    assert heard.bodies == ["a"]
