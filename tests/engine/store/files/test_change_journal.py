"""The journal of a table's changes: what is read back, after a crash and after damage."""

from __future__ import annotations

import pytest

from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.change_journal import ChangeJournal

PATH = "config/topics.json"
BASE = b'{"a": 1}'


@pytest.fixture
def world():
    with LabMachines() as world:
        world.node("broker")
        yield world


def journal(world: LabMachines) -> ChangeJournal:
    return ChangeJournal(world.node("broker").disk, PATH)


def written(world: LabMachines, *changes: dict, base: bytes = BASE) -> ChangeJournal:
    made = journal(world)

    async def write() -> None:
        for change in changes:
            await made.append(base, change)

    world.run(write(), node="broker")
    return made


def test_changes_come_back_in_order_after_a_power_cut(world):
    written(world, {"number": 1}, {"number": 2})
    world.crash("broker", keep_page_cache=False)
    world.restart("broker")
    assert journal(world).load(BASE) == [{"number": 1}, {"number": 2}]


def test_without_a_journal_there_are_no_changes(world):
    assert journal(world).load(BASE) == []


def test_changes_to_another_content_of_the_file_are_none_of_this_one_and_that_is_reported(world, caplog):
    written(world, {"number": 1}, base=b"older").close()
    written(world, {"number": 2})
    assert journal(world).load(BASE) == [{"number": 2}]
    assert "1 changes are of another content" in caplog.text


def test_where_the_file_holds_nothing_usable_all_changes_count(world):
    written(world, {"number": 1}, base=b"older").close()
    written(world, {"number": 2})
    assert [change["number"] for change in journal(world).load(None)] == [1, 2]


@pytest.mark.parametrize("cut_bytes", [2, 10, 30])
def test_a_torn_end_is_left_out_and_spoils_nothing_that_is_added_behind_it(world, cut_bytes, caplog):
    written(world, {"number": 1}, {"number": 2}).close()
    disk = world.node("broker").disk
    path = f"{PATH}.journal"
    disk.write_whole(path, disk.read_whole(path)[:-cut_bytes])
    assert journal(world).load(BASE) == [{"number": 1}]
    assert "a line of" in caplog.text
    written(world, {"number": 3})
    assert journal(world).load(BASE) == [{"number": 1}, {"number": 3}]


def test_zeros_where_a_line_was_being_written_spoil_no_other(world):
    written(world, {"number": 1}).close()
    disk = world.node("broker").disk
    path = f"{PATH}.journal"
    disk.write_whole(path, disk.read_whole(path) + bytes(300))
    written(world, {"number": 2})
    assert journal(world).load(BASE) == [{"number": 1}, {"number": 2}]


def test_a_damaged_line_hides_no_other(world):
    written(world, {"number": 1}, {"number": 2}, {"number": 3}).close()
    disk = world.node("broker").disk
    path = f"{PATH}.journal"
    disk.write_whole(path, disk.read_whole(path).replace(b'"number":2', b'"number":7'))
    assert journal(world).load(BASE) == [{"number": 1}, {"number": 3}]


def test_nothing_is_left_once_the_file_has_it_all(world):
    written(world, {"number": 1}).clear()
    assert not world.node("broker").disk.exists(f"{PATH}.journal")
    assert journal(world).load(None) == []
