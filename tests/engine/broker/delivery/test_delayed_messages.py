"""Delayed messages: each level's delay, what is tried again, and what a stop, a crash and a changed clock leave."""

import pytest

from engine.protocol.names import SCHEDULE_TOPIC
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from tests.engine.broker.lab_broker import broker_lab


@pytest.mark.parametrize(
    ("level", "delay_ms"), [(1, 1_000), (3, 10_000), (5, 60_000), (18, 7_200_000), (99, 7_200_000)]
)
def test_each_level_has_its_delay_and_higher_ones_count_as_the_last(level, delay_ms):
    with broker_lab() as lab:
        producer = lab.client("producer")
        lab.run_for(5_000)
        producer.send(delay_level=level)
        lab.run_for(delay_ms - 100)
        assert lab.broker.store.max_offset("T", 0) == 0
        lab.run_for(200)
        assert lab.broker.store.max_offset("T", 0) == 1


@pytest.mark.parametrize("text", ["1", "+1", "001", "+0001", "\uff11"])
def test_a_level_is_read_as_java_reads_an_integer(text):
    with broker_lab() as lab:
        assert lab.client().send(properties={"DELAY": text}).code == ResponseCode.SUCCESS
        assert lab.broker.store.max_offset("T", 0) == 0
        lab.run_for(5_000)
        assert lab.broker.store.max_offset("T", 0) == 1


