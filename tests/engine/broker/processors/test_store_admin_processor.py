"""Consume queues and files through the eyes of tools."""

import json

import pytest

from engine.protocol.command.headers import QueryConsumeQueueRequestHeader
from engine.protocol.json_form.json_text import loads_json
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab
from tests.engine.broker.processors.test_admin_processors import captured_reply


def query(client: LabClient, index: int = 0, count: int = 10, *, topic: str = "T", queue_id: int = 0, group=None):
    header = QueryConsumeQueueRequestHeader(topic, queue_id, index, count, group)
    return client.call(RequestCode.QUERY_CONSUME_QUEUE, header)


def test_entries_of_a_consume_queue_lead_to_their_messages():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for tag in ("TagA", "TagB", "TagC"):
            client.send(tags=tag)
        client.heartbeat(subscriptions={"T": "TagA || TagB"})
        body = json.loads(query(client, 1, 1, group="consumers").body)
        golden = json.loads(captured_reply(321)["body"])
        assert body.keys() == golden.keys()
        [entry] = body["queueData"]
        assert entry.keys() == golden["queueData"][0].keys()
        message = lab.broker.store.message_at(entry["physicOffset"])
        assert message is not None
        assert message.queue_offset == 1
        assert entry["physicSize"] == message.store_size
        assert (body["minQueueIndex"], body["maxQueueIndex"]) == (0, 3)
        assert body["subscriptionData"]["subString"] == "TagA || TagB"
        assert "not online" in json.loads(query(client, group="nobody").body)["filterData"]
        assert "filterData" not in loads_json(query(client).body)


@pytest.mark.parametrize(
    "place", [{"index": 3}, {"index": -1}, {"queue_id": 1}, {"queue_id": -1}, {"topic": "Nowhere"}]
)
def test_a_place_that_is_not_there_is_named(place):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(3):
            client.send()
        reply = query(client, **place)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert reply.remark
        assert "queueData" not in (reply.body or b"").decode()


def test_a_count_below_one_gets_no_entry():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.send()
        assert json.loads(query(client, count=-5).body)["queueData"] == []


SMALL_FILES = MessageStoreConfig(
    mapped_file_size_commit_log=1 << 10,
    mapped_file_size_consume_queue_entries=10,
    max_message_size=500,
    file_reserved_time_hours=1,
    delete_when="23",
)


def old_messages(lab: BrokerLab) -> LabClient:
    """60 messages that expire, in many files; then one more, so that the last file is another."""
    client = lab.client()
    client.create_topic("T", 1)
    for _ in range(60):
        client.send(body=b"x" * 200)
    lab.run_for(2 * 3_600_000)
    client.send(body=b"new")
    return client


def test_expired_files_are_deleted_on_demand_whatever_the_hour():
    with broker_lab(store_config=SMALL_FILES) as lab:
        client = old_messages(lab)
        assert lab.broker.store.commit_log.min_offset == 0
        assert client.call(RequestCode.DELETE_EXPIRED_COMMITLOG).code == ResponseCode.SUCCESS
        store = lab.broker.store
        # More than the 10 files of one round.
        assert store.commit_log.min_offset > 10 * (1 << 10)
        assert store.min_offset("T", 0) > 40
        assert client.messages(offset=60)[0].body == b"new"


def test_consume_queue_files_without_messages_are_deleted_on_demand():
    with broker_lab(store_config=SMALL_FILES) as lab:
        client = old_messages(lab)
        store = lab.broker.store
        # As after a crash between the two steps: the log is shorter, the queues do not know it yet.
        files = store.commit_log.files
        files.remove_first(len(files.files) - 1)
        folder = "consumequeue/T/0"
        disk = lab.world.node("broker-a").disk
        before = len(disk.list_folder(folder))
        assert client.call(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE).code == ResponseCode.SUCCESS
        assert len(disk.list_folder(folder)) < before
        assert store.min_offset("T", 0) > 40
        # The queue goes on where it was: nobody skips its next message.
        assert store.max_offset("T", 0) == 61


def test_a_reply_has_a_bound_however_many_entries_are_wanted(monkeypatch):
    monkeypatch.setattr("engine.broker.processors.store_admin_processor._ENTRIES_MAX", 2)
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(3):
            client.send()
        assert len(json.loads(query(client, count=2**31 - 1).body)["queueData"]) == 2
