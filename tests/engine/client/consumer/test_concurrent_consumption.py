"""A concurrent listener, in the lab: what it may say besides its status, how many calls run at a time, broadcasting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MessageModel,
)
from engine.client.consumer import consume_message_concurrently_service
from engine.client.consumer.consumer_running_info import consumer_running_info
from engine.client.foundation.errors import IllegalClientArgument
from engine.client.queues.consumer_config import MINUTE_MS, PushConsumerConfig
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.names import dlq_topic, retry_topic
from engine.protocol.request_code import RequestCode
from tests.engine.client.push_consumer_world import FROM_FIRST, LATER, SUCCESS, Heard, committed, consumer_of, send
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.lab_faults import DropsRequests

RETRY, DEAD = retry_topic("g"), dlq_topic("g")


def stored(cluster: LabCluster, topic: str) -> int:
    return cluster.broker.store.max_offset(topic, 0)


def saying(heard: Heard, say: Callable[[ConsumeConcurrentlyContext], object], status: object = SUCCESS) -> Any:
    """A listener that says something in the context of every first delivery."""

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        if messages[0].reconsume_times == 0:
            say(context)
            return status
        return SUCCESS

    return listen


# --- part of a batch ------------------------------------------------------------------------------------------------


def _acknowledge(index: object) -> Callable[[ConsumeConcurrentlyContext], None]:
    def say(context: ConsumeConcurrentlyContext) -> None:
        context.ack_index = index  # type: ignore[assignment]  # wrong ones are the point

    return say


@pytest.mark.parametrize(
    ("index", "again"),
    [
        (0, ["1", "2"]),
        (1, ["2"]),
        (2, []),
        (3, []),
        (0x7FFF_FFFF, []),
        (-1, ["0", "1", "2"]),
        # The listener fails where it sets one of these: RocketMQ's would lose the call without a word.
        (-2, ["0", "1", "2"]),
        (1 << 31, ["0", "1", "2"]),
        ("1", ["0", "1", "2"]),
        (None, ["0", "1", "2"]),
        (True, ["0", "1", "2"]),
    ],
)
def test_what_lies_behind_the_acknowledged_index_comes_again(cluster, producer, index, again):
    heard = Heard(cluster)
    send(cluster, producer, "0", "1", "2")
    consumer = consumer_of(cluster, saying(heard, _acknowledge(index)), consume_message_batch_max_size=8)
    cluster.world.run_for(30_000)
    assert heard.bodies[:3] == ["0", "1", "2"]
    assert sorted(heard.bodies[3:]) == again
    assert committed(cluster) == 3
    statistics = consumer._impl.stats.of_topic("T")
    assert (statistics.consumed_messages, statistics.failed_messages) == (3 - len(again), len(again))


def test_with_reconsume_later_the_acknowledged_index_says_nothing(cluster, producer):
    heard = Heard(cluster)
    send(cluster, producer, "0", "1", "2")
    consumer_of(cluster, saying(heard, _acknowledge(1), LATER), consume_message_batch_max_size=8)
    cluster.world.run_for(30_000)
    assert sorted(heard.bodies[3:]) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("wrong", "error"), [("3", TypeError), (None, TypeError), (-2, ValueError), (1 << 31, ValueError)]
)
def test_a_context_refuses_a_delay_level_that_cannot_be_one_and_names_what_is_allowed(wrong, error):
    context = ConsumeConcurrentlyContext(MessageQueue("T", "b", 0))
    with pytest.raises(error, match="delay_level_when_next_consume is "):
        context.delay_level_when_next_consume = wrong
    assert context.delay_level_when_next_consume == 0


# --- at once to the dead letters --------------------------------------------------------------------------------------


def _never_again(context: ConsumeConcurrentlyContext) -> None:
    context.delay_level_when_next_consume = -1


def test_a_negative_delay_level_makes_a_dead_letter_at_once(cluster, producer):
    heard = Heard(cluster)
    consumer_of(cluster, saying(heard, _never_again, LATER))
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: stored(cluster, DEAD), 5_000)
    cluster.world.run_for(5 * MINUTE_MS)
    assert heard.bodies == ["x"]
    assert (committed(cluster), stored(cluster, RETRY)) == (1, 0)


def test_when_such_a_send_back_is_lost_the_copy_is_an_ordinary_retry(cluster, producer):
    """The copy takes level 3 + retries whatever the listener requested, as in RocketMQ: nothing is lost."""
    heard = Heard(cluster)
    consumer_of(cluster, saying(heard, _never_again, LATER))
    cluster.world.network.faults.append(DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK))
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    assert heard.messages[1].reconsume_times == 1
    assert stored(cluster, DEAD) == 0


def test_a_dead_letter_can_be_consumed_by_whoever_subscribes_to_its_topic(cluster, producer):
    """4.9.8 makes the topic readable and writable; older brokers gave it the permission to write only."""
    consumer_of(cluster, saying(Heard(cluster), _never_again, LATER))
    send(cluster, producer, Message("T", b"x", tags="A", keys="k"))
    cluster.world.run_until(lambda: stored(cluster, DEAD), 5_000)
    heard = Heard(cluster)
    reader = cluster.push_consumer("C2", "undertakers", consume_from_where=FROM_FIRST)
    reader.subscribe(DEAD)
    reader.register_message_listener(heard)
    cluster.start(reader)
    cluster.world.run_until(lambda: heard.messages, 30_000)
    (letter,) = heard.messages
    assert (letter.topic, letter.body, letter.tags, letter.keys) == (DEAD, b"x", "A", ("k",))
    assert (letter.properties["RETRY_TOPIC"], letter.reconsume_times) == ("T", 1)


# --- who sets the maximum ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("of_client", "of_group", "retries"), [(2, 16, 2), (2, 0, 2), (-1, 1, 3), (0, 16, 0)])
def test_the_client_s_maximum_counts_and_not_the_group_s(cluster, producer, of_client, of_group, retries):
    config = SubscriptionGroupConfig("g", retry_max_times=of_group)
    cluster.world.run(
        cluster.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a"
    )
    heard = Heard(cluster, lambda message: LATER)
    consumer_of(cluster, heard, max_reconsume_times=of_client)
    send(cluster, producer, "hopeless")
    cluster.world.run_for(2 * MINUTE_MS)
    assert len(heard.messages) == 1 + retries
    assert stored(cluster, DEAD) == (1 if of_client >= 0 else 0), "-1 means 16, which takes hours"


# --- broadcasting -----------------------------------------------------------------------------------------------------


def broadcasting(cluster: LabCluster, listener: Any, node: str, **settings: Any) -> list[str]:
    """A member; the bodies of the messages that it drops."""
    dropped: list[str] = []
    consumer = cluster.push_consumer(
        node, "g", message_model=MessageModel.BROADCASTING, consume_from_where=FROM_FIRST, **settings
    )
    consumer.subscribe("T")
    consumer.register_message_listener(listener)
    consumer.register_drop_listener(lambda queue, message: dropped.append(f"{queue.topic} {message.body.decode()}"))
    cluster.start(consumer)
    return dropped


def test_a_broadcast_message_that_fails_is_dropped_by_that_member_alone(cluster, producer):
    good, bad = Heard(cluster), Heard(cluster, lambda message: LATER if message.body == b"1" else SUCCESS)
    nothing, dropped = broadcasting(cluster, good, "C1"), broadcasting(cluster, bad, "C2")
    send(cluster, producer, "0", "1", "2")
    cluster.world.run_for(2 * MINUTE_MS)
    assert sorted(good.bodies) == sorted(bad.bodies) == ["0", "1", "2"]
    assert (nothing, dropped) == ([], ["T 1"])
    assert stored(cluster, RETRY) == 0


def test_of_a_broadcast_batch_only_what_is_not_acknowledged_is_dropped(cluster, producer):
    send(cluster, producer, "0", "1", "2")
    listener = saying(Heard(cluster), _acknowledge(0))
    dropped = broadcasting(cluster, listener, "C1", consume_message_batch_max_size=8)
    cluster.world.run_until(lambda: dropped, 10_000)
    assert dropped == ["T 1", "T 2"]


def test_a_drop_listener_that_fails_stops_nothing(cluster, producer):
    heard = Heard(cluster, lambda message: LATER)
    consumer = cluster.push_consumer("C", "g", message_model=MessageModel.BROADCASTING, consume_from_where=FROM_FIRST)
    consumer.subscribe("T")
    consumer.register_message_listener(heard)
    consumer.register_drop_listener(lambda queue, message: 1 / 0)
    cluster.start(consumer)
    send(cluster, producer, "0", "1")
    cluster.world.run_until(lambda: len(heard.messages) == 2, 10_000)


def test_a_broadcast_message_that_takes_too_long_goes_where_no_member_looks(cluster, producer):
    """RocketMQ's scan does not ask for the model."""

    async def never(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        return await asyncio.get_running_loop().create_future()

    broadcasting(cluster, never, "C1", consume_timeout_ms=MINUTE_MS)
    send(cluster, producer, "x")
    cluster.world.run_for(3 * MINUTE_MS)
    assert stored(cluster, RETRY) == 1


# --- consume timeout --------------------------------------------------------------------------------------------------


def hanging(release: asyncio.Event, heard: Heard) -> Any:
    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        if messages[0].reconsume_times == 0:
            await release.wait()
        return SUCCESS

    return listen


def test_what_only_waits_for_a_worker_is_not_too_late(cluster: LabCluster, producer: DefaultMQProducer):
    heard = Heard(cluster)
    settings: dict[str, Any] = {"consume_thread_min": 1, "consume_thread_max": 1, "consume_timeout_ms": MINUTE_MS}
    consumer_of(cluster, hanging(asyncio.Event(), heard), **settings)
    send(cluster, producer, "0", "1", "2")
    cluster.world.run_for(10 * MINUTE_MS)
    assert heard.bodies == ["0"], "the only worker hangs"
    assert stored(cluster, RETRY) == 1, "1 and 2 were never begun"
    assert committed(cluster) <= 1


def test_a_listener_that_ends_after_all_changes_nothing_more(cluster: LabCluster, producer: DefaultMQProducer):
    heard, release = Heard(cluster), asyncio.Event()
    consumer_of(cluster, hanging(release, heard), consume_timeout_ms=MINUTE_MS)
    send(cluster, producer, "slow", "slow too")
    cluster.world.run_until(lambda: len(heard.messages) == 4, 5 * MINUTE_MS)
    release.set()
    cluster.world.run_for(MINUTE_MS)
    assert sorted(heard.bodies) == ["slow", "slow", "slow too", "slow too"]
    assert (committed(cluster), committed(cluster, topic=RETRY)) == (2, 2)


def failing_late(release: asyncio.Event, heard: Heard) -> Any:
    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        if messages[0].reconsume_times:
            return SUCCESS
        await release.wait()
        return LATER

    return listen


def test_a_listener_that_fails_after_the_time_out_gives_nothing_back_a_second_time(
    cluster: LabCluster, producer: DefaultMQProducer
):
    heard, release = Heard(cluster), asyncio.Event()
    consumer_of(cluster, failing_late(release, heard), consume_timeout_ms=MINUTE_MS)
    send(cluster, producer, "slow")
    cluster.world.run_until(lambda: len(heard.messages) == 2, 5 * MINUTE_MS)
    release.set()
    cluster.world.run_for(5 * MINUTE_MS)
    assert heard.bodies == ["slow", "slow"]
    assert stored(cluster, RETRY) == 1


def test_a_listener_that_fails_while_its_message_is_being_given_back_waits_how_that_ends(
    cluster: LabCluster, producer: DefaultMQProducer
):
    heard, release = Heard(cluster), asyncio.Event()
    consumer_of(cluster, failing_late(release, heard), consume_timeout_ms=MINUTE_MS)
    send(cluster, producer, "slow")
    fault = DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK)
    cluster.world.network.faults.append(fault)
    # What the cleaner sends is lost: it waits for an answer, and then sends a copy.
    cluster.world.run_until(lambda: fault.dropped > 0, 5 * MINUTE_MS)
    release.set()
    cluster.world.run_for(5 * MINUTE_MS)
    assert heard.bodies == ["slow", "slow"]
    assert stored(cluster, RETRY) == 1


