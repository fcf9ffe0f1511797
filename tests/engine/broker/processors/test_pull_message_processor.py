import json

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import MessageModel
from engine.protocol.message.message import Message
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import BrokerLab, broker_lab, golden_frames

OFFSET_FIELDS = {"suggestWhichBrokerId", "nextBeginOffset", "minOffset", "maxOffset"}


def set_group(lab: BrokerLab, **fields) -> None:
    config = SubscriptionGroupConfig("consumers", **fields)
    lab.world.run(lab.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a")


def offsets(reply: RemotingCommand) -> tuple[int, int, int]:
    fields = reply.ext_fields
    return int(fields["nextBeginOffset"]), int(fields["minOffset"]), int(fields["maxOffset"])


@pytest.mark.parametrize("binary", [False, True])
def test_a_pull_returns_the_stored_bytes_from_its_offset_on(binary):
    with broker_lab() as lab:
        client = lab.client(binary=binary)
        for number in range(5):
            client.send(body=b"%d" % number)
        reply = client.pull(offset=2)
        assert (reply.code, reply.remark) == (ResponseCode.SUCCESS, "FOUND")
        assert offsets(reply) == (5, 0, 5)
        assert [message.body for message in decode_messages(reply.body)] == [b"2", b"3", b"4"]
        assert reply.body == lab.broker.store.get_message("g", "T", 0, 2, 32).data


def test_the_reply_has_the_fields_of_the_captured_one():
    captured = next(f for f in golden_frames() if f["header"].get("remark") == "FOUND")["header"]
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        reply = client.pull()
        assert reply.ext_fields == captured["extFields"]
        assert (reply.code, reply.flag, reply.remark) == (captured["code"], captured["flag"], captured["remark"])


def test_a_pull_takes_no_more_messages_than_it_asks_for():
    with broker_lab() as lab:
        client = lab.client()
        for _ in range(40):
            client.send()
        assert offsets(client.pull(max_messages=3))[0] == 3
        assert offsets(client.pull(max_messages=1_000_000))[0] == 32
        assert offsets(client.pull(max_messages=0))[0] == 1
        assert offsets(client.pull(max_messages=-5))[0] == 1


# --- checks ----------------------------------------------------------------------------------------------------------


def test_an_unknown_topic_is_17_and_a_queue_that_is_not_there_is_1():
    with broker_lab() as lab:
        client = lab.client()
        assert client.pull("Nowhere").code == ResponseCode.TOPIC_NOT_EXIST
        client.create_topic("T", 2)
        for queue_id in (2, -1, 2_000_000_000):
            reply = client.pull(queue_id=queue_id)
            assert reply.code == ResponseCode.SYSTEM_ERROR
            assert str(queue_id) in (reply.remark or "")


@pytest.mark.parametrize(
    ("max_msg_bytes", "given"), [(None, 32), (1, 1), (1_000_000, 100), (2**31 - 1, 100), (0, 1), (-5, 1)]
)
def test_a_pull_that_says_how_many_bytes_it_takes_gets_so_many(max_msg_bytes, given):
    with broker_lab() as lab:
        client = lab.client()
        for _ in range(100):
            client.send()
        request = client.pull_request(max_messages=5_000)
        if max_msg_bytes is not None:
            request.ext_fields["maxMsgBytes"] = str(max_msg_bytes)
        assert offsets(client.exchange(request))[0] == given


def test_a_group_is_created_by_pulling_unless_that_is_forbidden():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        client.pull(group="fresh")
        assert "fresh" in lab.broker.subscription_group_manager.subscription_group_table
    with broker_lab(BrokerConfig(auto_create_subscription_group=False)) as lab:
        client = lab.client()
        client.create_topic("T")
        assert client.pull(group="fresh").code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
        assert client.pull(group="TOOLS_CONSUMER").code == ResponseCode.PULL_NOT_FOUND


def test_a_group_that_may_not_consume_is_refused():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        set_group(lab, consume_enable=False)
        assert client.pull().code == ResponseCode.NO_PERMISSION


def test_a_topic_that_may_not_be_read_is_refused():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", perm=2)
        assert client.pull().code == ResponseCode.NO_PERMISSION


def test_a_broker_that_may_not_be_read_refuses_first():
    with broker_lab(BrokerConfig(broker_permission=2)) as lab:
        assert lab.client().pull("Nowhere").code == ResponseCode.NO_PERMISSION


def test_without_its_own_subscription_a_pull_uses_the_heartbeat_s():
    with broker_lab() as lab:
        client = lab.client()
        for tag in ("TagA", "TagB", "TagA"):
            client.send(tags=tag)
        assert client.pull(subscription=None).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
        client.heartbeat(subscriptions={"T": "TagA"}, version=7)
        found = decode_messages(client.pull(subscription=None, version=7).body)
        assert [message.queue_offset for message in found] == [0, 2]
        assert client.pull("TBW102", subscription=None).code == ResponseCode.SUBSCRIPTION_NOT_EXIST


def test_a_pull_that_overtakes_its_heartbeat_is_answered_25():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        client.heartbeat(version=7)
        reply = client.pull(subscription=None, version=8)
        assert reply.code == ResponseCode.SUBSCRIPTION_NOT_LATEST
        assert "8" in (reply.remark or "")
        client.heartbeat(version=8)
        assert client.pull(subscription=None, version=8).code == ResponseCode.SUCCESS


def test_a_broadcasting_group_is_refused_where_broadcasting_is_off():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        client.heartbeat(message_model=MessageModel.BROADCASTING)
        set_group(lab, consume_broadcast_enable=False)
        assert client.pull(subscription=None).code == ResponseCode.NO_PERMISSION


def test_sql_filters_are_refused_as_where_they_are_switched_off():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        request = client.pull_request(subscription="a > 3")
        request.ext_fields["expressionType"] = "SQL92"
        reply = client.exchange(request)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "SQL92" in (reply.remark or "")


def test_a_subscription_without_a_tag_cannot_be_parsed():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        assert client.pull(subscription="||").code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


# --- what the store finds --------------------------------------------------------------------------------------------


def test_offsets_that_are_not_there_are_answered_by_rocketmq_s_codes():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        assert client.pull().code == ResponseCode.PULL_NOT_FOUND
        reply = client.pull(offset=5)
        assert (reply.code, offsets(reply)[0]) == (ResponseCode.PULL_OFFSET_MOVED, 0)
        client.send()
        reply = client.pull(offset=1)
        assert (reply.code, reply.remark) == (ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE")
        reply = client.pull(offset=2)
        assert (reply.code, reply.remark) == (ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY")
        assert offsets(reply) == (1, 0, 1)
        reply = client.pull(offset=-1)
        assert (reply.code, reply.remark, offsets(reply)[0]) == (
            ResponseCode.PULL_OFFSET_MOVED,
            "OFFSET_TOO_SMALL",
            0,
        )
        assert reply.ext_fields.keys() == OFFSET_FIELDS


def test_messages_that_the_tags_do_not_let_through_are_skipped():
    with broker_lab() as lab:
        client = lab.client()
        for _ in range(3):
            client.send(tags="TagB")
        reply = client.pull(subscription="TagA || TagC")
        assert (reply.code, reply.remark) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
        assert offsets(reply)[0] == 3


def test_a_moved_offset_leaves_an_event_in_its_topic():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        client.pull(offset=9)
        (event,) = client.messages("OFFSET_MOVED_EVENT")
        assert event.tags == "consumers"
        assert json.loads(event.body) == {
            "consumerGroup": "consumers",
            "messageQueue": {"brokerName": "broker-a", "queueId": 0, "topic": "T"},
            "offsetNew": 1,
            "offsetRequest": 9,
        }


def test_the_offset_in_a_pull_is_committed_once():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        task = client.begin(client.pull_request(suspend_ms=15_000, commit_offset=7))
        lab.run_for(100)
        manager = lab.broker.consumer_offset_manager
        assert manager.query_offset("consumers", "T", 0) == 7
        manager.commit_offset("test", "consumers", "T", 0, 9)
        client_two = lab.client("second")
        client_two.send()
        lab.run_for(1_000)
        assert task.done()
        assert manager.query_offset("consumers", "T", 0) == 9


def test_a_pull_whose_offset_has_no_room_is_refused_and_not_parked():
    with broker_lab(BrokerConfig(max_consumer_offset_entries=0)) as lab:
        client = lab.client()
        client.create_topic("T")
        reply = client.pull(suspend_ms=15_000, commit_offset=7)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert len(lab.broker.pull_request_hold_service) == 0


# --- long polling ----------------------------------------------------------------------------------------------------


def test_a_parked_pull_wakes_when_a_message_arrives():
    with broker_lab() as lab:
        consumer, producer = lab.client("consumer"), lab.client("producer")
        consumer.create_topic("T")
        task = consumer.begin(consumer.pull_request(suspend_ms=15_000))
        lab.run_for(3_000)
        assert not task.done()
        assert len(lab.broker.pull_request_hold_service) == 1
        producer.send(queue_id=1)
        lab.run_for(10)
        assert not task.done()
        producer.send(body=b"now", queue_id=0)
        lab.run_for(10)
        assert [message.body for message in decode_messages(task.result().body)] == [b"now"]
        assert len(lab.broker.pull_request_hold_service) == 0
        assert lab.broker.stats.history(lab.world.node("broker-a").clock.now_ms() + 1_000, 1)[0].deliver_p99_ms <= 1


def test_a_pull_that_does_not_want_to_wait_is_answered_at_once():
    with broker_lab() as lab:
        consumer = lab.client("consumer")
        consumer.create_topic("T")
        task = consumer.begin(consumer.pull_request())
        lab.run_for(100)
        assert task.result().code == ResponseCode.PULL_NOT_FOUND
        assert len(lab.broker.pull_request_hold_service) == 0


def test_messages_that_arrive_together_wake_a_pull_once():
    with broker_lab() as lab:
        consumer, producer = lab.client("consumer"), lab.client("producer")
        consumer.create_topic("T")
        task = consumer.begin(consumer.pull_request(suspend_ms=15_000))
        lab.run_for(100)
        for number in range(3):
            producer.begin(producer.send_request("T", Message("T", b"%d" % number)))
        lab.run_for(100)
        assert len(decode_messages(task.result().body)) >= 1


def test_a_message_with_another_tag_does_not_wake_a_parked_pull():
    with broker_lab() as lab:
        consumer, producer = lab.client("consumer"), lab.client("producer")
        consumer.create_topic("T")
        task = consumer.begin(consumer.pull_request(suspend_ms=60_000, subscription="TagA"))
        lab.run_for(100)
        producer.send(tags="TagB")
        lab.run_for(100)
        assert not task.done()
        lab.run_for(5_000)
        assert task.result().code == ResponseCode.PULL_RETRY_IMMEDIATELY
        assert offsets(task.result())[0] == 1


def test_a_parked_pull_is_answered_at_the_first_look_after_its_time():
    with broker_lab() as lab:
        consumer = lab.client("consumer")
        consumer.create_topic("T")
        begin_ms = lab.world.node("broker-a").clock.now_ms()
        task = consumer.begin(consumer.pull_request(suspend_ms=15_000))
        lab.world.run_until(task.done)
        waited_ms = lab.world.node("broker-a").clock.now_ms() - begin_ms
        assert 15_000 <= waited_ms <= 20_100
        assert task.result().code == ResponseCode.PULL_NOT_FOUND
        assert task.result().ext_fields.keys() == OFFSET_FIELDS


def test_without_long_polling_a_pull_waits_for_a_second_only():
    with broker_lab(BrokerConfig(long_polling_enable=False, hold_check_interval_ms=1_000)) as lab:
        consumer = lab.client("consumer")
        consumer.create_topic("T")
        begin_ms = lab.world.node("broker-a").clock.now_ms()
        task = consumer.begin(consumer.pull_request(suspend_ms=15_000))
        lab.world.run_until(task.done)
        assert lab.world.node("broker-a").clock.now_ms() - begin_ms <= 2_100


def test_a_parked_pull_of_a_closed_connection_is_dropped():
    with broker_lab() as lab:
        consumer = lab.client("consumer")
        consumer.create_topic("T")
        consumer.begin(consumer.pull_request(suspend_ms=1_000_000))
        lab.run_for(100)
        lab.world.crash("consumer")
        lab.run_for(5_100)
        assert len(lab.broker.pull_request_hold_service) == 0


def test_parked_pulls_are_bounded_and_the_rest_is_answered_at_once():
    with broker_lab(BrokerConfig(max_held_pull_requests=2)) as lab:
        consumer = lab.client("consumer")
        consumer.create_topic("T")
        tasks = [consumer.begin(consumer.pull_request(suspend_ms=15_000)) for _ in range(4)]
        lab.run_for(100)
        assert [task.done() for task in tasks] == [False, False, True, True]
        assert tasks[3].result().code == ResponseCode.PULL_NOT_FOUND


def test_a_parked_pull_of_a_topic_that_became_unreadable_is_answered_so():
    with broker_lab() as lab:
        consumer, tool = lab.client("consumer"), lab.client("tool")
        consumer.create_topic("T")
        task = consumer.begin(consumer.pull_request(suspend_ms=15_000))
        lab.run_for(100)
        tool.create_topic("T", perm=2)
        tool.send()
        lab.run_for(100)
        assert task.result().code == ResponseCode.NO_PERMISSION


def test_the_broker_sees_who_pulls_which_queue():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        first.create_topic("T")
        for client in (first, second):
            client.heartbeat()
        first.pull(queue_id=0)
        second.pull(queue_id=1)
        info = lab.broker.consumer_manager.get_consumer_group_info("consumers")
        assert info is not None
        pullers = {queue: info.channel_info_table[channel].client_id for queue, channel in info.last_pulled_by.items()}
        assert pullers == {("T", 0): "first@1", ("T", 1): "second@1"}
        lab.world.crash("first")
        lab.run_for(100)
        assert list(info.last_pulled_by) == [("T", 1)]


def test_the_request_code_of_sql_checks_answers_like_a_broker_without_property_filter():
    frames = golden_frames()
    check = next(f for f in frames if f["dir"] == "C" and f["header"]["code"] == RequestCode.CHECK_CLIENT_CONFIG)
    with broker_lab() as lab:
        client = lab.client()
        reply = client.call(RequestCode.CHECK_CLIENT_CONFIG, body=check["body"].encode())
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "enablePropertyFilter" in (reply.remark or "")
        by_tag = check["body"].replace("SQL92", "TAG").encode()
        assert client.call(RequestCode.CHECK_CLIENT_CONFIG, body=by_tag).code == ResponseCode.SUCCESS
