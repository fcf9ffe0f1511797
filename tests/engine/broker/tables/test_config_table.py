"""When topics and groups are in their files."""

from __future__ import annotations

import asyncio

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import ConfigNotSaved, TooManyEntries
from engine.broker.tables.config_table import WRITTEN_WHOLE_MAX
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ConsumeType
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.port import DiskFull
from engine.store.files.config_file import ConfigFile
from tests.engine.broker.lab_broker import BrokerLab, broker_lab
from tests.engine.broker.tables.table_lab import PATH, TableLab, topic


@pytest.fixture
def lab():
    with LabMachines() as world:
        yield TableLab(world)


def test_what_is_wanted_counts_once_it_is_on_the_disk(lab):
    async def look():
        waiting = asyncio.ensure_future(lab.table.change("T", topic("T")))
        await asyncio.sleep(0)
        assert "T" not in lab.table.entries
        await waiting
        assert "T" in lab.table.entries

    lab.run(look())
    assert lab.saved == ["T"]


def test_changes_that_wait_share_one_write(lab):
    async def many():
        await asyncio.gather(*(lab.table.change(f"T{number}", topic(f"T{number}")) for number in range(100)))

    lab.run(many())
    assert len(lab.table.entries) == 100
    assert len(lab.writes) == 1
    assert lab.table.data_version.counter == lab.writes[-1]["dataVersion"]["counter"] == 1


def test_a_change_that_comes_while_the_file_is_written_waits_for_the_next_write(lab):
    async def two():
        first = asyncio.ensure_future(lab.table.change("A", topic("A")))
        await asyncio.sleep(0.001)
        second = asyncio.ensure_future(lab.table.change("B", topic("B")))
        await first
        assert not second.done()
        assert lab.saved == ["A"]
        await second

    lab.run(two())
    assert lab.saved == ["A", "B"]


def test_a_write_that_fails_undoes_all_that_shared_it_and_nothing_else(lab):
    async def fail():
        await lab.table.change("Known", topic("Known", 4))
        lab.disk.storage.occupied_bytes = lab.disk.storage.capacity_bytes
        outcomes = await asyncio.gather(
            lab.table.change("Known", topic("Known", 8)),
            lab.table.change("New", topic("New")),
            lab.table.change("Known", None),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes] == [ConfigNotSaved] * 3
        assert lab.table.entries == {"Known": topic("Known", 4)}
        assert lab.table.data_version.counter == 1
        lab.disk.storage.occupied_bytes = 0
        await lab.table.change("Later", topic("Later"))

    lab.run(fail())
    assert lab.saved == ["Known", "Later"]


def test_what_the_broker_makes_counts_at_once_and_is_written_once_per_interval(lab):
    async def make(count: int) -> None:
        for number in range(count):
            lab.table.put(f"T{number}", topic(f"T{number}"))
            await asyncio.sleep(0.001)

    lab.run(make(50))
    assert len(lab.table.entries) == 50
    lab.world.run_for(1_100)
    assert len(lab.writes) == 2
    assert len(lab.saved) == 50
    lab.world.run_for(10_000)
    assert len(lab.writes) == 2


def test_a_killed_brokers_table_writes_nothing_any_more_into_the_folder_of_the_next_one(lab):
    async def work():
        lab.table.put("a", topic("a"))
        await asyncio.sleep(0.1)
        lab.table.put("b", topic("b"))
        await lab.table.abandon()
        await asyncio.sleep(5)

    lab.run(work())
    assert lab.saved == ["a"]


def test_the_bound_counts_what_is_wanted_too(lab):
    lab.table.max_entries = 2

    async def three():
        return await asyncio.gather(
            *(lab.table.change(name, topic(name)) for name in ("A", "B", "C")), return_exceptions=True
        )

    outcomes = lab.run(three())
    assert [type(outcome) for outcome in outcomes] == [type(None), type(None), TooManyEntries]
    assert "topics" in str(outcomes[2])


def test_who_gives_up_waiting_does_not_take_the_write_from_others(lab):
    async def give_up():
        first = asyncio.ensure_future(lab.table.change("A", topic("A")))
        second = asyncio.ensure_future(lab.table.change("B", topic("B")))
        await asyncio.sleep(0.001)
        first.cancel()
        await second

    lab.run(give_up())
    assert lab.saved == ["A", "B"]


@pytest.mark.parametrize("after_ms", [0, 1, 2, 3, 5])
def test_after_a_crash_the_table_is_whole_and_has_what_was_answered(after_ms):
    with LabMachines() as world:
        lab = TableLab(world)
        lab.run(lab.table.change("Answered", topic("Answered")))
        lab.node.spawn(lab.table.change("Waiting", topic("Waiting")), "tool")
        world.run_for(after_ms)
        was_answered = "Waiting" in lab.table.entries
        world.crash("broker-a", keep_page_cache=False)
        content = ConfigFile(world.restart("broker-a").disk, PATH).load()
        assert content is not None
        assert "Answered" in content["topicConfigTable"]
        assert ("Waiting" in content["topicConfigTable"]) >= was_answered


