"""RocketMQ's property names are not for senders, and what only this client may write is not read off the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import (
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    TransactionMQProducer,
)
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.client.foundation.errors import IllegalClientArgument
from engine.protocol.errors import ReservedProperty
from engine.protocol.message.message_properties import PRODUCER_PROPERTIES, RESERVED_PROPERTIES
from tests.engine.client.push_consumer_world import committed
from tests.support.lab.foreign_sender import send_unchecked
from tests.support.lab.lab_cluster import LabCluster

#: ``MessageConst.STRING_HASH_SET`` of RocketMQ 4.9.8.
STRING_HASH_SET = frozenset(
    (
        *("TRACE_ON", "MSG_REGION", "KEYS", "TAGS", "WAIT", "DELAY", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID"),
        *("TRAN_MSG", "PGROUP", "MIN_OFFSET", "MAX_OFFSET", "BUYER_ID", "ORIGIN_MESSAGE_ID", "TRANSFER_FLAG"),
        *("CORRECTION_FLAG", "MQ2_FLAG", "RECONSUME_TIME", "UNIQ_KEY", "MAX_RECONSUME_TIMES", "CONSUME_START_TIME"),
        *("INSTANCE_ID", "CORRELATION_ID", "REPLY_TO_CLIENT", "TTL", "ARRIVE_TIME", "PUSH_REPLY_TIME", "CLUSTER"),
        *("MSG_TYPE", "INNER_MULTI_QUEUE_OFFSET"),
    )
)
SUCCESS = ConsumeConcurrentlyStatus.CONSUME_SUCCESS


def test_what_rocketmq_reserves_is_reserved_and_what_it_leaves_to_users_is_not():
    assert {"TRAN_PREPARED_QUEUE_OFFSET", "TRANSACTION_CHECK_TIMES"} == RESERVED_PROPERTIES - STRING_HASH_SET
    assert STRING_HASH_SET <= RESERVED_PROPERTIES
    users = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "60", "INNER_MULTI_DISPATCH": "a,b", "keys": "mine", "a": "1"}
    assert Message("T", b"x", properties=users).properties == users


@pytest.mark.parametrize("name", sorted(RESERVED_PROPERTIES))
def test_no_message_is_made_with_a_property_of_rocketmqs(name):
    with pytest.raises(
        ReservedProperty, match=f"may not be named {name}: RocketMQ uses these itself; .*user_properties"
    ):
        Message("T", b"x", properties={"mine": "1", name: "1"})


@pytest.mark.parametrize(("name", "parameter"), [("TAGS", "tags"), ("KEYS", "keys"), ("WAIT", "wait_store_msg_ok")])
def test_the_refusal_names_the_parameter_that_sets_it(name, parameter):
    with pytest.raises(ValueError, match=f"{name} is set by the parameter {parameter}"):
        Message("T", b"x", properties={name: "false"})


@given(st.dictionaries(st.sampled_from([*sorted(RESERVED_PROPERTIES), "a", "b"]), st.just("1")))
def test_the_user_properties_of_any_message_can_be_sent_again(properties):
    received = Message("T", b"x")
    received.properties.update(properties)
    again = Message("T", b"x", properties=received.user_properties)
    assert again.properties == {name: value for name, value in properties.items() if name in ("a", "b")}


class _Commit:
    def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        return LocalTransactionState.COMMIT_MESSAGE

    def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        return LocalTransactionState.COMMIT_MESSAGE


@pytest.fixture
def producer(cluster: LabCluster) -> TransactionMQProducer:
    made = TransactionMQProducer(cluster.world.node("P"), "producers", cluster.name_server_address, _Commit())
    cluster.start(made)
    cluster.run(made, made.create_topic("T", queue_nums=1))
    return made


@pytest.fixture
def cluster():
    with LabCluster(seed=4) as made:
        yield made


def ways_to_send(producer: TransactionMQProducer) -> list:
    async def send_async(message: Message) -> None:
        await producer.send_async(message, lambda result, error: None)

    async def request(message: Message) -> None:
        await producer.request(message, timeout_ms=10)

    return [
        producer.send,
        producer.send_oneway,
        send_async,
        request,
        lambda message: producer.send_batch([Message("T", b"y"), message]),
        producer.send_message_in_transaction,
    ]


def test_no_way_of_sending_takes_a_name_that_was_written_into_the_properties(cluster, producer):
    for name in sorted(RESERVED_PROPERTIES - PRODUCER_PROPERTIES - {"TRAN_MSG", "PGROUP"}):
        for send in ways_to_send(producer):
            message = Message("T", b"x")
            message.properties[name] = "0"
            with pytest.raises(IllegalClientArgument, match=f"property {name} is reserved by RocketMQ"):
                cluster.run(producer, send(message))
    assert cluster.broker.store.max_offset("T", 0) == 0


def test_a_message_may_be_sent_again_but_not_a_half_message_as_a_whole_one(cluster, producer):
    message = Message("T", b"x", tags="a", keys="k", wait_store_msg_ok=False)
    cluster.run(producer, producer.send(message))
    cluster.run(producer, producer.send(message))
    cluster.run(producer, producer.send_message_in_transaction(message))
    cluster.run(producer, producer.send_message_in_transaction(message))
    with pytest.raises(IllegalClientArgument, match="property TRAN_MSG is reserved by RocketMQ"):
        cluster.run(producer, producer.send(message))


@pytest.mark.parametrize("forged", ["0", "1", "abc", "9" * 400, "-1"])
def test_a_forged_start_of_consumption_makes_no_waiting_message_expired(cluster, producer, forged):
    heard: list[bytes] = []

    async def listen(messages: Sequence[MessageExt], context: object) -> ConsumeConcurrentlyStatus:
        heard.extend(message.body for message in messages)
        # In the cleaner's rounds the first messages of other queues wait for the worker.
        await asyncio.sleep(100)
        return SUCCESS

    consumer = DefaultMQPushConsumer(
        cluster.world.node("C"),
        "g",
        cluster.name_server_address,
        consume_timeout_ms=180_000,
        consume_thread_min=1,
        consume_thread_max=1,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    )
    consumer.subscribe("T")
    consumer.register_message_listener(listen)
    cluster.run(producer, producer.create_topic("T", queue_nums=4))
    bodies = [b"first", b"second", b"third", b"fourth"]
    for body in bodies:
        cluster.run(producer, send_unchecked(producer, Message("T", body), CONSUME_START_TIME=forged))
    cluster.start(consumer)
    cluster.world.run_for(900_000)
    assert sorted(heard) == sorted(bodies)
    cluster.stop(consumer)
    assert sum(committed(cluster, queue_id=number) for number in range(4)) == 4
