"""What mqadmin and other tools ask a broker."""

import json

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsRequestHeader,
    GetProducerConnectionListRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryMessageRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
    QueueRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
    ViewMessageRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab, golden_frames

WORLD_BEGIN_MS = 1_767_225_600_000


def captured_reply(code: int) -> dict:
    """The captured reply to the first captured request of ``code``."""
    frames = golden_frames()
    request = next(f for f in frames if f["dir"] == "C" and f["header"]["code"] == code)
    return next(
        f
        for f in frames
        if f["dir"] == "S"
        and f["header"]["flag"] == 1
        and (f["conn"], f["header"]["opaque"]) == (request["conn"], request["header"]["opaque"])
    )


def offsets_by_queue(reply: RemotingCommand) -> dict[int, dict]:
    table = loads_json(reply.body)["offsetTable"]
    return {MessageQueue.from_dict(key).queue_id: value for key, value in table.pairs}


# --- topics ----------------------------------------------------------------------------------------------------------


def test_a_topic_is_created_and_changed_by_tools():
    with broker_lab() as lab:
        client = lab.client()
        assert client.create_topic("T", 2).code == ResponseCode.SUCCESS
        assert client.create_topic("T", 6, perm=4).code == ResponseCode.SUCCESS
        config = lab.broker.topic_config_manager.topic_config_table["T"]
        assert (config.read_queue_nums, config.perm) == (6, 4)


@pytest.mark.parametrize("topic", ["TBW102", "SCHEDULE_TOPIC_XXXX", "DefaultCluster", "broker-a", "rmq_sys_x"])
def test_nobody_changes_a_system_topic(topic):
    with broker_lab() as lab:
        assert lab.client().create_topic(topic).code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize(
    "fields",
    [
        {"read_queue_nums": -1},
        {"write_queue_nums": 2_000_000},
        {"perm": 64},
        {"topic_filter_type": "NO_TAG"},
        {"topic": "bad topic"},
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_its_reason(fields):
    values = {
        "topic": "T",
        "default_topic": "TBW102",
        "read_queue_nums": 4,
        "write_queue_nums": 4,
        "perm": 6,
        "topic_filter_type": "SINGLE_TAG",
    } | fields
    with broker_lab() as lab:
        reply = lab.client().call(RequestCode.UPDATE_AND_CREATE_TOPIC, CreateTopicRequestHeader(**values))
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert reply.remark
        assert "T" not in lab.broker.topic_config_manager.topic_config_table


def test_topic_stats_tell_offsets_and_the_time_of_the_newest_message():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 2)
        lab.run_for(1_000)
        client.send(queue_id=1)
        reply = client.call(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader("T"))
        table = offsets_by_queue(reply)
        assert table[0] == {"lastUpdateTimestamp": 0, "maxOffset": 0, "minOffset": 0}
        assert (table[1]["maxOffset"], table[1]["minOffset"]) == (1, 0)
        assert table[1]["lastUpdateTimestamp"] >= WORLD_BEGIN_MS + 1_000
        golden = loads_json(captured_reply(202)["body"].encode())["offsetTable"]
        assert golden.pairs[0][0].keys() == loads_json(reply.body)["offsetTable"].pairs[0][0].keys()
        assert golden.pairs[0][1].keys() == table[0].keys()
        missing = client.call(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader("X"))
        assert missing.code == ResponseCode.TOPIC_NOT_EXIST


# --- groups ----------------------------------------------------------------------------------------------------------


def test_a_group_is_created_by_tools():
    body = next(f for f in golden_frames() if f["dir"] == "C" and f["header"]["code"] == 200)["body"].encode()
    with broker_lab() as lab:
        client = lab.client()
        assert client.call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body).code == ResponseCode.SUCCESS
        config = lab.broker.subscription_group_manager.subscription_group_table["gc1"]
        assert config.retry_max_times == 3
        for bad in (b"{}", b'{"groupName":"a b"}', b'{"groupName":"g","retryQueueNums":-1}', b"nonsense"):
            reply = client.call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=bad)
            assert reply.code == ResponseCode.SYSTEM_ERROR
            assert "internal error" not in (reply.remark or "")


