"""Send-back, retry topics, dead letters and delayed delivery, together as a consumer lives through them."""

import dataclasses

import pytest

from engine.broker.processors.send_message_processor import MIN_VERSION_MAX_RECONSUME_TIMES
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.command.headers import ConsumerSendMsgBackRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message import Message
from engine.protocol.names import SCHEDULE_TOPIC, dlq_topic, retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from tests.engine.broker.lab_broker import broker_lab

RETRY = retry_topic("consumers")


def test_a_message_sent_back_comes_again_through_the_retry_topic_after_its_delay():
    with broker_lab() as lab:
        client = lab.client()
        client.send(body=b"poison", tags="TagA", keys="k1", properties={"UNIQ_KEY": "U1"})
        (first,) = client.messages()
        assert client.send_back(first).code == ResponseCode.SUCCESS
        lab.run_for(9_900)
        assert client.messages(RETRY) == []
        lab.run_for(300)
        (again,) = client.messages(RETRY)
        assert (again.body, again.tags, again.unique_id, again.reconsume_times) == (b"poison", "TagA", "U1", 1)
        assert again.properties["RETRY_TOPIC"] == "T"
        assert again.properties["ORIGIN_MESSAGE_ID"] == first.offset_message_id
        assert again.properties["REAL_TOPIC"] == RETRY
        assert again.properties["WAIT"] == "false"
        assert again.born_timestamp == first.born_timestamp
        assert again.born_host == first.born_host


def test_each_retry_waits_longer_and_keeps_where_the_message_came_from():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        (message,) = client.messages()
        for retry, delay_ms in enumerate((10_000, 30_000, 60_000, 120_000)):
            client.send_back(message)
            lab.run_for(delay_ms - 500)
            assert client.messages(RETRY, offset=retry) == []
            lab.run_for(1_000)
            (message,) = client.messages(RETRY, offset=retry)
            assert message.reconsume_times == retry + 1
            assert message.properties["RETRY_TOPIC"] == "T"


def test_the_consumer_may_choose_the_delay():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        lab.run_for(1_000)
        client.send_back(client.messages()[0], delay_level=1)
        lab.run_for(1_100)
        assert len(client.messages(RETRY)) == 1


@pytest.mark.parametrize("reconsume_times", [-3, -100, -(1 << 31)])
def test_a_message_that_claims_fewer_than_no_retries_comes_again_at_once(reconsume_times):
    with broker_lab() as lab:
        client = lab.client()
        client.send(reconsume_times=reconsume_times)
        assert client.send_back(client.messages()[0]).code == ResponseCode.SUCCESS
        lab.run_for(10)
        assert [message.reconsume_times for message in client.messages(RETRY)] == [reconsume_times + 1]


