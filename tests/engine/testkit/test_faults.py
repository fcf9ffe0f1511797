"""Faults of the test kit under clients of ours, and what a rule says that acted on no frame."""

import asyncio
import threading

import pytest

from engine.client import ConsumeConcurrentlyStatus, LocalTransactionState, Message, MQClientError, SendStatus
from engine.testkit import GlassMQ, TestKitError
from tests.support.live.kit_clients import Listener, consuming, send, transactional

SEND = "SEND_MESSAGE_V2"
COMMIT = LocalTransactionState.COMMIT_MESSAGE


def order(key, topic="orders"):
    return Message(topic, b"10", tags="paid", keys=key)


class Sending(threading.Thread):
    """Sends a message in a thread; ``outcome`` is the result or the error."""

    def __init__(self, glassmq, message, **settings):
        super().__init__()
        self._work = glassmq, message, settings
        self.outcome = None
        self.start()

    def run(self):
        glassmq, message, settings = self._work
        try:
            (self.outcome,) = send(glassmq, message, **settings)
        except MQClientError as error:
            self.outcome = error


# --- rules ------------------------------------------------------------------------------------------------------------


def test_a_dropped_commit_leaves_a_half_message(glassmq):
    async def work():
        async with transactional(glassmq, Listener(COMMIT, COMMIT)) as producer:
            with glassmq.faults.drop("END_TRANSACTION", times=1) as lost:
                await producer.send_message_in_transaction(order("1"))
                await lost
                assert lost.hits == 1
            assert len(glassmq.half_messages()) == 1
            await producer.send_message_in_transaction(order("2"))
            await asyncio.to_thread(glassmq.wait_for, "orders", key="2")

    asyncio.run(work())
    assert [half.keys for half in glassmq.half_messages()] == [("1",)]


def test_a_rejected_send_gets_the_code_and_a_later_one_passes(glassmq):
    with glassmq.faults.reject(SEND, code="SYSTEM_BUSY") as busy, pytest.raises(MQClientError, match="SYSTEM_BUSY"):
        send(glassmq, order("1"), retry_times_when_send_failed=0)
    assert busy.hits == 1
    send(glassmq, order("2"))
    assert [message.keys for message in glassmq.messages("orders")] == [("2",)]


def test_a_duplicated_send_is_stored_twice_and_a_cut_one_is_sent_again(glassmq):
    glassmq.faults.duplicate(SEND, key="1", times=1)
    glassmq.faults.cut(SEND, key="2", times=1)
    send(glassmq, order("1"), order("2"))
    glassmq.assert_sent("orders", key="1", count=2)
    glassmq.assert_sent("orders", key="2", count=1)
    glassmq.faults.end()


def test_a_late_answer_leaves_a_producer_that_does_not_know(glassmq):
    with glassmq.faults.answer_late(SEND, ms=60_000, times=1), pytest.raises(MQClientError):
        send(glassmq, order("1"), send_msg_timeout_ms=300)
    glassmq.assert_sent("orders", key="1", count=1)


def test_a_corrupt_frame_and_a_delayed_one_do_not_end_the_broker(glassmq):
    with glassmq.faults.corrupt(SEND, times=1, seed=3), glassmq.faults.delay(SEND, ms=1, every=2) as late:
        sending = Sending(glassmq, order("1"), send_msg_timeout_ms=500)
        sending.join()
        send(glassmq, order("2"), order("3"))
        assert late.hits == 1
    glassmq.assert_sent("orders", key="3")


# --- holding ----------------------------------------------------------------------------------------------------------


def test_a_test_decides_the_order_of_two_clients(glassmq):
    with glassmq.faults.hold(SEND, key="1", times=1) as first:
        held = Sending(glassmq, order("1"), group="one")
        first.wait()
        assert first.waiting == 1
        send(glassmq, order("2"), group="two")
        assert first.release() == 1
        held.join()
    assert [message.keys[0] for message in glassmq.messages("orders")] == ["2", "1"]


def test_a_held_frame_goes_on_after_another_one(glassmq):
    with glassmq.faults.hold(SEND, key="1", times=1) as first:
        held = Sending(glassmq, order("1"), group="one")
        first.wait()
        other = Sending(glassmq, order("2"), group="two")
        first.release_after(SEND, key="2")
        held.join()
        other.join()
    assert [message.keys[0] for message in glassmq.messages("orders")] == ["2", "1"]


