"""Topics through the eyes of tools, and what deleting one takes with it."""

import asyncio
import json

import pytest

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.headers import (
    DeleteTopicRequestHeader,
    GetRouteInfoRequestHeader,
    QueueRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import DiskFault, DiskFull
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab


def delete(client: LabClient, topic: str):
    return client.call(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic))


def commit(client: LabClient, topic: str, offset: int, group: str = "consumers"):
    header = UpdateConsumerOffsetRequestHeader(group, topic, 0, offset)
    assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS


def max_offset(client: LabClient, topic: str) -> int:
    return int(client.call(RequestCode.GET_MAX_OFFSET, QueueRequestHeader(topic, 0)).ext_fields["offset"])


def queue_folders(lab: BrokerLab) -> list[str]:
    return lab.world.node("broker-a").disk.list_folder("consumequeue")


def test_a_deleted_topic_takes_queues_files_offsets_locks_and_counters_with_it():
    with broker_lab() as lab:
        client = lab.client()
        for topic in ("Gone", "Kept"):
            client.create_topic(topic, 1)
            client.send(topic)
            client.pull(topic)
            commit(client, topic, 1)
        broker = lab.broker
        broker.rebalance_lock_manager.try_lock_batch("g", [MessageQueue("Gone", "broker-a", 0)], "c")
        assert delete(client, "Gone").code == ResponseCode.SUCCESS
        assert "Gone" not in broker.topic_config_manager.topic_config_table
        assert queue_folders(lab) == ["Kept"]
        assert list(broker.consumer_offset_manager.offset_table) == ["Kept@consumers"]
        assert len(broker.rebalance_lock_manager) == 0
        assert list(broker.stats.topics) == ["Kept"]
        assert client.pull("Gone").code == ResponseCode.TOPIC_NOT_EXIST


def test_a_pull_that_waits_is_answered_when_its_topic_is_deleted():
    with broker_lab() as lab:
        client, tool = lab.client(), lab.client("tool")
        client.create_topic("T", 1)
        waiting = client.begin(client.pull_request(suspend_ms=15_000))
        lab.run_for(1_000)
        assert not waiting.done()
        delete(tool, "T")
        lab.run_for(100)
        assert waiting.result().code == ResponseCode.TOPIC_NOT_EXIST
        assert len(lab.broker.pull_request_hold_service) == 0


@pytest.mark.parametrize("keep_page_cache", [True, False])
def test_a_deletion_that_was_answered_survives_a_crash(keep_page_cache):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(3):
            client.send()
        commit(client, "T", 3)
        delete(client, "T")
        client.create_topic("T", 1)
        client.send(body=b"first of the new topic")
        lab.run_for(15_000)
        lab.restart_broker(keep_page_cache=keep_page_cache)
        after = lab.client("after")
        assert [message.body for message in after.messages()] == [b"first of the new topic"]
        assert lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0) == -1


@pytest.mark.parametrize("is_known", [True, False])
def test_without_the_record_of_deletions_a_crash_would_bring_the_queue_back(monkeypatch, is_known):
    """Shows what ``deletedTopics.json`` is for: the log still has the messages."""
    with broker_lab() as lab:

        async def nothing() -> None: ...

        client = lab.client()
        client.create_topic("T", 1)
        client.send()
        monkeypatch.setattr(lab.broker.store, "make_deletions_last", nothing)
        delete(client, "T")
        if not is_known:
            lab.broker.runtime.disk.remove("config/deletedTopics.json")
        lab.restart_broker()
        assert ("T" in lab.broker.store.topics()) is not is_known


def test_a_deletion_that_the_disk_has_no_room_to_record_is_no_success_and_the_broker_goes_on(monkeypatch):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.send()
        disk = lab.broker.runtime.disk
        write_whole = disk.write_whole

        def no_room(path, data):
            if "recoveryPoint" in path:
                raise DiskFull("no room")
            write_whole(path, data)

        monkeypatch.setattr(disk, "write_whole", no_room)
        reply = delete(client, "T")
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "may come back" in (reply.remark or "")
        assert client.send(body=b"new").code == ResponseCode.SUCCESS


