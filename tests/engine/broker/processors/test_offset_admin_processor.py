"""Stored offsets through the eyes of tools."""

import json

import pytest

from engine.broker.tables.offset_resets import GUARD_MS
from engine.protocol.body.bodies import ResetOffsetBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    CloneGroupOffsetRequestHeader,
    DeleteTopicRequestHeader,
    GetConsumeStatsRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ConsumeType, LanguageCode
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab

LATEST = -1


def commit(client: LabClient, offset: int, *, topic: str = "T", queue_id: int = 0, group: str = "consumers") -> None:
    header = UpdateConsumerOffsetRequestHeader(group, topic, queue_id, offset)
    assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS


def filled(lab: BrokerLab) -> LabClient:
    """Topic T with one queue and 10 messages, one a second; the group has consumed 6 of them."""
    client = lab.client()
    client.create_topic("T", 1)
    for _ in range(10):
        client.send()
        lab.run_for(1_000)
    commit(client, 6)
    return client


def reset(
    client: LabClient, timestamp: int, *, force: bool = True, topic: str = "T", group: str = "consumers"
) -> RemotingCommand:
    header = ResetOffsetRequestHeader(topic, group, timestamp, force)
    return client.call(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)


def member(lab: BrokerLab, name: str, consume_type: ConsumeType = ConsumeType.CONSUME_PASSIVELY) -> LabClient:
    """Return a member of the group that keeps the requests that it gets."""
    client = lab.client(name)
    client.remoting.register_processor(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, client._notified)
    client.heartbeat(client_id=name, consume_type=consume_type)
    return client


def stored(lab: BrokerLab) -> int:
    return lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0)


def is_awaited(tool: LabClient) -> bool:
    """What the broker tells of a queue that was reset."""
    stats = tool.call(RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequestHeader("consumers"))
    return b'"resetAwaited":true' in stats.body


def reported(client: LabClient) -> list[RemotingCommand]:
    return [request for request in client.notified if request.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET]


def test_a_reset_tells_every_member_where_to_begin_and_stores_that():
    with broker_lab() as lab:
        tool = filled(lab)
        members = [member(lab, "m1"), member(lab, "m2")]
        begun_ms = lab.broker.store.earliest_message_time("T", 0)
        reply = reset(tool, begun_ms + 3_000)
        queue = MessageQueue("T", "broker-a", 0)
        assert ResetOffsetBody.from_json(reply.body).offset_table == {queue: 3}
        lab.run_for(100)
        for client in members:
            [request] = reported(client)
            assert ResetOffsetBody.from_json(request.body).offset_table == {queue: 3}
            assert request.ext_fields["topic"] == "T"
        assert stored(lab) == 3
        lab.restart_broker()
        assert stored(lab) == 3, "it was on the disk before the answer"


def test_a_member_cannot_store_an_offset_that_is_older_than_a_reset():
    with broker_lab() as lab:
        tool = filled(lab)
        first, second = member(lab, "m1"), member(lab, "m2")
        reset(tool, 0)
        late = UpdateConsumerOffsetRequestHeader("consumers", "T", 0, 6)
        assert "older than a reset" in (first.call(RequestCode.UPDATE_CONSUMER_OFFSET, late).remark or "")
        second.exchange(second.pull_request(offset=6, commit_offset=6))
        assert (stored(lab), is_awaited(tool)) == (0, True)
        commit(first, 0)
        assert not is_awaited(tool)
        first.exchange(first.pull_request(offset=0, max_messages=4))
        commit(first, 4)
        second.exchange(second.pull_request(offset=6, commit_offset=6))
        assert stored(lab) == 4, "it was not pulled that far since"
        first.exchange(first.pull_request(offset=4))
        commit(first, 10)
        assert stored(lab) == 10


def test_after_half_a_minute_a_member_may_store_any_offset():
    with broker_lab() as lab:
        tool = filled(lab)
        first = member(lab, "m1")
        reset(tool, 0)
        lab.run_for(GUARD_MS)
        assert not is_awaited(tool)
        commit(first, 6)
        assert stored(lab) == 6