@pytest.mark.parametrize(
    ("delay_level", "max_reconsume_times", "group_retries"), [(-1, None, 16), (0, 0, 16), (0, None, 0)]
)
def test_a_message_whose_retries_are_used_up_becomes_a_dead_letter(delay_level, max_reconsume_times, group_retries):
    with broker_lab() as lab:
        config = SubscriptionGroupConfig("consumers", retry_max_times=group_retries)
        lab.world.run(lab.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a")
        client = lab.client()
        client.send()
        reply = client.send_back(client.messages()[0], delay_level=delay_level, max_reconsume_times=max_reconsume_times)
        assert reply.code == ResponseCode.SUCCESS
        (letter,) = client.messages(dlq_topic("consumers"))
        assert letter.properties["RETRY_TOPIC"] == "T"
        assert letter.properties["DELAY"] == "0", "as RocketMQ stores it"
        assert lab.broker.topic_config_manager.topic_config_table[dlq_topic("consumers")].perm == 6


def test_after_16_retries_comes_the_dead_letter_topic():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        (message,) = client.messages()
        for _ in range(16):
            client.send_back(message, delay_level=1)
            lab.run_for(1_500)
            (message,) = client.messages(RETRY, offset=message.reconsume_times)
        assert message.reconsume_times == 16
        client.send_back(message)
        assert len(client.messages(dlq_topic("consumers"))) == 1


def test_a_group_without_retry_queues_is_done_with_the_message():
    with broker_lab() as lab:
        config = SubscriptionGroupConfig("consumers", retry_queue_nums=0)
        lab.world.run(lab.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a")
        client = lab.client()
        client.send()
        assert client.send_back(client.messages()[0]).code == ResponseCode.SUCCESS
        assert RETRY not in lab.broker.topic_config_manager.topic_config_table


@pytest.mark.parametrize("offset", [7, -1, 1 << 40, (1 << 63) - 1])
def test_sending_back_a_message_that_is_not_there_is_refused(offset):
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        header = ConsumerSendMsgBackRequestHeader(offset, "consumers", 0)
        reply = client.call(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert str(offset) in (reply.remark or "")


def test_a_compressed_body_survives_retry_and_delay_as_it_was():
    with broker_lab() as lab:
        client = lab.client()
        client.send(body=b"\x78\x9c compressed", sys_flag=0x301, delay_level=1)
        lab.run_for(1_200)
        raw = lab.broker.store.get_message("g", "T", 0, 0, 1).data
        assert int.from_bytes(raw[36:40], "big") == 0x301
        assert b"\x78\x9c compressed" in raw


# --- the delay itself ------------------------------------------------------------------------------------------------


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


def test_a_delayed_message_that_is_given_back_waits_as_a_retry_and_not_its_own_delay_again():
    with broker_lab() as lab:
        client = lab.client()
        client.send(delay_level=5)
        lab.run_for(61_200)
        (message,) = client.messages()
        assert message.properties["DELAY"] == "5", "the delivered copy still says so"
        client.send_back(message)
        lab.run_for(10_200)
        (again,) = client.messages(RETRY)
        assert (again.properties["DELAY"], again.properties["REAL_TOPIC"]) == ("3", RETRY)


# --- several retry queues ------------------------------------------------------------------------------------------


def _send_back_20(client):
    client.send()
    (message,) = client.messages()
    for _ in range(20):
        assert client.send_back(message, delay_level=1).code == ResponseCode.SUCCESS


def test_a_group_with_several_retry_queues_spreads_its_retries():
    with broker_lab() as lab:
        config = SubscriptionGroupConfig("consumers", retry_queue_nums=3)
        lab.world.run(lab.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a")
        _send_back_20(lab.client())
        lab.run_for(2_000)
        counts = [lab.broker.store.max_offset(RETRY, queue_id) for queue_id in range(4)]
        assert sum(counts) == 20
        assert all(counts[:3])
        assert not counts[3]


def test_retry_queues_that_a_group_got_later_are_used_only_once_its_retry_topic_has_them():
    """RocketMQ stores retries in queues that no route names: nobody would ever consume them."""
    with broker_lab() as lab:
        client = lab.client()
        assert client.create_topic(RETRY, 1).code == ResponseCode.SUCCESS
        config = SubscriptionGroupConfig("consumers", retry_queue_nums=3)
        lab.world.run(lab.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a")
        _send_back_20(client)
        lab.run_for(2_000)
        assert lab.broker.store.max_offset(RETRY, 0) == 20


@pytest.mark.parametrize(("of_client", "of_group", "dead"), [(1, 0, 0), (0, 5, 1), (None, 0, 1), (None, 5, 0)])
def test_the_maximum_that_comes_with_the_message_counts_before_the_group_s(of_client, of_group, dead):
    with broker_lab() as lab:
        config = SubscriptionGroupConfig("consumers", retry_max_times=of_group)
        lab.world.run(lab.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a")
        client = lab.client()
        client.send()
        client.send_back(client.messages()[0], max_reconsume_times=of_client)
        assert lab.broker.store.max_offset(dlq_topic("consumers"), 0) == dead


def test_other_delay_levels_can_be_configured():
    with broker_lab(store_config=MessageStoreConfig(message_delay_level="2s 4s")) as lab:
        client = lab.client()
        assert lab.broker.topic_config_manager.topic_config_table[SCHEDULE_TOPIC].write_queue_nums == 2
        client.send(delay_level=9)
        lab.run_for(3_800)
        assert client.messages() == []
        lab.run_for(400)
        assert len(client.messages()) == 1


def test_an_unknown_group_may_be_refused():
    request = RemotingCommand.request(
        RequestCode.CONSUMER_SEND_MSG_BACK, ConsumerSendMsgBackRequestHeader(0, "bad group", 0)
    )
    with broker_lab() as lab:
        reply = lab.client().exchange(request)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "group name" in (reply.remark or "")


# --- what is easily forgotten ----------------------------------------------------------------------------------------


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


def test_a_message_remembers_its_first_place_through_all_retries():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        (message,) = client.messages()
        first = message.offset_message_id
        for retry in range(3):
            client.send_back(message, delay_level=1)
            lab.run_for(1_500)
            (message,) = client.messages(RETRY, offset=retry)
            assert (message.properties["ORIGIN_MESSAGE_ID"], message.properties["RETRY_TOPIC"]) == (first, "T")


def test_a_level_beyond_the_last_counts_as_the_last_for_a_retry_too():
    with broker_lab(store_config=MessageStoreConfig(message_delay_level="1s 2s")) as lab:
        client = lab.client()
        client.send()
        assert client.send_back(client.messages()[0], delay_level=99).code == ResponseCode.SUCCESS
        lab.run_for(3_200)
        assert len(client.messages(RETRY)) == 1


def test_what_may_not_be_written_takes_nothing_back():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        (message,) = client.messages()
        client.create_topic(RETRY, queues=1, perm=4)
        reply = client.send_back(message)
        assert reply.code == ResponseCode.NO_PERMISSION and RETRY in (reply.remark or "")
        client.create_topic(RETRY, queues=1, perm=6)
        lab.broker.config = dataclasses.replace(lab.broker.config, broker_permission=4)
        reply = client.send_back(message)
        assert reply.code == ResponseCode.NO_PERMISSION and "broker-a" in (reply.remark or "")
        assert lab.broker.store.max_offset(SCHEDULE_TOPIC, 2) == 0


def test_what_a_client_of_before_3_4_9_says_of_its_maximum_does_not_count():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        (message,) = client.messages()
        header = ConsumerSendMsgBackRequestHeader(message.commit_log_offset, "consumers", 0, max_reconsume_times=0)
        request = RemotingCommand.request(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        request.version = MIN_VERSION_MAX_RECONSUME_TIMES - 1
        assert client.exchange(request).code == ResponseCode.SUCCESS
        assert lab.broker.store.max_offset(dlq_topic("consumers"), 0) == 0
        request = RemotingCommand.request(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        request.version = MIN_VERSION_MAX_RECONSUME_TIMES
        assert client.exchange(request).code == ResponseCode.SUCCESS
        assert lab.broker.store.max_offset(dlq_topic("consumers"), 0) == 1


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


def test_the_flag_and_the_tags_of_a_message_come_again_with_it():
    with broker_lab() as lab:
        client = lab.client()
        request = client.send_request("T", Message("T", b"x", tags="TagA", flag=7))
        assert client.exchange(request).code == ResponseCode.SUCCESS
        (message,) = client.messages()
        assert message.flag == 7
        client.send_back(message, delay_level=1)
        lab.run_for(1_500)
        (again,) = client.messages(RETRY)
        assert (again.flag, again.tags) == (7, "TagA")
        ((_, _, tags_code),) = lab.broker.store.consume_queue_entries(RETRY, 0, 0, 1)
        assert tags_code == java_string_hash("TagA"), "or a broker-side filter would drop every retry"