def test_offsets_that_cannot_be_saved_leave_no_half_deleted_topic(monkeypatch):
    with broker_lab() as lab:
        client, tool = lab.client(), lab.client("tool")
        client.create_topic("T", 1)
        client.send()
        commit(client, "T", 1)
        waiting = client.begin(client.pull_request(offset=1, suspend_ms=15_000))
        lab.run_for(100)
        disk = lab.broker.runtime.disk
        write_whole = disk.write_whole

        def fail(path, data):
            if "consumerOffset" in path:
                raise DiskFault("broken")
            write_whole(path, data)

        monkeypatch.setattr(disk, "write_whole", fail)
        reply = delete(tool, "T")
        assert (reply.code, "broken" in (reply.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
        lab.run_for(100)
        assert waiting.result().code == ResponseCode.TOPIC_NOT_EXIST
        assert list(lab.broker.stats.topics) == []


@pytest.mark.parametrize("between", [0, 1_100])
@pytest.mark.parametrize("is_point_lost", [False, True])
def test_a_crash_inside_a_deletion_loses_no_message_of_the_topic_made_again(monkeypatch, between, is_point_lost):
    """Old messages and new ones have the same offsets in the log, in one batch of the recovery or in two."""
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.create_topic("U", 1)
        for _ in range(5):
            client.send(body=b"old")
        for _ in range(between):
            client.send("U")
        commit(client, "T", 5)
        lab.run_for(12_000)

        async def crashes_before() -> None:
            await asyncio.sleep(1_000)

        monkeypatch.setattr(lab.broker.store, "make_deletions_last", crashes_before)
        header = DeleteTopicRequestHeader("T")
        client.begin(RemotingCommand.request(RequestCode.DELETE_TOPIC_IN_BROKER, header))
        lab.run_for(100)
        producer = lab.client("producer")
        for body in (b"new 0", b"new 1"):
            assert producer.send(body=body).code == ResponseCode.SUCCESS
        if is_point_lost:
            for path in ("config/recoveryPoint.json", "config/recoveryPoint.json.bak"):
                lab.broker.runtime.disk.remove(path)
        lab.restart_broker()
        after = lab.client("after")
        assert [message.body for message in after.messages()] == [b"new 0", b"new 1"]
        assert len(after.messages("U", max_messages=32)) == min(between, 32)
        assert after.send(body=b"new 2").ext_fields["queueOffset"] == "2"
        # The group's offset on the old topic would let it skip messages of the new one.
        known = lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0)
        assert known == -1 or is_point_lost


def test_a_topic_made_again_begins_at_offset_0_and_nobody_skips_its_messages():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(5):
            client.send()
        commit(client, "T", 5)
        delete(client, "T")
        client.create_topic("T", 1)
        assert client.send(body=b"new").ext_fields["queueOffset"] == "0"
        assert [message.body for message in client.messages(offset=0)] == [b"new"]


def test_a_deleted_topic_stays_in_the_route_until_it_is_deleted_there_too():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        lab.run_for(100)
        delete(client, "T")
        lab.run_for(31_000)
        ask = GetRouteInfoRequestHeader("T")
        assert client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, ask).code == ResponseCode.SUCCESS
        client.ask_name_server(RequestCode.DELETE_TOPIC_IN_NAMESRV, DeleteTopicRequestHeader("T"))
        assert client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, ask).code == ResponseCode.TOPIC_NOT_EXIST
        lab.run_for(31_000)
        assert client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, ask).code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize(
    "topic", ["TBW102", "SCHEDULE_TOPIC_XXXX", "DefaultCluster_REPLY_TOPIC", "broker-a", "a b", ""]
)
def test_nobody_deletes_a_system_topic_or_a_name_that_cannot_be(topic):
    with broker_lab() as lab:
        before = dict(lab.broker.topic_config_manager.topic_config_table)
        reply = delete(lab.client(), topic)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert reply.remark
        assert lab.broker.topic_config_manager.topic_config_table == before


def test_a_topic_that_nobody_knows_counts_as_deleted():
    with broker_lab() as lab:
        assert delete(lab.client(), "Nowhere").code == ResponseCode.SUCCESS


def test_a_disk_that_fails_is_reported_and_nothing_is_deleted(monkeypatch):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.send()

        def fail(path, data):
            raise DiskFault("no room")

        monkeypatch.setattr(lab.broker.runtime.disk, "write_whole", fail)
        reply = delete(client, "T")
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "no room" in (reply.remark or "")
        assert max_offset(client, "T") == 1
        assert "T" in lab.broker.topic_config_manager.topic_config_table


