"""What a name server keeps in files: tables of another shape are replaced by their backups, and kept."""

from __future__ import annotations

import pytest

from engine.name_server.kv_config_manager import KVConfigManager
from engine.name_server.name_server_config import NameServerConfig
from engine.name_server.name_server_configuration import NameServerConfiguration
from engine.protocol.json_form.json_text import dumps_json
from engine.runtime.lab.lab_runtime import LabMachines


@pytest.fixture
def world():
    with LabMachines() as world:
        yield world


@pytest.mark.parametrize("table", [None, [], {"ORDER_TOPIC_CONFIG": None}, {"ORDER_TOPIC_CONFIG": {"T": 4}}])
def test_key_value_texts_of_another_shape_come_from_the_backup(world, table):
    disk = world.node("name-server").disk
    texts = KVConfigManager(disk)
    for key in ("first", "second"):
        world.run(texts.put("ORDER_TOPIC_CONFIG", key, "broker-a:4"), node="name-server")
    bad = dumps_json({"configTable": table})
    disk.write_whole("config/kvConfig.json", bad)
    again = KVConfigManager(disk)
    again.load()
    assert again.get("ORDER_TOPIC_CONFIG", "first") == "broker-a:4"
    for key in ("third", "fourth"):
        world.run(again.put("ORDER_TOPIC_CONFIG", key, "broker-a:4"), node="name-server")
    assert disk.read_whole("config/kvConfig.json.damaged") == bad
    last = KVConfigManager(disk)
    last.load()
    assert last.namespace("ORDER_TOPIC_CONFIG") == dict.fromkeys(("first", "third", "fourth"), "broker-a:4")


@pytest.mark.parametrize(
    "changes", [None, [], {"orderMessageEnable": None}, {"orderMessageEnable": {"from": 1, "to": 2}}]
)
def test_settings_of_another_shape_come_from_the_backup(world, changes):
    disk = world.node("name-server").disk
    settings = NameServerConfiguration(NameServerConfig(), disk)
    for value in ("true", "false", "true"):
        settings.update({"orderMessageEnable": value})
    settings.update({"orderMessageEnable": "false"})
    bad = dumps_json({"changes": changes})
    disk.write_whole("config/nameServerConfig.json", bad)
    config = NameServerConfig()
    again = NameServerConfiguration(config, disk)
    again.load()
    assert config.order_message_enable
    again.update({"orderMessageEnable": "false"})
    assert disk.read_whole("config/nameServerConfig.json.damaged") == bad