def test_what_is_too_late_and_cannot_be_given_back_stays_until_it_can(cluster: LabCluster, producer: DefaultMQProducer):
    heard = Heard(cluster)
    consumer_of(cluster, hanging(asyncio.Event(), heard), consume_timeout_ms=MINUTE_MS)
    send(cluster, producer, "slow")
    faults = [DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK), DropsRequests("C", RequestCode.SEND_MESSAGE_V2)]
    cluster.world.network.faults += faults
    cluster.world.run_for(3 * MINUTE_MS)
    assert committed(cluster) < 1
    for fault in faults:
        cluster.world.network.faults.remove(fault)
    cluster.world.run_until(lambda: len(heard.messages) == 2, 3 * MINUTE_MS)
    cluster.world.run_until(lambda: committed(cluster) == 1, MINUTE_MS)


# --- what the progress may not do -------------------------------------------------------------------------------------


def holding_the_first(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, list[str]]:
    """The first worker waits for the event before it notes its progress; the list says that it does."""
    release, held = asyncio.Event(), list[str]()

    async def hold(label: str) -> None:
        if label == "updates the offset" and not held:
            held.append(label)
            await release.wait()

    monkeypatch.setattr(consume_message_concurrently_service, "step", hold)
    return release, held


def test_a_worker_whose_queue_was_taken_away_meanwhile_notes_no_progress(cluster, producer, monkeypatch):
    release, held = holding_the_first(monkeypatch)
    cluster.world.node("C1")  # made first, it has the smaller address: it comes first when queues are divided
    first, queue = consumer_of(cluster, Heard(cluster), "C2"), MessageQueue("T", "broker-a", 0)
    send(cluster, producer, "0")
    cluster.world.run_until(lambda: held, 10_000)
    consumer_of(cluster, Heard(cluster), "C1")
    cluster.world.run_until(lambda: queue not in first.process_queues, 30_000)
    release.set()
    cluster.world.run_for(20)  # the next round of persisting would hide it
    assert first.offset_store.offset_in_memory(queue) is None


