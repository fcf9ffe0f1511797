"""A master and its slaves, whole brokers in virtual time."""

from __future__ import annotations

import pytest

from engine.client.callbacks.send_result import SendStatus
from engine.client.foundation.errors import MQClientError
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.message.message import Message
from engine.replication.ha.ha_client import FollowerState
from engine.replication.ha.ha_config import HaConfig, HaRole, ReplicaAcks
from engine.replication.ha.ha_connection import HaConnection
from engine.replication.ha.ha_frames import encode_report
from engine.runtime.lab.lab_link_fault import Partition
from tests.support.lab.replica_pair import MASTER, ReplicaPair, log_bytes

#: A quarter of a file of the log; larger ones are compressed.
LARGE = bytes(3_800)


def cut_off(pair, number):
    """Nothing passes between the master and a slave."""
    fault = Partition((MASTER,), (f"slave-{number}",))
    pair.world.network.faults.append(fault)
    return fault


def test_a_slave_becomes_the_same_log_byte_by_byte_over_many_files():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        for number in range(16):
            pair.send(LARGE + bytes([number]))
        pair.wait_until_same(slave)
        assert len(slave.store.commit_log.files.files) >= 4
        assert log_bytes(slave) == log_bytes(pair.master)
        assert slave.store.max_offset("T", 0) == pair.master.store.max_offset("T", 0)


def test_an_empty_slave_begins_with_the_newest_file_as_rocketmqs_does():
    with ReplicaPair() as pair:
        for _ in range(9):
            pair.send(LARGE)
        slave = pair.slave(1)
        pair.wait_until_same(slave)
        newest = pair.master.store.commit_log.files.files[-1].start_offset
        assert newest > 0
        assert slave.store.commit_log.min_offset == newest
        assert log_bytes(slave) == log_bytes(pair.master, newest)


def test_a_slave_that_was_down_goes_on_where_it_was():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        pair.send(LARGE)
        pair.wait_until_same(slave)
        pair.world.crash("slave-1")
        for _ in range(5):
            pair.send(LARGE)
        pair.world.restart("slave-1")
        slave = pair.slave(1)
        pair.wait_until_same(slave)
        assert log_bytes(slave) == log_bytes(pair.master)


def test_a_slave_follows_its_master_again_when_that_was_down():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        pair.send()
        pair.wait_until_same(slave)
        pair.restart_broker(MASTER)
        pair.send()
        pair.wait_until_same(slave)
        assert log_bytes(slave) == log_bytes(pair.master)


@pytest.mark.parametrize(
    ("acks", "slaves", "expected"),
    [
        (ReplicaAcks.ONE, 0, SendStatus.SLAVE_NOT_AVAILABLE),
        (ReplicaAcks.ONE, 1, SendStatus.SEND_OK),
        (ReplicaAcks.TWO, 1, SendStatus.SLAVE_NOT_AVAILABLE),
        (ReplicaAcks.TWO, 2, SendStatus.SEND_OK),
        (ReplicaAcks.MAJORITY, 1, SendStatus.SLAVE_NOT_AVAILABLE),
        (ReplicaAcks.MAJORITY, 2, SendStatus.SEND_OK),
    ],
)
def test_a_synchronous_master_acknowledges_when_enough_slaves_have_the_message(acks, slaves, expected):
    with ReplicaPair(HaRole.SYNC_MASTER, replica_acks=acks, replica_count=5) as pair:
        copies = [pair.slave(number + 1) for number in range(slaves)]
        result = pair.send()
        assert result.status is expected
        if expected is SendStatus.SEND_OK:
            # Acknowledged means: they have it now, not soon.
            assert [log_bytes(copy) for copy in copies] == [log_bytes(pair.master)] * slaves


def test_a_majority_is_more_than_half_of_all_copies():
    needed = [HaConfig(replica_acks=ReplicaAcks.MAJORITY, replica_count=count).slaves_needed for count in range(1, 8)]
    assert needed == [0, 1, 1, 2, 2, 3, 3]


def test_a_silent_slave_is_waited_for_and_the_message_is_stored_all_the_same():
    with ReplicaPair(HaRole.SYNC_MASTER) as pair:
        pair.slave(1)
        pair.send()
        cut_off(pair, 1)
        before_us = pair.world.loop.now_us
        result = pair.send()
        assert result.status is SendStatus.FLUSH_SLAVE_TIMEOUT
        assert 1_000_000 <= pair.world.loop.now_us - before_us < 1_100_000
        assert result.queue_offset >= 0
        assert pair.master.replication.service.timeouts == 1


