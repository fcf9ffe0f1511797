"""A table that is valid JSON of another shape is no table: its backup is used, and neither of them gets lost."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_text import dumps_json
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.config_file import ConfigFile
from engine.store.files.table_shapes import ANY, TABLE_SHAPES, Shape, why_not_table
from engine.store.store_check import CheckKind, StoreCheck

#: Of every table, what it may hold.
EXAMPLES: dict[str, dict[str, Any]] = {
    "brokerConfig.json": {"changes": {"deleteWhen": {"from": "04", "to": "05"}}},
    "consumerFilter.json": {"filterDataByTopic": {"T": {"groupFilterData": {"g": {"topic": "T"}}, "topic": "T"}}},
    "consumerOffset.json": {"offsetTable": {"T@g": {"0": 5, "1": 7}}},
    "delayOffset.json": {"offsetTable": {"1": 5}},
    "deletedTopics.json": {"deletedTopics": {"T": 500}},
    "kvConfig.json": {"configTable": {"ORDER_TOPIC_CONFIG": {"T": "broker-a:4"}}},
    "nameServerConfig.json": {"changes": {"orderMessageEnable": {"from": False, "to": True}}},
    "recoveryPoint.json": {
        "consumeQueues": {"T": {"0": [0, 5]}},
        "dispatchedOffset": 500,
        "flushedOffset": 500,
        "indexFiles": {"20260101000000000": 7},
    },
    "subscriptionGroup.json": {"subscriptionGroupTable": {"g": {"groupName": "g"}}, "dataVersion": {}},
    "topics.json": {"topicConfigTable": {"T": {"topicName": "T"}}, "dataVersion": {}},
}
#: A value that is not an object, an integer or a text, at any place of any table.
WRONG = [None, [], 1.5, [{"a": 1}]]


def other_shapes(content: Any, shape: Shape) -> Iterator[Any]:
    """``content`` with a wrong value at each place that the shape knows, and without each field that must be there."""
    yield from WRONG
    if isinstance(shape, type):
        return
    for name in content if ANY in shape else shape:
        for wrong in other_shapes(content[name], shape.get(name, shape.get(ANY, dict))):
            yield {**content, name: wrong}
        if name in shape:
            yield {known: value for known, value in content.items() if known != name}


CASES = [
    pytest.param(name, other, id=f"{name} {number}")
    for name, content in EXAMPLES.items()
    for number, other in enumerate(other_shapes(content, TABLE_SHAPES[name]))
]


@pytest.fixture
def disk():
    with LabMachines() as world:
        yield world.node("broker-a").disk


def path_of(name: str) -> str:
    return f"config/{name}"


def newer(name: str, number: int) -> dict[str, Any]:
    return {**copy.deepcopy(EXAMPLES[name]), "number": number}


def test_every_table_has_an_example_that_fits_it():
    assert EXAMPLES.keys() == TABLE_SHAPES.keys()
    assert [why_not_table(name, content) for name, content in EXAMPLES.items()] == [None] * len(EXAMPLES)


@pytest.mark.parametrize(("name", "other"), CASES)
def test_a_table_of_another_shape_is_replaced_by_its_backup_and_both_are_kept(disk, name, other, caplog):
    file = ConfigFile(disk, path_of(name))
    file.save(newer(name, 1))
    file.save(newer(name, 2))
    bad = dumps_json(other)
    disk.write_whole(file.path, bad)
    again = ConfigFile(disk, file.path)
    assert again.load() == newer(name, 1)
    assert file.path in caplog.text
    assert ".bak is used" in caplog.text
    for number in range(3, 6):
        again.save(newer(name, number))
        backup = ConfigFile(disk, file.backup_path.removesuffix(".bak"))
        assert why_not_table(name, backup._read(file.backup_path)[0]) is None
        assert disk.read_whole(f"{file.path}.damaged") == bad
    assert ConfigFile(disk, file.path).load() == newer(name, 5)


@pytest.mark.parametrize(("name", "other"), CASES)
def test_where_the_backup_has_another_shape_too_both_are_kept_aside(disk, name, other):
    path = path_of(name)
    bad, worse = dumps_json(other), dumps_json({"other": other})
    disk.write_whole(path, bad)
    disk.write_whole(f"{path}.bak", worse)
    file = ConfigFile(disk, path)
    rest = file.load()
    assert rest == (other if isinstance(other, dict) else {"other": other})
    for number in range(3):
        file.save(newer(name, number))
    assert disk.read_whole(f"{path}.damaged") == bad
    assert disk.read_whole(f"{path}.bak.damaged") == worse
    assert ConfigFile(disk, path).load() == newer(name, 2)


@pytest.mark.parametrize(("name", "other"), CASES)
def test_a_check_of_the_folder_names_a_table_of_another_shape(disk, name, other):
    disk.write_whole(path_of(name), dumps_json(other))
    check = StoreCheck(disk, disk.clock)
    check.run()
    assert any(place.startswith(f"config/{name} ") for place in check.counts[CheckKind.TABLE].places)


@pytest.mark.parametrize(("name", "other"), CASES)
def test_a_table_of_another_shape_is_not_taken_over_from_another_broker(disk, name, other):
    with pytest.raises(MalformedBody, match=name):
        ConfigFile(disk, path_of(name)).check(other)
