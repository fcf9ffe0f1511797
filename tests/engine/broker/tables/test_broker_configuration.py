"""Settings that tools change while the broker runs."""

import dataclasses
import json
from typing import Any

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.tables.broker_configuration import CHANGEABLE
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.body.topic_route_data import TopicRouteData
from engine.protocol.command.headers import GetRouteInfoRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import DiskFault
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab


def update(client: LabClient, text: str) -> RemotingCommand:
    return client.call(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())


def settings(client: LabClient) -> dict[str, str]:
    reply = client.call(RequestCode.GET_BROKER_CONFIG)
    return dict(line.split("=", 1) for line in reply.body.decode().splitlines())


def route_perm(client: LabClient, topic: str) -> int:
    reply = client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic))
    return TopicRouteData.from_json(reply.body).queue_datas[0].perm


def test_a_change_counts_at_once_and_is_shown_with_a_new_version():
    with broker_lab() as lab:
        client = lab.client()
        before = client.call(RequestCode.GET_BROKER_CONFIG).ext_fields["version"]
        assert update(client, "fileReservedTime=5\ndiskMaxUsedSpaceRatio=60\n").code == ResponseCode.SUCCESS
        assert lab.broker.store.config.file_reserved_time_hours == 5
        assert lab.broker.store.config.disk_max_used_space_ratio == pytest.approx(0.6)
        shown = settings(client)
        assert (shown["fileReservedTime"], shown["diskMaxUsedSpaceRatio"]) == ("5", "60")
        after = client.call(RequestCode.GET_BROKER_CONFIG).ext_fields["version"]
        assert json.loads(after)["counter"] == json.loads(before)["counter"] + 1


def test_topics_on_demand_can_be_switched_on_and_off():
    with broker_lab(BrokerConfig(auto_create_topic_enable=False)) as lab:
        client = lab.client()
        assert client.send("New").code == ResponseCode.TOPIC_NOT_EXIST
        update(client, "autoCreateTopicEnable=true")
        assert client.send("New").code == ResponseCode.SUCCESS
        update(client, "autoCreateTopicEnable=false")
        assert client.send("Newer").code == ResponseCode.TOPIC_NOT_EXIST


def test_the_permission_of_the_broker_is_reported_to_the_name_server():
    """As in RocketMQ the route keeps producers away; the broker itself refuses only topics of strict order."""
    with broker_lab() as lab:
        client = lab.client()
        for topic, order in (("T", False), ("Ordered", True)):
            lab.world.run(
                lab.broker.topic_config_manager.update_topic_config(TopicConfig(topic, 1, 1, order=order)),
                node="broker-a",
            )
            assert client.send(topic).code == ResponseCode.SUCCESS
        update(client, "brokerPermission=4")
        assert client.send("Ordered").code == ResponseCode.NO_PERMISSION
        assert client.send("T").code == ResponseCode.SUCCESS
        assert client.pull().code == ResponseCode.SUCCESS
        lab.run_for(1_000)
        assert route_perm(client, "Ordered") == 4
        update(client, "brokerPermission=2")
        assert client.pull().code == ResponseCode.NO_PERMISSION
        lab.run_for(1_000)
        assert route_perm(client, "T") == 2
        update(client, "brokerPermission=4")
        lab.run_for(1_000)
        assert route_perm(client, "T") == 4
        update(client, "brokerPermission=6")
        lab.run_for(1_000)
        assert route_perm(client, "T") == 6
        assert client.send("Ordered").code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("fileReservedTime=1\nnoSuchSetting=2", ResponseCode.SYSTEM_ERROR, "noSuchSetting"),
        ("fileReservedTime=1\nfileReservdTime=2", ResponseCode.SYSTEM_ERROR, "fileReservedTime"),
        ("fileReservedTime=1\nlistenPort=99", ResponseCode.NO_PERMISSION, "listenPort"),
        ("fileReservedTime=1\ndeleteWhen=25", ResponseCode.SYSTEM_ERROR, "deleteWhen"),
        ("fileReservedTime=1\nbrokerPermission=9", ResponseCode.SYSTEM_ERROR, "brokerPermission"),
        ("fileReservedTime=1\nlongPollingEnable=maybe", ResponseCode.SYSTEM_ERROR, "true, false"),
        ("fileReservedTime=1\n=5", ResponseCode.SYSTEM_ERROR, "=5"),
        ("fileReservedTime=-1", ResponseCode.SYSTEM_ERROR, "fileReservedTime"),
        ("fileReservedTime=99999999999", ResponseCode.SYSTEM_ERROR, "fileReservedTime"),
    ],
)
def test_one_bad_entry_refuses_all_and_is_named(text, code, named):
    with broker_lab() as lab:
        client = lab.client()
        before = settings(client)
        reply = update(client, text)
        assert reply.code == code
        assert named in (reply.remark or "")
        assert settings(client) == before


def restarted(lab: BrokerLab, **store: Any) -> BrokerLab:
    lab.world.run(lab.broker.shutdown(), node="broker-a")
    lab.world.restart("broker-a")
    lab.store_config = dataclasses.replace(lab.store_config or MessageStoreConfig(), **store)
    lab.broker = lab._start_broker()
    return lab


def test_a_change_outlives_the_process_unless_the_next_start_says_otherwise():
    with broker_lab() as lab:
        update(lab.client(), "fileReservedTime=5")
        restarted(lab)
        assert lab.broker.store_config.file_reserved_time_hours == 5
        restarted(lab, file_reserved_time_hours=9)
        assert lab.broker.store_config.file_reserved_time_hours == 9


def test_a_change_back_is_no_change_any_more():
    with broker_lab() as lab:
        client = lab.client()
        update(client, "fileReservedTime=5")
        update(client, "fileReservedTime=72")
        content = json.loads(lab.world.node("broker-a").disk.read_whole("config/brokerConfig.json"))
        assert content == {"changes": {}}


def test_a_file_that_makes_no_sense_changes_nothing():
    with broker_lab() as lab:
        disk = lab.world.node("broker-a").disk
        changes = {
            "fileReservedTime": {"from": "72", "to": "soon"},
            "listenPort": {"from": "10911", "to": "1"},
            "deleteWhen": 5,
        }
        disk.write_whole("config/brokerConfig.json", json.dumps({"changes": changes}).encode())
        restarted(lab)
        assert lab.broker.store_config == MessageStoreConfig()


def test_a_disk_that_fails_leaves_everything_as_it_was(monkeypatch):
    with broker_lab() as lab:
        client = lab.client()

        def fail(path, data):
            raise DiskFault("no room")

        monkeypatch.setattr(lab.broker.runtime.disk, "write_whole", fail)
        assert update(client, "fileReservedTime=5").code == ResponseCode.SYSTEM_ERROR
        assert settings(client)["fileReservedTime"] == "72"


def test_the_configuration_that_a_broker_was_given_is_not_changed():
    given = MessageStoreConfig()
    with broker_lab(store_config=given) as lab:
        update(lab.client(), "fileReservedTime=5")
        assert given == MessageStoreConfig()


def test_every_setting_that_can_change_is_one_of_the_settings_and_takes_its_own_text():
    with broker_lab() as lab:
        client = lab.client()
        shown = settings(client)
        assert set(CHANGEABLE) <= set(shown)
        assert update(client, "".join(f"{name}={shown[name]}\n" for name in CHANGEABLE)).code == ResponseCode.SUCCESS
        assert settings(client) == shown
