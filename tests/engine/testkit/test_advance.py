"""Time that a test lets pass: what becomes due, and what clients do in between."""

import asyncio
import time

import pytest

from engine.client import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus, LocalTransactionState, Message
from engine.testkit import TestKitError
from tests.support.live.kit_clients import Listener, consuming, send, transactional

STATES = LocalTransactionState


def order(key, **more):
    return Message("orders", b"10", keys=key, **more)


def test_a_delayed_message_comes_when_its_time_has_passed(glassmq):
    send(glassmq, order("1", delay_level=5))  # one minute
    glassmq.advance(seconds=50)
    assert glassmq.messages("orders") == []
    glassmq.advance(seconds=11)
    assert [message.keys for message in glassmq.messages("orders")] == [("1",)]


def test_messages_of_all_levels_come_in_the_order_of_their_due_times(glassmq):
    send(glassmq, *(order(str(level), delay_level=level) for level in range(18, 0, -1)))
    glassmq.advance(hours=2, minutes=1)
    assert [message.keys[0] for message in glassmq.messages("orders")] == [*map(str, range(1, 19))]


def test_sixteen_retries_and_the_dead_letter_take_seconds(glassmq):
    deliveries = []

    async def fail(messages, context):
        deliveries.extend(message.reconsume_times for message in messages)
        return ConsumeConcurrentlyStatus.RECONSUME_LATER

    async def work():
        await asyncio.to_thread(send, glassmq, order("1"))
        async with consuming(glassmq, "orders", fail):
            await asyncio.to_thread(glassmq.wait_for, "SCHEDULE_TOPIC_XXXX")
            await asyncio.to_thread(glassmq.advance, hours=5, settle=60)
            await asyncio.to_thread(glassmq.assert_dead_letter, "billing", key="1", timeout=10)

    asyncio.run(work())
    assert deliveries == [*range(17)]


def test_a_check_back_decides_a_transaction_whose_commit_was_lost(glassmq):
    async def work():
        listener = Listener(STATES.COMMIT_MESSAGE, STATES.COMMIT_MESSAGE)
        async with transactional(glassmq, listener) as producer:
            with glassmq.faults.drop("END_TRANSACTION", times=1) as lost:
                await producer.send_message_in_transaction(order("1"))
                await lost  # it is sent without waiting for a reply
            await asyncio.to_thread(glassmq.advance, minutes=2, settle=60)
            await asyncio.to_thread(glassmq.wait_for, "orders", key="1")
        assert listener.checks == 1

    asyncio.run(work())
    assert glassmq.half_messages() == []


def test_an_undecided_transaction_is_given_up_after_fifteen_checks(glassmq):
    async def work():
        listener = Listener(STATES.UNKNOW, STATES.UNKNOW)
        async with transactional(glassmq, listener) as producer:
            await producer.send_message_in_transaction(order("1"))
            await asyncio.to_thread(glassmq.advance, minutes=20, settle=0.1)
            async with asyncio.timeout(10):
                while listener.checks < 15:  # the last ones may still be under way
                    await asyncio.sleep(0.01)
        assert listener.checks == 15

    asyncio.run(work())
    assert glassmq.half_messages() == []
    assert len(glassmq.messages("TRANS_CHECK_MAX_TIME_TOPIC")) == 1


def test_clients_stay_connected_unless_they_are_to_look_silent(glassmq):
    async def consume(messages, context):
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def connections(broker):
        return {channel for group in broker.consumer_manager for channel in group.channel_info_table}

    async def work():
        glassmq.create_topic("orders")
        async with consuming(glassmq, "orders", consume):
            before = glassmq.ask(connections)
            await asyncio.to_thread(glassmq.advance, hours=3)
            assert glassmq.ask(connections) == before != set()
            await asyncio.to_thread(glassmq.advance, minutes=3, liveness=True)
            # The client soon connects again.
            assert await asyncio.to_thread(
                glassmq.until, lambda: before.isdisjoint(connections(glassmq._machines.broker)), 10
            )

    asyncio.run(work())


def test_leases_of_locks_run_out(glassmq):
    async def consume_in_order(messages, context):
        return ConsumeOrderlyStatus.SUCCESS

    async def work():
        await asyncio.to_thread(send, glassmq, order("1"))
        async with consuming(glassmq, "orders", consume_in_order, orderly=True):
            await asyncio.to_thread(glassmq.assert_consumed, "billing", "orders")
            assert glassmq.locks("billing")
            await asyncio.to_thread(glassmq.advance, seconds=61)
            assert glassmq.locks("billing") == []

    asyncio.run(work())


def test_a_reset_sets_the_clock_back(glassmq):
    glassmq.advance(days=30)
    send(glassmq, order("1"))
    ahead = glassmq.messages("orders")[0].store_timestamp
    glassmq.reset()
    send(glassmq, order("1"))
    assert ahead - glassmq.messages("orders")[0].store_timestamp > 29 * 86_400_000
    assert abs(glassmq.messages("orders")[0].store_timestamp - time.time() * 1_000) < 60_000


def test_time_passes_although_a_full_disk_refuses_what_is_due(glassmq):
    send(glassmq, order("1", delay_level=5))
    with glassmq.faults.full_disk():
        glassmq.advance(minutes=2)
        assert glassmq.messages("orders") == []
    glassmq.advance(seconds=1)
    assert [message.keys for message in glassmq.messages("orders")] == [("1",)]


@pytest.mark.parametrize("settle", [-1, float("nan"), 301])
def test_a_time_for_clients_that_makes_no_sense_is_refused(glassmq, settle):
    with pytest.raises(TestKitError, match="0 to 300 s"):
        glassmq.advance(seconds=1, settle=settle)


@pytest.mark.parametrize("time_of", [{}, {"minutes": -10}, {"days": 400}, {"days": 1e12}, {"hours": float("nan")}])
def test_a_clock_that_would_go_back_or_too_far_is_refused(glassmq, time_of):
    with pytest.raises(TestKitError, match=r"1 ms to 366 days, not by .* reset\(\) sets it back"):
        glassmq.advance(**time_of)


def test_the_clock_of_a_crashed_broker_is_refused(glassmq):
    with glassmq.faults.crash(), pytest.raises(TestKitError, match="is crashed"):
        glassmq.advance(minutes=1)