def test_whoever_is_no_member_may_store_any_offset_after_a_reset():
    with broker_lab() as lab:
        tool = filled(lab)
        first = member(lab, "m1")
        reset(tool, 0)
        commit(tool, 2)
        assert stored(lab) == 2
        commit(first, 6)
        assert stored(lab) == 6, "the reset is not what counts any more"


@pytest.mark.parametrize("how", ["the topic is made again", "the offsets are cloned"])
def test_offsets_that_are_replaced_after_a_reset_are_not_protected(how):
    with broker_lab() as lab:
        tool = filled(lab)
        first = member(lab, "m1")
        reset(tool, LATEST)
        if how == "the topic is made again":
            assert tool.call(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader("T")).code == 0
            tool.create_topic("T", 1)
        else:
            commit(tool, 2, group="others")
            header = CloneGroupOffsetRequestHeader("others", "consumers", "T", offline=True)
            assert tool.call(RequestCode.CLONE_GROUP_OFFSET, header).code == ResponseCode.SUCCESS
        commit(first, 3)
        assert stored(lab) == 3


def test_a_reset_leaves_the_offsets_of_members_that_pull_for_themselves():
    with broker_lab() as lab:
        tool = filled(lab)
        puller = member(lab, "m1", ConsumeType.CONSUME_ACTIVELY)
        reset(tool, 0)
        assert (stored(lab), is_awaited(tool)) == (6, False)
        commit(puller, 7)
        assert stored(lab) == 7


@pytest.mark.parametrize(("force", "expected"), [(True, 10), (False, 6)])
def test_without_force_a_reset_only_goes_back(force, expected):
    with broker_lab() as lab:
        tool = filled(lab)
        member(lab, "m")
        reply = reset(tool, LATEST, force=force)
        assert list(ResetOffsetBody.from_json(reply.body).offset_table.values()) == [expected]


def test_a_reset_needs_the_topic_an_offset_and_somebody_online():
    with broker_lab() as lab:
        tool = filled(lab)
        assert reset(tool, LATEST).code == ResponseCode.CONSUMER_NOT_ONLINE
        assert reset(tool, LATEST, topic="Nowhere").code == ResponseCode.SYSTEM_ERROR
        tool.create_topic("U", 1)
        refused = reset(tool, LATEST, topic="U")
        assert refused.code == ResponseCode.SYSTEM_ERROR
        assert "no offset" in (refused.remark or "")


@pytest.mark.parametrize("force", [True, False])
def test_members_that_have_not_stored_an_offset_yet_can_be_reset(force):
    with broker_lab() as lab:
        tool = filled(lab)
        lab.client("m1").heartbeat("young", client_id="m1")
        reply = reset(tool, LATEST, group="young", force=force)
        assert list(ResetOffsetBody.from_json(reply.body).offset_table.values()) == [10]
        assert lab.broker.consumer_offset_manager.offsets_of("young", "T") == {0: 10}


def test_a_cpp_tool_gets_the_members_in_a_list():
    with broker_lab() as lab:
        tool = filled(lab)
        client = member(lab, "m")
        header = ResetOffsetRequestHeader("T", "consumers", LATEST, True)
        request = RemotingCommand.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header, language=LanguageCode.CPP)
        tool.remoting = type(tool.remoting)(lab.world.node("cpp"), "cpp", language=LanguageCode.CPP)
        tool.name = "cpp"
        assert tool.exchange(request).code == ResponseCode.SUCCESS
        lab.run_for(100)
        [received] = reported(client)
        assert json.loads(received.body) == {
            "offsetTable": [{"brokerName": "broker-a", "offset": 10, "queueId": 0, "topic": "T"}]
        }


def test_stored_offsets_and_delay_offsets_are_reported_as_they_are_in_the_files():
    with broker_lab() as lab:
        client = filled(lab)
        client.send(delay_level=1)
        lab.run_for(5_000)
        assert json.loads(client.call(RequestCode.GET_ALL_CONSUMER_OFFSET).body) == {
            "offsetTable": {"T@consumers": {"0": 6}}
        }
        assert json.loads(client.call(RequestCode.GET_ALL_DELAY_OFFSET).body)["offsetTable"]["1"] == 1