def test_connections_of_consumers_look_like_the_captured_ones():
    with broker_lab() as lab:
        client = lab.client()
        header = GetConsumerConnectionListRequestHeader("consumers")
        assert client.call(RequestCode.GET_CONSUMER_CONNECTION_LIST, header).code == ResponseCode.CONSUMER_NOT_ONLINE
        client.heartbeat(subscriptions={"T": "TagA || TagB"})
        body = json.loads(client.call(RequestCode.GET_CONSUMER_CONNECTION_LIST, header).body)
        golden = json.loads(captured_reply(203)["body"])
        assert body.keys() == golden.keys()
        assert body["connectionSet"][0].keys() == golden["connectionSet"][0].keys()
        assert body["connectionSet"][0]["clientId"] == "client@1"
        assert body["connectionSet"][0]["language"] == "JAVA"
        assert body["subscriptionTable"]["T"].keys() == golden["subscriptionTable"]["GT"].keys()
        assert body["messageModel"] == "CLUSTERING"


def test_connections_of_producers_look_like_the_captured_ones():
    with broker_lab() as lab:
        client = lab.client()
        header = GetProducerConnectionListRequestHeader("p")
        assert client.call(RequestCode.GET_PRODUCER_CONNECTION_LIST, header).code == ResponseCode.SYSTEM_ERROR
        client.heartbeat(producer_groups=("p",))
        body = json.loads(client.call(RequestCode.GET_PRODUCER_CONNECTION_LIST, header).body)
        assert body["connectionSet"][0].keys() == json.loads(captured_reply(204)["body"])["connectionSet"][0].keys()


def commit(client: LabClient, offset: int, queue_id: int, topic: str = "T") -> None:
    header = UpdateConsumerOffsetRequestHeader("consumers", topic, queue_id, offset)
    assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS


def test_consume_stats_tell_how_far_broker_and_group_are():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 2)
        for _ in range(3):
            client.send(queue_id=1)
        client.pull(queue_id=1)
        commit(client, 2, 1)
        lab.run_for(10_500)
        reply = client.call(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader("consumers"))
        table = offsets_by_queue(reply)
        assert table[0] == {"brokerOffset": 0, "consumerOffset": 0, "lastTimestamp": 0}
        assert (table[1]["brokerOffset"], table[1]["consumerOffset"]) == (3, 2)
        assert table[1]["lastTimestamp"] > WORLD_BEGIN_MS
        assert loads_json(reply.body)["consumeTps"] == pytest.approx(0.3)
        assert loads_json(reply.body).keys() == loads_json(captured_reply(208)["body"].encode()).keys()


def test_consume_stats_leave_out_topics_the_group_has_given_up():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.create_topic("U", 1)
        commit(client, 0, 0)
        commit(client, 0, 0, "U")
        client.heartbeat(subscriptions={"T": "*"})
        reply = client.call(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader("consumers"))
        assert [key["topic"] for key, _ in loads_json(reply.body)["offsetTable"].pairs] == ["T"]
        named = client.call(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader("consumers", "Nowhere"))
        assert loads_json(named.body)["offsetTable"] == {}


def test_who_consumes_a_topic_is_known_from_heartbeats_and_offsets():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        commit(client, 0, 0)
        client.heartbeat("online")
        reply = client.call(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, QueryTopicConsumeByWhoRequestHeader("T"))
        assert sorted(json.loads(reply.body)["groupList"]) == ["consumers", "online"]


# --- queues and messages ---------------------------------------------------------------------------------------------


