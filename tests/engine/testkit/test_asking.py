"""What a test may ask the broker, wait for and assert, and what a failure shows."""

import asyncio
import re
import threading

import pytest

from engine.client import (
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyStatus,
    DefaultMQProducer,
    LocalTransactionState,
    Message,
)
from engine.testkit import TestKitError
from tests.support.live.kit_clients import Listener, consuming, send, transactional

LATER = ConsumeConcurrentlyStatus.RECONSUME_LATER
DONE = ConsumeConcurrentlyStatus.CONSUME_SUCCESS


async def consume(messages, context):
    return DONE


def order(key, body=b"10", tag="paid", topic="orders", **more):
    return Message(topic, body, tags=tag, keys=key, **more)


def text_of(failure):
    return str(failure.value)


# --- messages ---------------------------------------------------------------------------------------------------------


def test_messages_come_in_the_order_of_the_broker_and_decompressed(glassmq):
    large = b"x" * 10_000  # the client compresses it
    send(glassmq, *(order(str(number)) for number in range(9)), order("large", large))
    messages = glassmq.messages("orders")
    assert [message.keys[0] for message in messages] == [*map(str, range(9)), "large"]
    assert messages[-1].body == large
    assert messages[0].tags == "paid"


def test_a_topic_that_does_not_exist_has_no_messages(glassmq):
    assert glassmq.messages("nothing") == []


def test_waiting_ends_with_the_message(glassmq):
    sending = threading.Thread(target=send, args=(glassmq, order("1"), order("2")))
    sending.start()
    assert [message.keys for message in glassmq.wait_for("orders", 1, key="2")] == [("2",)]
    sending.join()


def test_waiting_in_vain_shows_what_is_there(glassmq):
    send(glassmq, order("1"))
    with pytest.raises(AssertionError) as failure:
        glassmq.wait_for("orders", 2, timeout=0.05)
    assert "orders does not have at least 2, but 1 after 0.05 s" in text_of(failure)
    assert "paid" in text_of(failure)


def test_a_wait_in_a_coroutine_is_refused_and_works_in_a_thread(glassmq):
    async def work():
        with pytest.raises(TestKitError, match=r"await asyncio\.to_thread\(glassmq\.wait_for"):
            glassmq.wait_for("orders")
        waiting = asyncio.create_task(asyncio.to_thread(glassmq.wait_for, "orders"))
        await asyncio.to_thread(send, glassmq, order("1"))
        return await waiting

    assert len(asyncio.run(work())) == 1


def test_what_was_sent_is_found_by_each_of_its_parts(glassmq):
    send(glassmq, order("1", properties={"tenant": "acme"}))
    parts = {"key": "1", "tag": "paid", "body": "10", "properties": {"tenant": "acme"}}
    for name, value in parts.items():
        assert len(glassmq.assert_sent("orders", **{name: value})) == 1
    assert len(glassmq.assert_sent("orders", **parts, count=1)) == 1
    with pytest.raises(AssertionError, match="exactly 2"):
        glassmq.assert_sent("orders", count=2)


def test_a_missing_message_shows_the_same_key_in_another_topic_and_the_same_body_with_another_tag(glassmq):
    send(glassmq, order("17", b"5"), order("18", b"10", tag="open"), order("17", b"7", topic="refunds"), order("19"))
    with pytest.raises(AssertionError) as failure:
        glassmq.assert_sent("orders", key="17", body="10")
    text = text_of(failure)
    assert "orders does not have a message with key '17', body b'10', but 0" in text
    assert "same key, but another body" in text
    assert "same body, but key 18" in text
    with pytest.raises(AssertionError) as failure:
        glassmq.assert_sent("refunds", body="10", tag="open")
    assert "same tag and body, but topic orders" in text_of(failure)


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"key": 17}, "key=17 is not a text; write key='17'"),
        ({"tag": b"paid"}, "tag=b'paid' is not a text"),
        ({"body": 10}, "write body='10'"),
        ({"properties": {"shop": 1}}, "write shop='1'"),
    ],
)
def test_a_selection_that_no_message_can_meet_is_refused(glassmq, selection, said):
    with pytest.raises(TestKitError, match=re.escape(said)):
        glassmq.assert_sent("orders", **selection)


def test_an_empty_topic_shows_where_messages_are(glassmq):
    send(glassmq, order("1"), order("2"))
    with pytest.raises(AssertionError, match=r"order has no message; messages are in:\n.*\n  orders +2"):
        glassmq.assert_sent("order", key="none")
    glassmq.reset()
    with pytest.raises(AssertionError, match=f"no topic has any, and no client .* {glassmq.name_server_address}"):
        glassmq.assert_sent("orders")


def test_a_table_of_many_messages_is_cut_and_unprintable_bodies_are_shown(glassmq):
    send(glassmq, *(order(str(number), b"\x00\xff" * 40) for number in range(25)))
    with pytest.raises(AssertionError) as failure:
        glassmq.assert_sent("orders", key="none")
    assert "... and 5 more" in text_of(failure)
    assert "00 ff 00" in text_of(failure)


def test_a_created_topic_is_consumed_from_its_first_message_on(glassmq):
    consumed = []

    async def keep(messages, context):
        consumed.extend(messages)
        return DONE

    async def work():
        glassmq.create_topic("orders", queues=1)
        async with consuming(glassmq, "orders", keep):
            await asyncio.to_thread(send, glassmq, order("1"))
            await asyncio.to_thread(glassmq.assert_consumed, "billing", "orders")

    asyncio.run(work())
    assert [message.queue_id for message in consumed] == [0]


