"""Consumer groups and their progress through the eyes of tools."""

import json

import pytest

from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    UnregisterClientRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.enums import MessageModel
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import LabClient, broker_lab
from tests.engine.broker.processors.test_admin_processors import captured_reply


def commit(client: LabClient, offset: int, *, topic: str = "T", queue_id: int = 0, group: str = "consumers") -> None:
    header = UpdateConsumerOffsetRequestHeader(group, topic, queue_id, offset)
    assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS


def test_all_groups_are_reported_with_the_version_of_the_table():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat("audit")
        body = json.loads(client.call(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body)
        golden = json.loads(captured_reply(201)["body"])
        assert body.keys() == golden.keys()
        assert body["subscriptionGroupTable"]["audit"].keys() == golden["subscriptionGroupTable"]["gc1"].keys()


def broadcasts(client: LabClient, group: str = "screens") -> bool:
    """Return what tools see of the group."""
    stats = json.loads(client.call(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader(group)).body)
    return stats.get("messageModel") == "BROADCASTING"


@pytest.mark.parametrize("how", ["shut down", "power cut"])
def test_it_is_remembered_that_a_group_broadcasts_while_it_is_offline_and_after_a_restart(how):
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat("screens", message_model=MessageModel.BROADCASTING)
        client.heartbeat("billing")
        header = UnregisterClientRequestHeader("client@1", "", "screens")
        assert client.call(RequestCode.UNREGISTER_CLIENT, header).code == ResponseCode.SUCCESS
        assert (broadcasts(client), broadcasts(client, "billing")) == (True, False)
        lab.run_for(10_000)
        if how == "shut down":
            lab.stop_broker()
        else:
            lab.restart_broker(keep_page_cache=False)
        client = lab.client("later")
        assert (broadcasts(client), broadcasts(client, "billing")) == (True, False)


def test_the_last_word_of_the_members_counts_and_no_tool_changes_it():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat("screens", message_model=MessageModel.BROADCASTING)
        config = json.dumps({"groupName": "screens", "retryMaxTimes": 3}).encode()
        client.call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config)
        assert lab.broker.subscription_group_manager.subscription_group_table["screens"].retry_max_times == 3
        assert broadcasts(client)
        client.heartbeat("screens")
        assert not broadcasts(client)
        table = json.loads(client.call(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body)["subscriptionGroupTable"]
        assert "messageModel" not in table["screens"], "as RocketMQ writes it"


@pytest.mark.parametrize("remove_offset", [True, False])
def test_a_group_is_deleted_with_its_offsets_only_on_request(remove_offset):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.send()
        for group in ("consumers", "consumers2"):
            client.pull(group=group)
            commit(client, 1, group=group)
        header = DeleteSubscriptionGroupRequestHeader("consumers", remove_offset)
        assert client.call(RequestCode.DELETE_SUBSCRIPTIONGROUP, header).code == ResponseCode.SUCCESS
        broker = lab.broker
        assert "consumers" not in broker.subscription_group_manager.subscription_group_table
        expected = ["T@consumers2"] if remove_offset else ["T@consumers", "T@consumers2"]
        assert list(broker.consumer_offset_manager.offset_table) == expected
        assert list(broker.stats.groups) == [("T", "consumers2")]
        lab.stop_broker()
        assert "consumers" not in lab.broker.subscription_group_manager.subscription_group_table


def test_a_group_that_nobody_knows_counts_as_deleted_and_a_bad_name_is_refused():
    with broker_lab() as lab:
        client = lab.client()
        for group, code in (("nobody", ResponseCode.SUCCESS), ("a b", ResponseCode.SYSTEM_ERROR)):
            header = DeleteSubscriptionGroupRequestHeader(group, True)
            assert client.call(RequestCode.DELETE_SUBSCRIPTIONGROUP, header).code == code


def test_the_progress_of_all_groups_adds_up():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 2)
        for _ in range(5):
            client.send(queue_id=1)
        for group, offset in (("a", 5), ("b", 2)):
            client.pull(queue_id=1, group=group)
            commit(client, offset, queue_id=1, group=group)
        reply = client.call(RequestCode.GET_BROKER_CONSUME_STATS, GetConsumeStatsInBrokerHeader(False))
        body = loads_json(reply.body)
        assert body["totalDiff"] == 3
        assert body["brokerAddr"] == lab.broker.address
        stats = {group: of_group for entry in body["consumeStatsList"] for group, of_group in entry.items()}
        [of_b] = stats["b"]
        assert [(key["queueId"], value["consumerOffset"]) for key, value in of_b["offsetTable"].pairs] == [
            (0, 0),
            (1, 2),
        ]
        assert stats["TOOLS_CONSUMER"] == []
        ordered = client.call(RequestCode.GET_BROKER_CONSUME_STATS, GetConsumeStatsInBrokerHeader(True))
        assert loads_json(ordered.body)["totalDiff"] == 0