@pytest.mark.parametrize("topic", ["T", None])
def test_a_group_can_be_put_where_another_stands(topic):
    with broker_lab() as lab:
        client = filled(lab)
        header = CloneGroupOffsetRequestHeader("consumers", "twin", topic, True)
        assert client.call(RequestCode.CLONE_GROUP_OFFSET, header).code == ResponseCode.SUCCESS
        manager = lab.broker.consumer_offset_manager
        assert manager.offsets_of("twin", "T") == {0: 6}
        commit(client, 9)
        assert manager.offsets_of("twin", "T") == {0: 6}


def test_of_an_online_group_only_subscribed_topics_are_cloned():
    with broker_lab() as lab:
        client = filled(lab)
        client.heartbeat(subscriptions={"Other": "*"})
        clone = CloneGroupOffsetRequestHeader("consumers", "twin", "T", False)
        client.call(RequestCode.CLONE_GROUP_OFFSET, clone)
        assert lab.broker.consumer_offset_manager.offsets_of("twin", "T") == {}
        bad = CloneGroupOffsetRequestHeader("consumers", "a b", "T", True)
        assert client.call(RequestCode.CLONE_GROUP_OFFSET, bad).code == ResponseCode.SYSTEM_ERROR


def test_the_correction_is_the_smallest_offset_of_the_other_groups():
    with broker_lab() as lab:
        client = filled(lab)
        commit(client, 4, group="slow")
        commit(client, 1, group="ignored")

        def ask(compare: str) -> dict:
            header = QueryCorrectionOffsetHeader(compare, "T", "ignored")
            return json.loads(client.call(RequestCode.QUERY_CORRECTION_OFFSET, header).body)["correctionOffsets"]

        assert ask("consumers") == {"0": 4}
        commit(client, 2, group="slowest")
        assert ask("consumers") == {"0": 2}
        assert ask("ignored") == {"0": 2**63 - 1}
        # RocketMQ deletes the offsets of the groups that were to be left out.
        assert lab.broker.consumer_offset_manager.offsets_of("ignored", "T") == {0: 1}


def test_a_group_that_stands_at_the_beginning_can_be_reset_too():
    with broker_lab() as lab:
        client = filled(lab)
        commit(client, 0)
        reported_member = member(lab, "c1")
        assert ResetOffsetBody.from_json(reset(client, LATEST).body).offset_table == {
            MessageQueue("T", "broker-a", 0): 10
        }
        lab.run_for(100)
        assert len(reported(reported_member)) == 1


def test_cloned_offsets_outlive_the_broker():
    with broker_lab() as lab:
        client = filled(lab)
        lab.run_for(6_000)
        client.call(RequestCode.CLONE_GROUP_OFFSET, CloneGroupOffsetRequestHeader("consumers", "twin", "T", True))
        lab.run_for(6_000)
        lab.restart_broker(keep_page_cache=False)
        assert lab.broker.consumer_offset_manager.offsets_of("twin", "T") == {0: 6}


def test_cloned_offsets_are_bounded_as_others_are():
    with broker_lab() as lab:
        client = filled(lab)
        manager = lab.broker.consumer_offset_manager
        manager._max_entries = 1
        header = CloneGroupOffsetRequestHeader("consumers", "twin", "T", True)
        reply = client.call(RequestCode.CLONE_GROUP_OFFSET, header)
        assert (reply.code, "1" in (reply.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
        assert list(manager.offset_table) == ["T@consumers"]


def test_the_correction_leaves_out_offsets_of_messages_that_have_expired(monkeypatch):
    with broker_lab() as lab:
        client = filled(lab)
        commit(client, 3, group="far_behind")
        monkeypatch.setattr(lab.broker.store, "min_offset", lambda topic, queue_id: 5)
        header = QueryCorrectionOffsetHeader("consumers", "T", None)
        body = json.loads(client.call(RequestCode.QUERY_CORRECTION_OFFSET, header).body)
        assert body["correctionOffsets"] == {"0": 6}, "equal offsets need a correction, 2^63 - 1 is for smaller ones"