@pytest.mark.parametrize(("topic", "queues"), [("a b", 4), ("orders", 0), ("orders", 100_000)])
def test_an_impossible_topic_is_refused(glassmq, topic, queues):
    with pytest.raises(TestKitError, match=r"a b|ueueNums|queue"):
        glassmq.create_topic(topic, queues)


# --- order ------------------------------------------------------------------------------------------------------------


def test_an_order_holds_within_one_queue(glassmq):
    async def work():
        async with DefaultMQProducer(None, "shop", glassmq.name_server_address) as producer:
            for key, index in (("1", 0), ("2", 0), ("3", 1)):
                await producer.send(
                    order(key), selector=lambda queues, message, chosen: queues[chosen], selector_argument=index
                )

    asyncio.run(work())
    glassmq.assert_order("orders", ["1", "2"])
    with pytest.raises(AssertionError, match="in another order"):
        glassmq.assert_order("orders", ["2", "1"])
    with pytest.raises(AssertionError, match="in different queues"):
        glassmq.assert_order("orders", ["1", "3"])
    with pytest.raises(AssertionError, match="4 not sent"):
        glassmq.assert_order("orders", ["1", "4"])
    for keys in (["1"], ["1", "1"], "12"):
        with pytest.raises(TestKitError, match="at least two keys"):
            glassmq.assert_order("orders", keys)
    with pytest.raises(TestKitError, match="write key='17'"):
        glassmq.assert_order("orders", [17, 18])


# --- groups -----------------------------------------------------------------------------------------------------------


def test_groups_lag_and_consumption_are_reported(glassmq):
    async def work():
        send_soon = asyncio.to_thread(send, glassmq, order("1"), order("2"))
        await send_soon
        async with consuming(glassmq, "orders", consume) as member:
            await asyncio.to_thread(glassmq.assert_consumed, "billing", "orders")
            group = glassmq.groups()["billing"]
            assert group.consumers == [member.instance.client_id]
            assert group.subscriptions["orders"] == "*"
        assert glassmq.lag("billing") == 0

    asyncio.run(work())
    send(glassmq, order("3"))
    assert glassmq.lag("billing", "orders") == 1
    with pytest.raises(AssertionError) as failure:
        glassmq.assert_consumed("billing", "orders", timeout=0.05)
    assert "billing has not confirmed 1 of orders" in text_of(failure)
    assert "confirmed  lag" in text_of(failure)


def test_a_group_that_confirmed_nothing_and_left_lags_in_the_topic_that_is_named(glassmq):
    async def work():
        glassmq.create_topic("orders")
        async with consuming(glassmq, "orders", consume):
            pass

    asyncio.run(work())
    send(glassmq, order("1"), order("2"))
    assert glassmq.lag("billing", "orders") == 2


def test_an_unknown_group_is_no_group_without_lag(glassmq):
    with pytest.raises(TestKitError, match="never heard of group 'biling'; it knows no group"):
        glassmq.lag("biling")
    with pytest.raises(TestKitError, match="never heard"):
        glassmq.locks("biling")
    send(glassmq, order("1"))
    with pytest.raises(AssertionError, match="never heard of group biling"):
        glassmq.assert_consumed("biling", "orders", timeout=0.05)


def test_locks_of_ordered_consumption_name_their_owner(glassmq):
    async def consume_in_order(messages, context):
        return ConsumeOrderlyStatus.SUCCESS

    async def work():
        await asyncio.to_thread(send, glassmq, order("1"))
        async with consuming(glassmq, "orders", consume_in_order, orderly=True) as member:
            await asyncio.to_thread(glassmq.assert_consumed, "billing", "orders")
            locks = glassmq.locks("billing")
            assert {(lock.topic, lock.client_id) for lock in locks} >= {("orders", member.instance.client_id)}
            assert all(0 < lock.expires_in_ms <= 60_000 for lock in locks)

    asyncio.run(work())


def test_a_dead_letter_is_asserted_with_its_key(glassmq):
    async def fail(messages, context):
        return LATER

    async def work():
        await asyncio.to_thread(send, glassmq, order("1"))
        async with consuming(glassmq, "orders", fail, max_reconsume_times=0):
            await asyncio.to_thread(glassmq.assert_dead_letter, "billing", key="1", timeout=10)

    asyncio.run(work())
    assert [message.keys for message in glassmq.dead_letters("billing")] == [("1",)]
    with pytest.raises(AssertionError, match="exactly 2 dead letters"):
        glassmq.assert_dead_letter("billing", count=2)


# --- transactions -----------------------------------------------------------------------------------------------------


def test_half_messages_are_those_without_a_decision(glassmq):
    async def work():
        states = LocalTransactionState
        for key, state in (("1", states.COMMIT_MESSAGE), ("2", states.UNKNOW), ("3", states.ROLLBACK_MESSAGE)):
            async with transactional(glassmq, Listener(state, state), f"bank-{key}") as producer:
                await producer.send_message_in_transaction(order(key))

    asyncio.run(work())
    glassmq.wait_for("orders", key="1")
    wait = threading.Event()
    for _ in range(1_000):  # the decision is sent without an answer
        if len(glassmq.half_messages()) == 1:
            break
        wait.wait(0.005)
    assert [half.keys for half in glassmq.half_messages()] == [("2",)]