def test_a_worker_that_was_overtaken_by_another_does_not_take_the_progress_back(cluster, producer, monkeypatch):
    release, held = holding_the_first(monkeypatch)
    consumer = consumer_of(cluster, Heard(cluster))
    send(cluster, producer, "0")
    cluster.world.run_until(lambda: held, 10_000)
    send(cluster, producer, "1", "2")
    cluster.world.run_until(lambda: committed(cluster) == 3, MINUTE_MS)
    release.set()
    cluster.world.run_for(20)  # the next pull that finds nothing would hide it
    assert consumer.offset_store.offset_in_memory(MessageQueue("T", "broker-a", 0)) == 3


# --- how many calls at a time -----------------------------------------------------------------------------------------


class Busy:
    """A listener that takes a second and counts how many calls of it run."""

    def __init__(self) -> None:
        self.running = self.most = 0

    async def __call__(self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(1)
        self.running -= 1
        return SUCCESS


def resized(cluster: LabCluster, consumer: DefaultMQPushConsumer, count: int) -> bool:
    async def resize() -> bool:
        return consumer.update_core_pool_size(count)

    return cluster.run(consumer, resize())


def test_the_pool_never_grows_beyond_its_core_however_great_its_maximum_is(cluster, producer):
    busy = Busy()
    consumer = consumer_of(cluster, busy, consume_thread_min=3, consume_thread_max=60)
    send(cluster, producer, *(str(number) for number in range(30)))
    cluster.world.run_until(lambda: committed(cluster) == 30, MINUTE_MS)
    assert busy.most == 3
    info = consumer_running_info(consumer._impl, consumer.config, consumer.instance.config, 0)
    assert b'"PROP_THREADPOOL_CORE_SIZE":"3"' in info


def test_more_workers_begin_at_once_and_fewer_finish_what_they_have(cluster, producer):
    busy = Busy()
    consumer = consumer_of(cluster, busy, consume_thread_min=1, consume_thread_max=64)
    send(cluster, producer, *(str(number) for number in range(60)))
    cluster.world.run_until(lambda: busy.running == 1, 10_000)
    assert resized(cluster, consumer, 5)
    cluster.world.run_for(1_500)
    assert (busy.running, consumer.consume_service.core_pool_size) == (5, 5)
    assert resized(cluster, consumer, 2)
    cluster.world.run_for(2_500)
    assert busy.running == 2
    cluster.world.run_until(lambda: committed(cluster) == 60, MINUTE_MS)
    assert busy.most == 5


def test_idle_workers_leave_too(cluster, producer):
    busy = Busy()
    consumer = consumer_of(cluster, busy, consume_thread_min=20, consume_thread_max=40)
    cluster.world.run_for(5_000)
    assert resized(cluster, consumer, 2)
    cluster.world.run_for(1_000)
    send(cluster, producer, *(str(number) for number in range(10)))
    cluster.world.run_until(lambda: committed(cluster) == 10, MINUTE_MS)
    assert busy.most == 2
    assert resized(cluster, consumer, 4)
    send(cluster, producer, *(str(number) for number in range(10)))
    cluster.world.run_until(lambda: committed(cluster) == 20, MINUTE_MS)
    assert busy.most == 4


@pytest.mark.parametrize("count", [0, -1, 20, 21, 1 << 15])
def test_a_pool_size_outside_of_the_bounds_changes_nothing(cluster, producer, count):
    """RocketMQ wants less than ``consumeThreadMax``, 20 unless set."""
    consumer = consumer_of(cluster, Heard(cluster))
    assert not resized(cluster, consumer, count)
    assert consumer.consume_service.core_pool_size == 20


def test_a_pool_has_no_size_before_the_start(cluster):
    with pytest.raises(IllegalClientArgument, match="running consumer"):
        cluster.push_consumer("C", "g").update_core_pool_size(3)


def test_more_workers_at_least_than_at_most_are_refused_with_both_numbers():
    with pytest.raises(
        IllegalClientArgument, match=r"consume_thread_min \(20\) is larger than consume_thread_max \(4\)"
    ):
        PushConsumerConfig(consume_thread_max=4)
