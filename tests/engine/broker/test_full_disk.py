"""A disk that is full: who may still read, who is refused, and what is said about messages that went."""

from __future__ import annotations

import logging

from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.unread_deletions import UnreadDeletions
from engine.protocol.command.headers import UpdateConsumerOffsetRequestHeader
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.config_file import ConfigFile
from engine.store.files.store_config import MessageStoreConfig
from engine.store.services.clean_service import DeletedMessages
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab

HOUR_MS = 3_600_000
SMALL_FILES = MessageStoreConfig(
    mapped_file_size_commit_log=2_048, max_message_size=1_024, clean_file_forcibly_min_age_hours=1
)


def fill_disk(lab: BrokerLab, ratio: float = 1.0) -> None:
    """Somebody else takes all the room but what brings the used share to ``ratio``."""
    storage = lab.world.storages["broker-a"]
    storage.occupied_bytes += int(storage.capacity_bytes * ratio) - storage.used_bytes


def commit(client: LabClient, group: str, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader(group, "T", 0, offset)
    assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS


def test_a_new_group_reads_everything_while_the_disk_takes_nothing():
    with broker_lab(store_config=MessageStoreConfig(mapped_file_size_commit_log=1 << 20)) as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for number in range(10):
            client.send(body=b"%d" % number)
        fill_disk(lab)
        lab.run_for(11_000)
        assert client.send().code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert client.heartbeat("fresh").code == ResponseCode.SUCCESS
        read = client.messages(group="fresh", subscription=None)
        assert [message.body for message in read] == [b"%d" % number for number in range(10)]
        assert len(client.messages(group="only-pulls")) == 10, "nor does a pull need a heartbeat"
        commit(client, "fresh", 7)
        fill_disk(lab, 0.5)
        lab.run_for(21_000)
        assert client.send().code == ResponseCode.SUCCESS
        lab.stop_broker()
        assert "fresh" in lab.broker.subscription_group_manager.subscription_group_table
        assert retry_topic("fresh") in lab.broker.topic_config_manager.topic_config_table
        assert lab.broker.consumer_offset_manager.query_offset("fresh", "T", 0) == 7


def test_a_group_that_a_crash_of_a_full_disk_forgot_is_made_again_and_misses_nothing():
    with broker_lab(store_config=MessageStoreConfig(mapped_file_size_commit_log=1 << 20)) as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.send()
        lab.run_for(11_000)
        fill_disk(lab)
        client.heartbeat("fresh")
        commit(client, "fresh", 1)
        lab.world.crash("broker-a")
        fill_disk(lab, 0.5)
        lab.world.restart("broker-a")
        lab.broker = lab._start_broker()
        after = lab.client("after")
        assert after.heartbeat("fresh").code == ResponseCode.SUCCESS
        assert len(after.messages(group="fresh", subscription=None)) == 1, "its offset is gone too: it reads again"


def test_files_that_go_before_their_time_name_the_groups_that_had_not_read_them(caplog):
    with broker_lab(store_config=SMALL_FILES) as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(30):
            client.send(body=b"x" * 200)
            client.send("Unread", body=b"x" * 200)
        commit(client, "slow", 3)
        commit(client, "quick", 30)
        lab.run_for(HOUR_MS)
        fill_disk(lab, 0.87)
        lab.run_for(60_000)
        gone = lab.broker.store.min_offset("T", 0)
        assert gone > 3
        lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        of_topic = [line for line in lines if "of topic T were deleted" in line]
        assert sum(int(line.rpartition(": ")[2].partition(" by slow")[0]) for line in of_topic) == gone - 3
        assert not any("quick" in line for line in of_topic)
        assert any("of topic Unread were deleted; no group has ever read that topic" in line for line in lines)


# --- what is said ----------------------------------------------------------------------------------------------------


def said(caplog, offsets: dict[tuple[str, str], dict[int, int]], *deleted: DeletedMessages, delays=None) -> list[str]:
    with LabMachines() as world:
        node = world.node("n")
        manager = ConsumerOffsetManager(ConfigFile(node.disk, "offsets.json"), node.clock)
    for (topic, group), by_queue in offsets.items():
        for queue_id, offset in by_queue.items():
            manager.commit_offset("test", group, topic, queue_id, offset)
    caplog.clear()
    UnreadDeletions(manager, delays or {}).messages_deleted(deleted)
    return caplog.messages


def test_all_queues_of_a_topic_count_and_one_without_offset_was_not_read(caplog):
    deleted = [DeletedMessages("T", 0, 10, 20), DeletedMessages("T", 1, 0, 5)]
    lines = said(caplog, {("T", "a"): {0: 15}, ("T", "b"): {0: 20, 1: 4}}, *deleted)
    assert lines == ["15 messages of topic T were deleted; not read: 10 by a, 1 by b"]


def test_where_everybody_had_read_nothing_is_said(caplog):
    assert said(caplog, {("T", "a"): {0: 20}}, DeletedMessages("T", 0, 0, 20)) == []


def test_delayed_messages_that_were_not_delivered_are_said(caplog):
    lines = said(caplog, {}, DeletedMessages("SCHEDULE_TOPIC_XXXX", 17, 0, 8), delays={18: 6})
    assert lines == [
        "8 messages of topic SCHEDULE_TOPIC_XXXX were deleted; not read: 2 by the delivery of delayed messages"
    ]


def test_many_topics_and_groups_are_counted_and_not_listed(caplog):
    deleted = [DeletedMessages(f"T{number:02}", 0, 0, 1) for number in range(50)]
    lines = said(caplog, {("T00", f"g{number:02}"): {0: 0} for number in range(30)}, *deleted)
    assert len(lines) == 21
    assert lines[0].endswith("1 by g20 and some by 20 more groups")
    assert lines[-1] == "so were messages of 30 more topics"
