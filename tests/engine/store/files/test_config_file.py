"""Configuration files that survive crashes."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.port import DiskFault
from engine.store.files.config_file import ConfigFile

PATH = "config/settings.json"


@pytest.fixture
def disk():
    with LabMachines() as world:
        yield world.node("broker-a").disk


@pytest.fixture
def file(disk):
    file = ConfigFile(disk, PATH)
    file.save({"a": 1})
    file.save({"a": 2, "topic": "测试"})
    return file


def reload(disk):
    file = ConfigFile(disk, PATH)
    return file.load(), file.remarks


def test_what_is_saved_is_loaded_and_the_content_before_is_the_backup(disk, file):
    assert reload(disk) == ({"a": 2, "topic": "测试"}, [])
    assert ConfigFile(disk, PATH + ".bak").load() == {"a": 1}


def test_a_missing_file_is_no_content_and_no_remark(disk):
    assert reload(disk) == (None, [])


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (b"", "is empty"),
        (b"\0" * 100, "is empty"),
        (b'{"a": 2, "top', "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[1, 2]", "holds no JSON object"),
    ],
)
def test_a_damaged_file_is_replaced_by_its_backup_and_said_so(disk, file, damage, why):
    disk.write_whole(PATH, damage)
    content, [remark] = reload(disk)
    assert content == {"a": 1}
    assert why in remark
    assert PATH in remark
    assert "backup" in remark


def test_a_deleted_file_is_replaced_by_its_backup(disk, file):
    disk.remove(PATH)
    content, [remark] = reload(disk)
    assert content == {"a": 1}
    assert "missing" in remark


def test_two_damaged_files_are_both_named(disk, file):
    disk.write_whole(PATH, b"{")
    disk.write_whole(PATH + ".bak", b"")
    content, [remark] = reload(disk)
    assert content is None
    assert "not JSON" in remark
    assert ".bak is empty" in remark


def test_a_damaged_file_never_becomes_the_backup(disk, file):
    disk.write_whole(PATH, b"garbage")
    again = ConfigFile(disk, PATH)
    again.load()
    again.save({"a": 3})
    assert ConfigFile(disk, PATH + ".bak").load() == {"a": 1}
    assert reload(disk) == ({"a": 3}, [])


def test_a_damaged_file_is_kept_for_whoever_can_still_read_it(disk, file):
    disk.write_whole(PATH, b"garbage")
    again = ConfigFile(disk, PATH)
    again.load()
    again.save({"a": 3})
    assert disk.read_whole(PATH + ".damaged") == b"garbage"
    again.save({"a": 4})
    assert disk.read_whole(PATH + ".damaged") == b"garbage"


def test_saving_off_the_loop_lets_others_go_on_and_keeps_the_order_of_the_saves():
    with LabMachines() as world:
        node = world.node("broker-a")
        file = ConfigFile(node.disk, PATH)

        async def three() -> None:
            saves = [asyncio.ensure_future(file.save_off_loop(partial(dict, a=n))) for n in range(3)]
            await asyncio.sleep(0)
            assert not any(save.done() for save in saves)
            await asyncio.gather(*saves)

        node.run(three())
        assert reload(node.disk)[0] == {"a": 2}


def test_a_save_that_fails_in_the_middle_leaves_the_old_content(disk, file):
    disk.storage.occupied_bytes = disk.storage.capacity_bytes
    with pytest.raises(DiskFault):
        file.save({"a": 3})
    disk.storage.occupied_bytes = 0
    content, _ = reload(disk)
    assert content == {"a": 2, "topic": "测试"}
    file.save({"a": 3})
    assert reload(disk) == ({"a": 3}, [])


def test_saving_the_same_content_again_writes_nothing(disk, file):
    file.save({"a": 2, "topic": "测试"})
    assert ConfigFile(disk, PATH + ".bak").load() == {"a": 1}


def test_what_fastjson_writes_is_understood(disk):
    disk.write_whole(PATH, b'{"offsetTable":{"T@g":{0:5,1:7}}}')
    assert reload(disk) == ({"offsetTable": {"T@g": {"0": 5, "1": 7}}}, [])