def test_consume_queues_without_a_topic_are_cleaned_and_others_are_not():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.create_topic("Orphan", 1)
        client.send()
        client.send("Orphan")
        client.send(delay_level=3)
        del lab.broker.topic_config_manager.topic_config_table["Orphan"]
        assert client.call(RequestCode.CLEAN_UNUSED_TOPIC).code == ResponseCode.SUCCESS
        assert queue_folders(lab) == ["SCHEDULE_TOPIC_XXXX", "T"]


def test_all_topics_are_reported_with_the_version_of_the_table():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 3)
        body = json.loads(client.call(RequestCode.GET_ALL_TOPIC_CONFIG).body)
        assert body["topicConfigTable"]["T"]["readQueueNums"] == 3
        assert body["dataVersion"]["counter"] == lab.broker.topic_config_manager.table.data_version.counter
        assert "TBW102" in body["topicConfigTable"]


def test_system_topics_are_those_that_nobody_may_change():
    with broker_lab() as lab:
        client = lab.client()
        topics = json.loads(client.call(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER).body)["topicList"]
        assert {"TBW102", "RMQ_SYS_TRANS_HALF_TOPIC", "DefaultCluster", "broker-a"} < set(topics)
        assert all(client.create_topic(topic).code == ResponseCode.SYSTEM_ERROR for topic in topics)


def test_messages_that_arrive_in_a_deleted_queue_s_place_wake_nobody_else():
    """The hold service forgets exactly the topic's pulls."""
    with broker_lab() as lab:
        client, tool = lab.client(), lab.client("tool")
        client.create_topic("T", 1)
        client.create_topic("U", 1)
        waiting = client.begin(client.pull_request("U", suspend_ms=15_000))
        lab.run_for(500)
        delete(tool, "T")
        lab.run_for(500)
        assert not waiting.done()
        tool.send("U")
        lab.run_for(100)
        assert waiting.result().code == ResponseCode.SUCCESS


def test_cleaned_queues_do_not_come_back_after_a_crash():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("Orphan", 1)
        client.send("Orphan")
        del lab.broker.topic_config_manager.topic_config_table["Orphan"]
        assert client.call(RequestCode.CLEAN_UNUSED_TOPIC).code == ResponseCode.SUCCESS
        lab.restart_broker()
        assert queue_folders(lab) == []


def test_half_messages_are_not_cleaned_away_with_topics_that_nobody_configured():
    with broker_lab() as lab:
        client = lab.client()
        half = {"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": "u1"}
        assert client.send(properties=half).code == ResponseCode.SUCCESS
        lab.broker.topic_config_manager.topic_config_table.pop("RMQ_SYS_TRANS_HALF_TOPIC", None)
        client.call(RequestCode.CLEAN_UNUSED_TOPIC)
        assert "RMQ_SYS_TRANS_HALF_TOPIC" in queue_folders(lab)


def test_who_pulled_last_is_forgotten_with_the_topic():
    with broker_lab() as lab:
        client, tool = lab.client(), lab.client("tool")
        client.create_topic("T", 1)
        client.create_topic("U", 1)
        client.heartbeat(subscriptions={"T": "*", "U": "*"})
        for topic in ("T", "U"):
            client.send(topic)
            client.pull(topic)
        delete(tool, "T")
        [group] = [one for one in lab.broker.consumer_manager if one.last_pulled_by]
        assert list(group.last_pulled_by) == [("U", 0)]


def test_a_flush_that_was_under_way_does_not_record_the_queues_of_a_deleted_topic(monkeypatch):
    """It noted them before the deletion; recorded last, they would be missed and built again at the next start."""
    with broker_lab() as lab:
        client, tool = lab.client(), lab.client("tool")
        client.create_topic("T", 1)
        client.send()
        lab.run_for(12_000)
        store = lab.broker.store
        service = store._queue_flush_service
        assert service is not None
        flush, slow = service._checkpoint.flush, [True]

        async def first_is_slow() -> None:
            if slow.pop() if slow else False:
                await asyncio.sleep(2)
            await flush()

        monkeypatch.setattr(type(service._checkpoint), "flush", lambda self: first_is_slow())
        lab.world.node("broker-a").spawn(store.make_deletions_last(), "a flush")
        lab.run_for(100)
        tool.send("Newer")
        assert delete(tool, "T").code == ResponseCode.SUCCESS
        lab.run_for(3_000)
        point = json.loads(lab.broker.runtime.disk.read_whole("config/recoveryPoint.json"))
        assert "T" not in point["consumeQueues"]
        assert point["dispatchedOffset"] == store.dispatcher.dispatched_offset, "the later flush has the last word"