def test_a_frame_that_is_waited_for_in_vain_is_named_and_held_frames_go_on(glassmq):
    with glassmq.faults.hold(SEND, times=1) as first:
        held = Sending(glassmq, order("1"))
        first.wait()
        with pytest.raises(AssertionError, match=r"no END_TRANSACTION passed while faults\.hold\("):
            first.release_after("END_TRANSACTION", timeout=0.05)
        held.join()
    assert len(glassmq.messages("orders")) == 1


def test_held_frames_wait_however_long_the_test_does_something_else(glassmq):
    with glassmq.faults.hold(SEND, key="1", times=1) as first:
        held = Sending(glassmq, order("1"))
        first.wait()
        assert glassmq.at_gate(lambda injector: injector.lease_left_ms()) == 0
        assert first.waiting == 1
    held.join()


def test_a_wait_for_a_fault_in_a_coroutine_is_refused_and_says_what_to_write(glassmq):
    async def work():
        with pytest.raises(TestKitError, match=r"await asyncio\.to_thread\(fault\.wait, "):
            glassmq.faults.drop(SEND).wait()

    asyncio.run(work())
    glassmq.faults.clear()


def test_held_frames_go_on_when_their_block_ends(glassmq):
    with glassmq.faults.hold(SEND, times=1) as first:
        held = Sending(glassmq, order("1"))
        first.wait()
    held.join()
    glassmq.assert_sent("orders", count=1)


# --- rules that meant no frame ----------------------------------------------------------------------------------------


def test_a_rule_without_a_hit_fails_its_block_and_shows_the_nearest_frames(glassmq):
    with pytest.raises(AssertionError) as failure, glassmq.faults.drop(SEND, topic="order"):
        send(glassmq, order("1"))
    text = str(failure.value)
    assert "faults.drop('SEND_MESSAGE_V2', topic='order') acted on no frame" in text
    nearest = text.splitlines()[3].split()
    assert nearest[:5] == ["topic", "1", SEND, "in", "orders"]


def test_a_rule_without_a_hit_and_without_a_block_fails_the_end(glassmq):
    glassmq.faults.answer_late("PULL_MESSAGE", ms=5, group="billing")
    with pytest.raises(AssertionError) as failure:
        glassmq.faults.end()
    assert "faults.answer_late('PULL_MESSAGE', group='billing', ms=5) acted on no frame" in str(failure.value)
    assert "no frame came to the broker" in str(failure.value)
    glassmq.faults.end()


def test_rules_without_a_hit_may_be_allowed(glassmq):
    glassmq.faults.fail_unhit = False
    with glassmq.faults.drop(SEND):
        pass
    glassmq.faults.drop(SEND)
    glassmq.faults.end()


@pytest.mark.parametrize("end", [lambda glassmq: glassmq.faults.end(), GlassMQ.reset])
def test_what_one_test_allows_the_next_one_does_not(glassmq, end):
    glassmq.faults.fail_unhit = False
    end(glassmq)
    assert glassmq.faults.fail_unhit


def test_an_error_in_the_block_is_not_hidden_by_a_rule_without_a_hit(glassmq):
    with pytest.raises(ZeroDivisionError), glassmq.faults.drop(SEND):
        1 / 0  # noqa: B018
    glassmq.faults.clear()


def test_a_hit_that_is_waited_for_in_vain_shows_the_frames(glassmq):
    glassmq.faults.fail_unhit = False
    with glassmq.faults.drop("END_TRANSACTION") as lost:
        send(glassmq, order("1"))
        with pytest.raises(AssertionError, match=r"acted on 0 of 1 frames after 0\.05 s"):
            lost.wait(timeout=0.05)


