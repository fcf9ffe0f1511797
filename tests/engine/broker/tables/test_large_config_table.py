"""A table that is too large to be written at every change: its file, its backup and its journal."""

from __future__ import annotations

import asyncio

import pytest

from engine.broker.foundation.errors import ConfigNotSaved
from engine.broker.tables.config_table import WRITTEN_WHOLE_MAX, ConfigTable
from engine.protocol.body.topic_config import TopicConfig
from engine.runtime.lab.lab_runtime import LabMachines
from tests.engine.broker.tables.table_lab import PATH, TableLab, topic

MANY = WRITTEN_WHOLE_MAX + 50


@pytest.fixture
def large():
    """A table that is too large to be written at every change; it has been written once."""
    with LabMachines() as world:
        lab = TableLab(world, max_entries=10_000)
        fill(lab)
        yield lab


def fill(lab: TableLab) -> None:
    async def many():
        await asyncio.gather(*(lab.table.change(f"T{number}", topic(f"T{number}")) for number in range(MANY)))

    lab.run(many())
    lab.writes.clear()


def loaded(lab: TableLab) -> ConfigTable[TopicConfig]:
    """What the next start finds, after a power cut."""
    lab.world.crash("broker-a", keep_page_cache=False)
    lab.world.restart("broker-a")
    return read(TableLab(lab.world))


def parse_topic(fields: dict) -> tuple[str, TopicConfig]:
    config = TopicConfig.from_dict(fields)
    return config.topic_name, config


def read(lab: TableLab) -> ConfigTable[TopicConfig]:
    lab.table.load(parse_topic)
    return lab.table


def test_one_change_of_a_large_table_writes_no_file_and_survives_a_power_cut(large):
    large.run(large.table.change("New", topic("New", 7)))
    large.run(large.table.change("T1", None))
    large.run(large.table.change("T2", topic("T2", 9)))
    assert large.writes == []
    version = large.table.data_version
    table = loaded(large)
    assert table.entries == {**large.table.entries}
    assert (table.entries["New"].write_queue_nums, table.entries["T2"].write_queue_nums) == (7, 9)
    assert "T1" not in table.entries
    assert table.data_version == version


def test_what_the_broker_makes_in_a_large_table_survives_a_power_cut_once_it_is_saved(large):
    async def make():
        large.table.put("New", topic("New"))
        await large.table.saved()

    large.run(make())
    assert large.writes == []
    assert "New" in loaded(large).entries


def test_a_clean_end_leaves_a_file_with_everything_and_no_journal(large):
    large.run(large.table.change("New", topic("New")))
    large.run(large.table.close())
    assert "New" in large.saved
    assert not large.disk.exists(f"{PATH}.journal")


def test_the_file_follows_when_the_journal_is_as_long(large):
    async def change_again_and_again():
        for number in range(10 * MANY):
            await large.table.change("New", topic("New", number % 8))
            if large.writes:
                return

    large.run(change_again_and_again())
    assert "New" in large.saved
    assert not large.disk.exists(f"{PATH}.journal")


def test_a_journal_that_the_file_has_overtaken_brings_nothing_back(large):
    large.run(large.table.change("T1", topic("T1", 9)))
    journal = large.disk.read_whole(f"{PATH}.journal")
    large.run(large.table.close())
    large.disk.write_whole(f"{PATH}.journal", journal)  # a power cut may undo its removal
    later = TableLab(large.world, max_entries=10_000)
    read(later)
    large.run(later.table.change("T1", topic("T1", 3)))
    large.run(later.table.close())
    large.disk.write_whole(f"{PATH}.journal", journal)
    assert loaded(large).entries["T1"].write_queue_nums == 3


def test_a_damaged_file_costs_a_large_table_nothing_that_its_backup_and_its_journal_have(large):
    large.run(large.table.change("New", topic("New")))
    large.run(large.table.close())
    later = TableLab(large.world, max_entries=10_000)
    read(later)
    large.run(later.table.change("Newer", topic("Newer")))
    large.write_unseen(PATH, b'{"topicConf')
    found = loaded(large)
    assert {"New", "Newer", *(f"T{number}" for number in range(MANY))} <= found.entries.keys()
    assert found.data_version == later.table.data_version


def test_a_file_that_is_damaged_before_the_next_change_costs_nothing_either(large):
    large.run(large.table.change("New", topic("New")))
    large.run(large.table.change("T1", None))
    large.run(large.table.close())
    large.write_unseen(PATH, b'{"topicConf')
    found = loaded(large).entries
    assert "New" in found
    assert "T1" not in found


def test_what_a_copy_takes_over_while_the_file_is_being_written_is_saved_too(large):
    def content(version, *names):
        entries = {name: topic(name).to_dict() for name in (*large.table.entries, *names)}
        return {"dataVersion": {"timestamp": version, "counter": version}, "topicConfigTable": entries}

    async def take_over_twice():
        large.table.take_over(content(6, "A"), parse_topic)
        while not large.table._writing.locked():
            await asyncio.sleep(0)
        large.table.take_over(content(7, "A", "B"), parse_topic)
        await large.table.saved()

    large.run(take_over_twice())
    assert {"A", "B"} <= loaded(large).entries.keys()


def test_where_the_journal_cannot_be_written_nothing_has_changed_and_the_next_write_is_whole(large):
    async def fail():
        large.disk.storage.occupied_bytes = large.disk.storage.capacity_bytes
        with pytest.raises(ConfigNotSaved):
            await large.table.change("Lost", topic("Lost"))
        large.disk.storage.occupied_bytes = 0
        await large.table.change("Later", topic("Later"))

    large.run(fail())
    assert "Lost" not in large.table.entries
    assert "Later" in large.saved
    assert "Lost" not in large.saved


@pytest.mark.parametrize("after_ms", [0, 1, 2, 3, 5])
def test_after_a_crash_a_large_table_is_whole_and_has_what_was_answered(large, after_ms):
    large.run(large.table.change("Answered", topic("Answered")))
    large.node.spawn(large.table.change("Waiting", topic("Waiting")), "tool")
    large.world.run_for(after_ms)
    was_answered = "Waiting" in large.table.entries
    found = loaded(large).entries
    assert len(found) >= MANY + 1
    assert "Answered" in found
    assert ("Waiting" in found) >= was_answered