def test_a_slave_that_is_too_far_behind_is_not_waited_for():
    with ReplicaPair(HaRole.SYNC_MASTER, ha_slave_fallbehind_max_bytes=4_000) as pair:
        pair.slave(1)
        pair.send()
        cut_off(pair, 1)
        assert pair.send(LARGE).status is SendStatus.FLUSH_SLAVE_TIMEOUT
        assert pair.send(LARGE).status is SendStatus.SLAVE_NOT_AVAILABLE


def test_either_side_ends_a_connection_on_which_the_other_is_silent():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        cut_off(pair, 1)
        pair.world.run_for(40_000)
        assert pair.master.replication.service.slaves == {}
        assert slave.replication.client.state is FollowerState.APART


class EndWithoutEnd:
    """A connection whose other end does not read: what is unsent keeps it open when it is closed."""

    remote_address = local_address = "10.0.0.9:1"
    is_closing = has_room = True
    unsent_bytes = 0

    def send_frame(self, frame: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_slave_that_neither_speaks_nor_reads_counts_no_longer_though_its_connection_is_still_open():
    with ReplicaPair() as pair:
        ended = []
        clock = pair.world.node(MASTER).clock
        slave = HaConnection(pair.master.store.commit_log, clock, HaConfig(), lambda: None, ended.append)
        slave.connection_made(EndWithoutEnd())
        slave.frame_received(encode_report(0))
        assert slave.is_near
        for _ in range(5):
            pair.world.run_for(10_000)
            slave.look_at_the_clock()
        assert ended == [slave]
        slave.frame_received(encode_report(0))
        slave.connection_lost("at last")
        assert ended == [slave]
        assert not slave.is_near


def test_a_slave_finds_a_master_whose_port_for_slaves_has_changed():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        pair.send()
        pair.wait_until_same(slave)
        pair.world.crash(MASTER)
        pair.world.restart(MASTER)
        pair.start_broker(MASTER, ha_listen_port=10_913)
        pair.send()
        before_us = pair.world.loop.now_us
        pair.wait_until_same(slave)
        assert pair.world.loop.now_us - before_us < 12_000_000


@pytest.mark.parametrize("head_start_ms", [100, 3_100, 14_900])
def test_a_slave_that_starts_before_its_master_follows_it_soon_after_that_starts(head_start_ms):
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        pair.send()
        pair.wait_until_same(slave)
        for node in (MASTER, "slave-1"):
            pair.world.crash(node)
        pair.world.restart("slave-1")
        slave = pair.start_slave(1)
        pair.world.run_for(head_start_ms)
        pair.restart_broker(MASTER, ha_listen_port=10_913)
        pair.send()
        before_us = pair.world.loop.now_us
        pair.wait_until_same(slave)
        assert pair.world.loop.now_us - before_us < 7_000_000


def test_heartbeats_keep_a_connection_on_which_nothing_happens():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        (connection,) = pair.master.replication.service.slaves
        pair.world.run_for(120_000)
        assert list(pair.master.replication.service.slaves) == [connection]
        assert slave.replication.client.state is FollowerState.FOLLOWS


@pytest.mark.parametrize(("white", "follows"), [("10.0.0.*", True), ("192.168.1.1", False)])
def test_with_rules_only_white_addresses_get_the_log(white, follows):
    with ReplicaPair() as pair:
        pair.world.crash(MASTER)
        pair.world.restart(MASTER)
        rules = f"globalWhiteRemoteAddresses: ['{white}']\naccounts: []\n"
        pair.world.node(MASTER).disk.write_whole("config/plain_acl.yml", rules.encode())
        pair.start_broker(MASTER, acl_enable=True)
        slave = pair.start_slave(1)
        pair.world.run_for(10_000)
        assert (slave.replication.client.state is FollowerState.FOLLOWS) is follows
        assert len(pair.master.replication.service.slaves) == follows


def test_a_slave_takes_no_messages_and_makes_no_topic():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        assert slave.store.refusal == "this broker is a slave: send to its master"
        pair.world.crash(MASTER)
        pair.world.run_for(1_000)
        with pytest.raises(MQClientError):
            pair.send(topic="New")
        assert slave.topic_config_manager.select_topic_config("New") is None


def test_topics_groups_and_offsets_follow_every_ten_seconds():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        master = pair.master
        pair.world.run(master.topic_config_manager.update_topic_config(TopicConfig("Made", 3, 3)), node=MASTER)
        group = SubscriptionGroupConfig("made-too")
        pair.world.run(master.subscription_group_manager.update_subscription_group_config(group), node=MASTER)
        master.consumer_offset_manager.commit_offset("test", "made-too", "Made", 2, 7)
        pair.send(delay_level=1)
        pair.world.run_for(13_500)
        assert slave.topic_config_manager.select_topic_config("Made") == TopicConfig("Made", 3, 3)
        assert "made-too" in slave.subscription_group_manager.subscription_group_table
        assert slave.consumer_offset_manager.query_offset("made-too", "Made", 2) == 7
        assert slave.schedule_message_service.offset_table[1] == 1
        # They outlive its process.
        pair.world.run_for(10_000)
        pair.world.crash("slave-1")
        pair.world.restart("slave-1")
        again = pair.start_slave(1)
        assert again.topic_config_manager.select_topic_config("Made") == TopicConfig("Made", 3, 3)


def test_a_slave_says_once_in_one_line_whose_newer_offsets_it_replaces(caplog):
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        for broker, offset in ((pair.master, 3), (slave, 10)):
            for group in ("ahead", "also-ahead"):
                for queue in range(4):
                    broker.consumer_offset_manager.commit_offset("test", group, "T", queue, offset)
            broker.consumer_offset_manager.commit_offset("test", "behind", "T", 0, 13 - offset)
        slave.consumer_offset_manager.commit_offset("test", "only-here", "T", 0, 5)
        pair.master.schedule_message_service.offset_table[2] = 0
        slave.schedule_message_service.offset_table[2] = 4
        pair.world.run_for(30_000)
        assert slave.consumer_offset_manager.query_offset("ahead", "T", 0) == 3
        [line] = [text for record in caplog.records if "older than those here" in (text := record.getMessage())]
        named = "group ahead by 28, group also-ahead by 28, group only-here by 5, delay level 2 by 4"
        assert line.endswith(f"(messages come again): {named}")
        for queue in range(4):
            slave.consumer_offset_manager.commit_offset("test", "ahead", "T", queue, 11)
        pair.world.run_for(10_000)
        lines = [text for record in caplog.records if "older than those here" in (text := record.getMessage())]
        assert lines[1:] == [line.partition(": ")[0] + ": group ahead by 32"]


def test_a_slave_serves_properties_of_zeros_also_after_it_was_killed():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        zeros = Message("T", b"zeros", properties={"ORDER": "order-7" + "\0" * 1_017})
        result = pair.send_message(zeros)
        pair.wait_until_same(slave)
        pair.world.crash("slave-1")
        pair.world.restart("slave-1")
        again = pair.slave(1)
        found = again.store.message_in_queue("T", result.message_queue.queue_id, result.queue_offset)
        assert found is not None
        assert found.properties["ORDER"] == zeros.properties["ORDER"]


def test_a_slave_that_has_more_than_its_master_is_not_served_and_loses_nothing():
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        pair.send()
        pair.wait_until_same(slave)
        before = log_bytes(slave)
        lose_all(pair)
        pair.world.run_for(20_000)
        assert slave.replication.client.state is FollowerState.REFUSED
        assert "it has no message there" in slave.replication.client.problem
        assert log_bytes(slave) == before


def test_a_master_that_lost_its_end_and_went_on_is_not_followed():
    """RocketMQ's slave compares nothing: it would append the new bytes to the old ones."""
    with ReplicaPair() as pair:
        slave = pair.slave(1)
        pair.send(b"first")
        pair.wait_until_same(slave)
        before = log_bytes(slave)
        fault = cut_off(pair, 1)
        lose_all(pair)
        for _ in range(3):
            pair.send(b"other")
        pair.world.network.faults.remove(fault)
        pair.world.run_for(40_000)
        assert slave.replication.client.state is FollowerState.REFUSED
        assert "it has another message there" in slave.replication.client.problem
        assert log_bytes(slave) == before


def lose_all(pair):
    """The master's machine loses power before anything was flushed."""
    pair.world.crash(MASTER, keep_page_cache=False)
    pair.restart_broker(MASTER)
    assert pair.master.store.commit_log.max_offset == 0