def test_the_time_span_tells_what_is_there_and_what_was_consumed():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 2)
        for _ in range(3):
            client.send()
            lab.run_for(1_000)
        commit(client, 1)
        header = QueryConsumeTimeSpanRequestHeader("T", "consumers")
        spans = json.loads(client.call(RequestCode.QUERY_CONSUME_TIME_SPAN, header).body)["consumeTimeSpanSet"]
        first, second = spans
        assert first["maxTimeStamp"] - first["minTimeStamp"] == pytest.approx(2_000, abs=100)
        assert first["consumeTimeStamp"] == first["minTimeStamp"]
        assert first["delayTime"] == pytest.approx(2_000, abs=100)
        assert second["messageQueue"]["queueId"] == 1
        assert (second["minTimeStamp"], second["maxTimeStamp"], second["delayTime"]) == (-1, -1, 0)
        golden = json.loads(captured_reply(303)["body"])["consumeTimeSpanSet"][0]
        # RocketMQ prints each time as text too.
        assert first.keys() == {name for name in golden if not name.endswith("Str")}


def test_the_time_span_of_a_group_without_offset_is_the_age_of_the_oldest_message():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.send()
        lab.run_for(5_000)
        header = QueryConsumeTimeSpanRequestHeader("T", "nobody")
        [span] = json.loads(client.call(RequestCode.QUERY_CONSUME_TIME_SPAN, header).body)["consumeTimeSpanSet"]
        assert span["delayTime"] == pytest.approx(5_000, abs=100)
        missing = client.call(RequestCode.QUERY_CONSUME_TIME_SPAN, QueryConsumeTimeSpanRequestHeader("X", "g"))
        assert missing.code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize(("read", "write"), [(1, 3), (3, 1)])
def test_all_groups_are_counted_on_the_queues_one_writes_to_and_one_group_on_those_it_reads(read, write):
    """As in RocketMQ: what a shrinking topic still holds is nobody's lag any more for one, and is for the other."""
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 3)
        commit(client, 0)
        client.pull(suspend_ms=0)  # which makes the group
        header = CreateTopicRequestHeader("T", "TBW102", read, write, 6, "SINGLE_TAG", 0, False)
        assert client.call(RequestCode.UPDATE_AND_CREATE_TOPIC, header).code == ResponseCode.SUCCESS
        every = loads_json(client.call(RequestCode.GET_BROKER_CONSUME_STATS, GetConsumeStatsInBrokerHeader(False)).body)
        [[stats]] = [one["consumers"] for one in every["consumeStatsList"] if "consumers" in one]
        assert len(stats["offsetTable"].pairs) == write
        one = loads_json(client.call(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader("consumers")).body)
        assert len(one["offsetTable"].pairs) == read


def test_the_last_consumed_message_says_when_it_was_stored():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(3):
            client.send()
            lab.run_for(1_000)
        commit(client, 2)
        reply = client.call(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader("consumers"))
        [(_, progress)] = loads_json(reply.body)["offsetTable"].pairs
        stored = client.messages(offset=1)[0].store_timestamp
        assert progress["lastTimestamp"] == stored


def test_a_deleted_group_s_offsets_do_not_come_back_after_a_crash():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.send()
        commit(client, 1)
        lab.run_for(6_000)
        client.call(RequestCode.DELETE_SUBSCRIPTIONGROUP, DeleteSubscriptionGroupRequestHeader("consumers", True))
        lab.restart_broker()
        assert lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0) == -1