@pytest.mark.parametrize("end", [lambda glassmq, fault: fault.remove(), lambda glassmq, _: glassmq.reset()])
def test_a_wait_for_a_fault_that_is_over_fails_at_once(glassmq, end):
    fault = glassmq.faults.drop(SEND)
    end(glassmq, fault)
    with pytest.raises(AssertionError, match="acted on 0 of 1 frames and is over: "):
        fault.wait(timeout=60)
    glassmq.faults.clear()


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda faults: faults.drop("END_TRANSACTON"), ["END_TRANSACTON", "did you mean END_TRANSACTION"]),
        (lambda faults: faults.drop("reply to PULL"), ["'PULL'; did you mean PULL_MESSAGE?"]),
        (lambda faults: faults.drop("reply to "), ["no request ''", "allowed: SEND_MESSAGE, "]),
        (lambda faults: faults.drop(310), ["did you mean SEND_MESSAGE_V2?"]),
        (lambda faults: faults.drop(SEND, topik="x"), ["topik", "did you mean topic?"]),
        (lambda faults: faults.drop(SEND, times=-1), ["times: -1", "0 to"]),
        (lambda faults: faults.drop(SEND, every=0), ["every: 0", "1 to"]),
        (lambda faults: faults.drop(SEND, ratio=2), ["ratio: 2", "0 to 1"]),
        (lambda faults: faults.drop(SEND, topic="a*b"), ["topic: 'a*b'", "or a prefix followed by *"]),
        (lambda faults: faults.drop(SEND, direction="up"), ["direction: 'up'", "empty (= any), in, out"]),
        (lambda faults: faults.delay(SEND, ms=0), ["ms: 0", "1 to"]),
        (lambda faults: faults.reject(SEND, code="BUSY"), ["did you mean SYSTEM_BUSY?"]),
        (lambda faults: faults.reject(SEND, code=2), ["did you mean SYSTEM_BUSY?"]),
        (lambda faults: faults.reject("reply"), ["reject"]),
        (lambda faults: faults.corrupt(SEND, seed="x"), ["seed: 'x'", "an integer"]),
        (lambda faults: [faults.drop(SEND) for _ in range(201)], ["at most 200"]),
        (lambda faults: faults.pause(0), ["0 s"]),
        (lambda faults: faults.slow_fsync(0), ["1 ms"]),
        (lambda faults: faults.restart(), ["already running"]),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_with_what_is_allowed(glassmq, call, parts):
    with pytest.raises(TestKitError) as refusal:
        call(glassmq.faults)
    assert all(part in str(refusal.value) for part in parts), refusal.value
    glassmq.faults.clear()


# --- process and disk -------------------------------------------------------------------------------------------------


def test_a_crashed_broker_comes_back_with_what_it_acknowledged(glassmq):
    send(glassmq, order("1"))
    with glassmq.faults.crash():
        with pytest.raises(TestKitError, match="is crashed"):
            glassmq.messages("orders")
        with pytest.raises(MQClientError):
            send(glassmq, order("2"), retry_times_when_send_failed=0)
    assert [message.keys[0] for message in glassmq.messages("orders")] == ["1"]
    glassmq.faults.crash()
    glassmq.faults.restart()
    assert len(glassmq.messages("orders")) == 1


def test_a_crash_that_nobody_ends_is_over_with_the_test(glassmq):
    glassmq.faults.crash()
    glassmq.faults.end()
    assert glassmq.messages("orders") == []


def test_a_full_disk_refuses_messages_until_there_is_room(glassmq):
    with glassmq.faults.full_disk(), pytest.raises(MQClientError, match="disk"):
        send(glassmq, order("1"), retry_times_when_send_failed=0)
    send(glassmq, order("2"))
    assert [message.keys[0] for message in glassmq.messages("orders")] == ["2"]


def test_a_failed_flush_refuses_messages_until_a_restart():
    with GlassMQ(store_settings={"flushDiskType": "SYNC_FLUSH"}) as glassmq:
        send(glassmq, order("1"))
        with glassmq.faults.fail_fsync():
            (unsure,) = send(glassmq, order("2"), retry_times_when_send_failed=0)
            assert unsure.status is SendStatus.FLUSH_DISK_TIMEOUT
        with pytest.raises(MQClientError):
            send(glassmq, order("3"), retry_times_when_send_failed=0)
        glassmq.faults.crash()
        glassmq.faults.restart()
        send(glassmq, order("4"))


def test_a_paused_broker_answers_late(glassmq):
    send(glassmq, order("1"))
    pause = glassmq.faults.pause(60)
    for call in (lambda: glassmq.messages("orders"), lambda: glassmq.faults.drop(SEND)):
        with pytest.raises(TestKitError, match="pauses the engine"):
            call()
    while glassmq._thread._pause is not None:  # it has not begun yet
        threading.Event().wait(0.005)
    sending = Sending(glassmq, order("2"), send_msg_timeout_ms=30_000)
    sending.join(0.05)
    assert sending.is_alive()
    pause.remove()
    sending.join()
    assert len(glassmq.messages("orders")) == 2


def test_a_consumer_whose_pulls_are_rejected_consumes_after_the_fault(glassmq):
    consumed = []

    async def consume(messages, context):
        consumed.extend(messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def work():
        await asyncio.to_thread(send, glassmq, order("1"))
        with glassmq.faults.reject("PULL_MESSAGE", code="SYSTEM_BUSY", times=2) as refused:
            async with consuming(glassmq, "orders", consume):
                await refused
                await asyncio.to_thread(glassmq.assert_consumed, "billing", "orders", timeout=30)

    asyncio.run(work())
    assert len(consumed) == 1