def test_the_four_questions_about_a_queue():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        ask = QueueRequestHeader("T", 0)
        assert client.call(RequestCode.GET_MAX_OFFSET, ask).ext_fields == {"offset": "0"}
        assert client.call(RequestCode.GET_EARLIEST_MSG_STORETIME, ask).ext_fields == {"timestamp": "-1"}
        for _ in range(3):
            client.send()
            lab.run_for(1_000)
        assert client.call(RequestCode.GET_MAX_OFFSET, ask).ext_fields == {"offset": "3"}
        assert client.call(RequestCode.GET_MIN_OFFSET, ask).ext_fields == {"offset": "0"}
        earliest = int(client.call(RequestCode.GET_EARLIEST_MSG_STORETIME, ask).ext_fields["timestamp"])
        assert WORLD_BEGIN_MS <= earliest <= WORLD_BEGIN_MS + 100
        by_time = SearchOffsetRequestHeader("T", 0, earliest + 900)
        assert client.call(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, by_time).ext_fields == {"offset": "1"}


@pytest.mark.parametrize("queue_id", [-1, 999, 2_147_483_647])
def test_questions_about_unknown_queues_leave_no_trace(queue_id):
    with broker_lab() as lab:
        client = lab.client()
        for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET, RequestCode.GET_EARLIEST_MSG_STORETIME):
            assert client.call(code, QueueRequestHeader("Nowhere", queue_id)).code == ResponseCode.SUCCESS
        client.call(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, SearchOffsetRequestHeader("Nowhere", queue_id, 5))
        assert lab.broker.store.topics() == []


def test_a_message_is_found_by_its_unique_id_although_its_sender_s_clock_is_ahead_of_the_broker_s():
    with broker_lab() as lab:
        client = lab.client()
        client.send(properties={"UNIQ_KEY": "AB12"}, keys="order-1")
        hour_ahead = WORLD_BEGIN_MS + 3_600_000
        for key, is_unique, code in (
            ("AB12", "true", ResponseCode.SUCCESS),
            ("order-1", "false", ResponseCode.QUERY_NOT_FOUND),
        ):
            header = QueryMessageRequestHeader("T", key, 32, hour_ahead, 1 << 62)
            request = RemotingCommand.request(RequestCode.QUERY_MESSAGE, header)
            request.ext_fields["_UNIQUE_KEY_QUERY"] = is_unique
            assert client.exchange(request).code == code


def test_a_message_is_found_by_key_by_unique_id_and_by_its_offset_id():
    with broker_lab() as lab:
        client = lab.client()
        sent = client.send(keys="order-1 order-2", properties={"UNIQ_KEY": "AB12"})
        client.send(keys="order-3")
        for key in ("order-2", "AB12"):
            header = QueryMessageRequestHeader("T", key, 32, 0, 1 << 62)
            request = RemotingCommand.request(RequestCode.QUERY_MESSAGE, header)
            if key == "AB12":
                request.ext_fields["_UNIQUE_KEY_QUERY"] = "true"
            reply = client.exchange(request)
            assert reply.code == ResponseCode.SUCCESS
            assert [message.unique_id for message in decode_messages(reply.body)] == ["AB12"]
            assert reply.ext_fields.keys() == captured_reply(12)["header"]["extFields"].keys()
        missing = client.call(RequestCode.QUERY_MESSAGE, QueryMessageRequestHeader("T", "none", 32, 0, 1 << 62))
        assert missing.code == ResponseCode.QUERY_NOT_FOUND
        _, offset = decode_offset_message_id(sent.ext_fields["msgId"])
        reply = client.call(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset))
        assert decode_messages(reply.body)[0].unique_id == "AB12"
        for wrong in (offset + 1, -1, 1 << 60):
            reply = client.call(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(wrong))
            assert reply.code == ResponseCode.SYSTEM_ERROR


# --- the broker ------------------------------------------------------------------------------------------------------


def runtime_info(lab: BrokerLab) -> dict[str, str]:
    reply = lab.client().call(RequestCode.GET_BROKER_RUNTIME_INFO)
    table = json.loads(reply.body)["table"]
    assert all(isinstance(value, str) for value in table.values())
    return table