@pytest.mark.parametrize("text", ["x", "1.0", " 1", "1_0", "+", "-", "--1", "1" * 11, "2147483648", "-2147483649"])
def test_what_java_does_not_read_as_an_integer_is_code_1_as_there(text):
    with broker_lab() as lab:
        reply = lab.client().send(properties={"DELAY": text})
        assert (reply.code, text[:40] in (reply.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
        assert lab.broker.store.commit_log.max_offset == 0


@pytest.mark.parametrize("text", ["0", "-0", "-3", "-2147483648"])
def test_a_level_that_is_not_positive_is_no_delay(text):
    with broker_lab() as lab:
        assert lab.client().send(properties={"DELAY": text}).code == ResponseCode.SUCCESS
        assert lab.broker.store.max_offset("T", 0) == 1


def test_delayed_messages_of_one_level_keep_their_order():
    with broker_lab() as lab:
        client = lab.client()
        for number in range(200):
            client.send(body=b"%d" % number, delay_level=1)
        lab.run_for(3_000)
        bodies = []
        while found := client.messages(offset=len(bodies)):
            bodies += [message.body for message in found]
        assert bodies == [b"%d" % number for number in range(200)]
        assert lab.broker.schedule_message_service.delivered_messages == 200


def test_a_parked_pull_wakes_when_a_delayed_message_is_due():
    with broker_lab() as lab:
        consumer, producer = lab.client("consumer"), lab.client("producer")
        consumer.create_topic("T")
        task = consumer.begin(consumer.pull_request(suspend_ms=15_000))
        producer.send(delay_level=1)
        lab.run_for(1_200)
        assert task.result().code == ResponseCode.SUCCESS


def test_delayed_messages_wait_over_a_restart_and_are_delivered_once():
    with broker_lab() as lab:
        client = lab.client()
        client.send(body=b"early", delay_level=1)
        client.send(body=b"late", delay_level=4)
        lab.run_for(12_000)
        lab.stop_broker()
        lab.run_for(30_000)
        assert [message.body for message in client.messages()] == [b"early", b"late"]
        assert lab.broker.schedule_message_service.offset_table == {1: 1, 4: 1}


def test_a_message_that_came_due_while_the_broker_was_down_is_delivered_after_its_start():
    with broker_lab() as lab:
        client = lab.client()
        client.send(delay_level=3)
        lab.run_for(100)
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        lab.run_for(60_000)
        lab.restart_broker()
        lab.run_for(1_200)
        assert len(client.messages()) == 1


def test_a_crash_may_repeat_deliveries_but_loses_none():
    with broker_lab() as lab:
        client = lab.client()
        lab.run_for(10_500)
        for number in range(5):
            client.send(body=b"%d" % number, delay_level=1)
        lab.run_for(2_000)
        lab.restart_broker(keep_page_cache=True)
        lab.run_for(3_000)
        assert {message.body for message in client.messages()} == {b"%d" % number for number in range(5)}


def test_a_clock_that_was_set_back_does_not_hold_messages_for_ever():
    with broker_lab() as lab:
        client = lab.client()
        client.send(delay_level=3)
        lab.run_for(2_000)
        lab.world.node("broker-a").clock.skew_ms = -3_600_000
        lab.run_for(5_000)
        assert len(client.messages()) == 1


def test_a_refused_delivery_is_tried_again_at_once_and_said_once(caplog):
    with broker_lab() as lab:
        client = lab.client()
        client.send(delay_level=2)
        lab.run_for(1_000)
        store = lab.broker.store
        put_message = store.put_message
        store.put_message = lambda message: PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, "disk full")
        lab.run_for(5_000)
        store.put_message = put_message
        assert client.messages() == []
        lab.run_for(110)
        assert len(client.messages()) == 1
        assert [record.message.count("disk full") for record in caplog.records if "refuses" in record.message] == [1]
        assert lab.broker.schedule_message_service.delivered_messages == 1


def test_an_error_in_a_delivery_does_not_end_its_level():
    with broker_lab() as lab:
        client = lab.client()
        client.send(delay_level=1)
        store = lab.broker.store
        put_message = store.put_message

        def fail(message):
            store.put_message = put_message
            raise ZeroDivisionError("of a bug")

        store.put_message = fail
        lab.run_for(2_000)
        assert client.messages() == []
        lab.run_for(10_000)
        assert len(client.messages()) == 1


def test_messages_of_a_level_that_is_not_configured_any_more_wait_until_it_is_again(caplog):
    with broker_lab(store_config=MessageStoreConfig(message_delay_level="1s 2s")) as lab:
        client = lab.client()
        client.send(body=b"first", delay_level=1)
        client.send(body=b"second", delay_level=2)
        lab.store_config = MessageStoreConfig(message_delay_level="1s")
        lab.restart_broker()
        assert "1 messages wait at delay level 2, and messageDelayLevel has only 1 levels" in caplog.text
        lab.run_for(20_000)
        assert [message.body for message in client.messages()] == [b"first"]
        lab.store_config = MessageStoreConfig(message_delay_level="1s 2s")
        lab.restart_broker()
        lab.run_for(3_000)
        assert [message.body for message in client.messages()] == [b"first", b"second"]


def test_other_delay_levels_can_be_configured():
    with broker_lab(store_config=MessageStoreConfig(message_delay_level="2s 4s")) as lab:
        client = lab.client()
        assert lab.broker.topic_config_manager.topic_config_table[SCHEDULE_TOPIC].write_queue_nums == 2
        client.send(delay_level=9)
        lab.run_for(3_800)
        assert client.messages() == []
        lab.run_for(400)
        assert len(client.messages()) == 1


def test_delayed_messages_are_delivered_although_a_power_cut_left_a_queue_shorter_than_its_progress():
    never_ms = 3_600_000
    store_config = MessageStoreConfig(
        flush_interval_commit_log_ms=never_ms, flush_commit_log_thorough_interval_ms=never_ms
    )
    with broker_lab(store_config=store_config) as lab:
        client = lab.client()
        for number in range(5):
            client.send(body=b"lost %d" % number, delay_level=1)
        lab.run_for(5_000)
        lab.broker.schedule_message_service.persist()  # before the log, as RocketMQ may do it
        assert lab.broker.schedule_message_service.offset_table == {1: 5}
        lab.restart_broker(keep_page_cache=False)
        assert lab.broker.store.max_offset(SCHEDULE_TOPIC, 0) == 0
        lab.run_for(3_000)
        for number in range(3):
            assert client.send(body=b"new %d" % number, delay_level=1).code == ResponseCode.SUCCESS
        lab.run_for(3_000)
        assert [message.body for message in client.messages()] == [b"new 0", b"new 1", b"new 2"]
        assert lab.broker.schedule_message_service.offset_table == {1: 3}


def test_progress_that_has_not_changed_is_not_written_again():
    with broker_lab() as lab:
        lab.client().send(delay_level=1)
        lab.run_for(2_000)
        service = lab.broker.schedule_message_service
        service.persist()
        disk = lab.world.node("broker-a").disk
        disk.remove("config/delayOffset.json")
        service.persist()
        assert not disk.exists("config/delayOffset.json")


@pytest.mark.parametrize("status", [PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED])
def test_a_message_that_can_never_be_delivered_holds_up_nobody(status, caplog):
    with broker_lab() as lab:
        client = lab.client()
        client.send(body=b"impossible", delay_level=1)
        client.send(body=b"next", delay_level=1)
        store = lab.broker.store
        put_message = store.put_message

        def refuse_once(message):
            store.put_message = put_message
            return PutMessageResult(status, "too much")

        store.put_message = refuse_once
        lab.run_for(2_000)
        assert [message.body for message in client.messages()] == [b"next"]
        assert "is given up: too much" in caplog.text


def test_a_second_refusal_for_the_same_reason_is_said_again_after_a_delivery(caplog):
    with broker_lab() as lab:
        client = lab.client()
        store = lab.broker.store
        put_message = store.put_message
        for _ in range(2):
            client.send(delay_level=1)
            store.put_message = lambda message: PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE, "disk full")
            lab.run_for(2_000)
            store.put_message = put_message
            lab.run_for(200)
        assert len([record for record in caplog.records if "disk full" in record.message]) == 2