# --- in a broker -----------------------------------------------------------------------------------------------------


def files_written(lab: BrokerLab) -> list[str]:
    """The paths of all whole files written from now on."""
    disk, paths = lab.world.node("broker-a").disk, []
    write_whole = disk.write_whole

    def watched(path: str, data: bytes) -> None:
        paths.append(path)
        write_whole(path, data)

    disk.write_whole = watched
    return paths


def test_a_heartbeat_with_a_thousand_new_groups_writes_each_table_once():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        lab.run_for(2_000)
        paths = files_written(lab)
        groups = tuple(ConsumerData(f"g{number}", ConsumeType.CONSUME_PASSIVELY) for number in range(1_000))
        assert client.call(RequestCode.HEART_BEAT, body=HeartbeatData("c", (), groups).to_json()).code == 0
        lab.run_for(1_500)
        assert sorted(path for path in paths if "topics" in path or "Group" in path) == [
            "config/subscriptionGroup.json",
            "config/topics.json",
        ]
        lab.restart_broker()
        assert "g999" in lab.broker.subscription_group_manager.subscription_group_table
        assert retry_topic("g999") in lab.broker.topic_config_manager.topic_config_table


@pytest.mark.parametrize("count", [100, WRITTEN_WHOLE_MAX + 100])
def test_many_topics_of_one_tool_share_few_writes_and_each_is_durable_when_answered(count):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("First")
        paths = files_written(lab)
        waiting = [client.begin(creation(f"T{number}")) for number in range(count)]
        lab.world.run_until(waiting[0].done)
        answered = [number for number, task in enumerate(waiting) if task.done()]
        assert answered
        lab.world.run_until(lambda: all(task.done() for task in waiting))
        assert paths.count(PATH) <= 3
        lab.restart_broker(keep_page_cache=False)
        assert all(f"T{number}" in lab.broker.topic_config_manager.topic_config_table for number in range(count))


def creation(topic: str) -> RemotingCommand:
    header = CreateTopicRequestHeader(topic, "TBW102", 4, 4, 6, "SINGLE_TAG", 0, False)
    return RemotingCommand.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)


@pytest.mark.parametrize("how", ["plain", "delayed", "half"])
def test_a_message_that_was_acknowledged_to_a_new_topic_is_found_after_a_crash(how):
    with broker_lab(BrokerConfig(transaction_time_out_ms=1_000_000)) as lab:
        client = lab.client()
        properties = {"TRAN_MSG": "true", "PGROUP": "p", "UNIQ_KEY": "u"} if how == "half" else None
        made = lab.broker.topic_config_manager.topic_config_table
        reply = client.send(
            delay_level=1 if how == "delayed" else 0, properties=properties, sys_flag=4 if how == "half" else 0
        )
        assert reply.code == ResponseCode.SUCCESS
        lab.restart_broker()
        assert made["T"].write_queue_nums > 1
        assert lab.broker.topic_config_manager.topic_config_table["T"] == made["T"], "with the queues without a message"
        if how != "half":
            lab.run_for(2_000)
            assert len(lab.client("after").messages()) == 1


def test_a_delayed_message_whose_new_topic_cannot_be_written_has_an_uncertain_outcome(monkeypatch):
    with broker_lab() as lab:
        client = lab.client()
        client.send("Other")
        lab.run_for(2_000)
        disk = lab.world.node("broker-a").disk
        monkeypatch.setattr(disk, "write_whole", _full_disk)
        reply = client.send(delay_level=1)
        assert reply.code == ResponseCode.FLUSH_DISK_TIMEOUT
        assert "could not be saved" in (reply.remark or "")


def _full_disk(path: str, data: bytes) -> None:
    raise DiskFull("no room")


# --- a topic and the offsets on it -----------------------------------------------------------------------------------


@pytest.mark.parametrize("after_us", range(0, 14_000, 500))
def test_a_topic_whose_deletion_is_cut_off_is_there_with_its_groups_offsets_or_gone_with_them(after_us):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(3):
            client.send()
        client.call(RequestCode.UPDATE_CONSUMER_OFFSET, UpdateConsumerOffsetRequestHeader("consumers", "T", 0, 2))
        lab.run_for(15_000)
        waiting = client.begin(
            RemotingCommand.request(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader("T"))
        )
        end_us = lab.world.loop.now_us + after_us
        lab.world.run_until(lambda: lab.world.loop.now_us >= end_us or waiting.done())
        was_answered = waiting.done()
        lab.restart_broker()
        is_there = "T" in lab.broker.topic_config_manager.topic_config_table
        assert not (is_there and was_answered)
        assert lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0) == (2 if is_there else -1)
        assert max(0, lab.broker.store.max_offset("T", 0)) == (3 if is_there else 0)