def test_the_runtime_table_has_the_names_of_the_captured_one_and_true_values():
    golden = json.loads(captured_reply(28)["body"])["table"]
    with broker_lab() as lab:
        client = lab.client()
        for _ in range(20):
            client.send()
        client.pull()
        client.send(delay_level=1)
        lab.run_for(10_000)
        table = runtime_info(lab)
        of_a_folder = {name for name in golden if name.startswith("commitLogDiskRatio_")}
        own = {name: table.pop(name) for name in list(table) if name.startswith("glassmq")}
        assert own == {"glassmqRole": "ASYNC_MASTER", "glassmqClients": "0", "glassmqHeldPulls": "0"}
        assert table.keys() == golden.keys() - of_a_folder
        assert table["brokerVersionDesc"] == "V4_9_8"
        assert table["msgPutTotalTodayNow"] == "21"
        assert table["msgGetTotalTodayNow"] == "20"
        assert table["commitLogMaxOffset"] == str(lab.broker.store.commit_log.max_offset)
        assert table["scheduleMessageOffset_1"] == "1,1"
        assert table["runtime"] == "[ 0 days, 0 hours, 0 minutes, 10 seconds ]"
        assert float(table["putTps"].split(" ")[0]) == pytest.approx(2.1)
        assert int(table["earliestMessageTimeStamp"]) >= WORLD_BEGIN_MS
        assert table["remainTransientStoreBufferNumbs"] == golden["remainTransientStoreBufferNumbs"]
        lab.run_for(60_000)
        assert "[<=0ms]:21 " in runtime_info(lab)["putMessageDistributeTime"]


@pytest.mark.parametrize(
    ("capacity", "used", "text"),
    [
        (1_000, 1_000, "Total : 1000 B, Free : 0 B."),
        (1_024, 0, "Total : 1.0 KiB, Free : 1.0 KiB."),
        (3 * 2**39, 2**40, "Total : 1.5 TiB, Free : 512.0 GiB."),
        (2**62, 2**62 - 1_536, "Total : 4.0 EiB, Free : 1.5 KiB."),
    ],
)
def test_the_runtime_table_tells_the_disk_s_room_in_rocketmq_s_form(capacity, used, text):
    with broker_lab() as lab:
        storage = lab.world.node("broker-a").disk.storage
        storage.capacity_bytes = capacity
        storage.occupied_bytes = used - (storage.used_bytes - storage.occupied_bytes)
        assert runtime_info(lab)["commitLogDirCapacity"] == text


def test_the_settings_are_the_real_ones_under_rocketmq_s_names():
    with broker_lab(BrokerConfig(auto_create_topic_enable=False)) as lab:
        reply = lab.client().call(RequestCode.GET_BROKER_CONFIG)
        settings = dict(line.split("=", 1) for line in reply.body.decode().splitlines())
        assert settings["autoCreateTopicEnable"] == "false"
        assert settings["brokerName"] == "broker-a"
        assert settings["brokerClusterName"] == "DefaultCluster"
        assert f"{settings['brokerIP1']}:{settings['listenPort']}" == lab.broker.address
        assert settings["flushDiskType"] == "ASYNC_FLUSH"
        assert settings["mappedFileSizeCommitLog"] == str(16 * 1024 * 1024)
        assert settings["diskMaxUsedSpaceRatio"] == "75"
        assert settings["fileReservedTime"] == "72"
        assert settings["enablePropertyFilter"] == "false"
        assert json.loads(reply.ext_fields["version"]).keys() == {"counter", "timestamp"}


#: What clients, transactions, filters, rules and tools need, and nothing else.
SERVED = {10, 11, 12, 14, 15, 17, 21, 25, 26, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 41, 42, 43, 45, 46}
SERVED |= {50, 51, 52, 53, 200, 201, 202, 203, 204, 207, 208, 215, 222, 223, 300, 303, 305, 306, 307, 308, 309, 310}
SERVED |= {314, 315, 316, 317, 320, 321, 323, 324, 325, 328, 329}
#: Declared by RocketMQ 4.9.8, and answered with code 3 there too.
DECLARED_ONLY = (13, 22, 23, 27, 209, 210, 211, 212, 213, 214, 301, 302)


def test_codes_that_are_not_served_are_answered_with_3():
    with broker_lab() as lab:
        assert set(lab.broker.server.processors.codes) == SERVED
        client = lab.client()
        for code in (*DECLARED_ONLY, 39, 40, 105, 106, 9_999, -5, 2_000_000_000):
            assert client.call(code).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
