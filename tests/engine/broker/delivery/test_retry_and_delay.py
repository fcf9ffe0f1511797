"""Send-back, retry topics and dead letters, together with their delays as a consumer lives through them."""

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


def test_an_unknown_group_may_be_refused():
    request = RemotingCommand.request(
        RequestCode.CONSUMER_SEND_MSG_BACK, ConsumerSendMsgBackRequestHeader(0, "bad group", 0)
    )
    with broker_lab() as lab:
        reply = lab.client().exchange(request)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "group name" in (reply.remark or "")


# --- what is easily forgotten ----------------------------------------------------------------------------------------


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
        lab.broker.config.broker_permission = 4
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
