"""What only tools ask a name server."""

import asyncio
import json

import pytest

from engine.name_server.kv_config_manager import KVConfigManager
from engine.name_server.name_server import NameServer
from engine.name_server.name_server_config import NameServerConfig
from engine.protocol.command.headers import (
    GetKVListByNamespaceRequestHeader,
    GetRouteInfoRequestHeader,
    KVConfigRequestHeader,
    PutKVConfigRequestHeader,
    WritePermOfBrokerRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import DiskFault
from tests.engine.name_server.test_name_server import ADDRESS, Lab

ORDER = "ORDER_TOPIC_CONFIG"


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.world.close()


def put(lab: Lab, namespace: str, key: str, value: str) -> RemotingCommand:
    return lab.call(RequestCode.PUT_KV_CONFIG, PutKVConfigRequestHeader(namespace, key, value))


def get(lab: Lab, namespace: str, key: str) -> str | None:
    reply = lab.call(RequestCode.GET_KV_CONFIG, KVConfigRequestHeader(namespace, key))
    assert (reply.code == ResponseCode.QUERY_NOT_FOUND) == ("value" not in reply.ext_fields)
    return reply.ext_fields.get("value")


def namespace(lab: Lab, name: str) -> dict | None:
    reply = lab.call(RequestCode.GET_KVLIST_BY_NAMESPACE, GetKVListByNamespaceRequestHeader(name))
    return json.loads(reply.body)["table"] if reply.code == ResponseCode.SUCCESS else None


def restart(lab: Lab, config: NameServerConfig | None = None) -> None:
    lab.world.crash("name-server", False)
    lab.clients.clear()
    lab.server = NameServer(lab.world.restart("name-server"), config)
    lab.world.run(lab.server.start(), node="name-server")


# --- key-value configuration -----------------------------------------------------------------------------------------


def test_a_text_is_kept_and_survives_a_crash(lab):
    assert put(lab, "N", "k", "v").code == ResponseCode.SUCCESS
    put(lab, "N", "k2", "w")
    restart(lab)
    assert get(lab, "N", "k") == "v"
    assert namespace(lab, "N") == {"k": "v", "k2": "w"}


def test_a_deleted_text_is_gone_for_good_and_its_namespace_stays(lab):
    put(lab, "N", "k", "v")
    for _ in range(2):
        assert lab.call(RequestCode.DELETE_KV_CONFIG, KVConfigRequestHeader("N", "k")).code == ResponseCode.SUCCESS
    restart(lab)
    assert get(lab, "N", "k") is None
    assert namespace(lab, "N") == {}
    assert namespace(lab, "M") is None


@pytest.mark.parametrize(
    ("name", "key", "value"), [("", "k", "v"), ("N", " ", "v"), ("N", "k" * 256, "v"), ("N", "k", "v" * 40_000)]
)
def test_a_text_that_cannot_be_is_refused(lab, name, key, value):
    reply = put(lab, name, key, value)
    assert reply.code == ResponseCode.SYSTEM_ERROR
    assert reply.remark
    assert namespace(lab, name) is None


def test_texts_are_bounded_and_known_ones_can_still_be_changed():
    lab = Lab(NameServerConfig(port=9876, max_kv_entries=3))
    assert put(lab, "N", "a", "1").code == ResponseCode.SUCCESS
    assert put(lab, "N", "b", "1").code == ResponseCode.SUCCESS
    assert put(lab, "N", "c", "1").code == ResponseCode.SYSTEM_ERROR
    assert put(lab, "M", "c", "1").code == ResponseCode.SYSTEM_ERROR
    assert put(lab, "N", "b", "2").code == ResponseCode.SUCCESS
    lab.world.close()


def test_a_damaged_file_is_left_aside(lab):
    lab.world.node("name-server").disk.write_whole(
        "config/kvConfig.json", b'{"configTable":{"N":{"k":5,"l":"v"},"M":1}}'
    )
    restart(lab)
    assert namespace(lab, "N") == {"l": "v"}
    lab.world.node("name-server").disk.write_whole("config/kvConfig.json", b"nonsense")
    restart(lab)
    assert namespace(lab, "N") is None


@pytest.mark.parametrize("damage", [b"nonsense", b"", b'{"configTable":{"N":{"k"'])
def test_a_damaged_file_is_replaced_by_its_backup_and_kept_beside_it(lab, damage):
    for value in ("old", "new"):
        put(lab, "N", "k", value)
    disk = lab.world.node("name-server").disk
    disk.write_whole("config/kvConfig.json", damage)
    restart(lab)
    assert namespace(lab, "N") == {"k": "old"}
    put(lab, "N", "k", "newest")
    assert disk.read_whole("config/kvConfig.json.damaged") == damage
    restart(lab)
    assert namespace(lab, "N") == {"k": "newest"}


def test_a_text_is_on_the_disk_before_it_is_answered_and_does_not_count_before(lab):
    node = lab.world.node("name-server")
    manager = KVConfigManager(node.disk)

    async def look() -> None:
        waiting = asyncio.ensure_future(manager.put("N", "k", "v"))
        await asyncio.sleep(0.001)
        assert manager.get("N", "k") is None
        await waiting

    node.run(look())
    assert manager.get("N", "k") == "v"
    again = KVConfigManager(node.disk)
    again.load()
    assert again.get("N", "k") == "v"


def test_brokers_hear_of_ordered_topics_when_they_register(lab):
    assert lab.register({"T": 4}).body == b""
    put(lab, ORDER, "T", "broker-a:4")
    assert json.loads(lab.register({"T": 4}).body)["table"] == {"T": "broker-a:4"}


# --- write permission ------------------------------------------------------------------------------------------------


def perm(lab: Lab, topic: str) -> int:
    route = lab.route(topic)
    assert route is not None
    return route.queue_datas[0].perm


def test_a_broker_without_write_permission_is_no_longer_written_to_but_still_read(lab):
    lab.register({"T": 4, "U": 4})
    header = WritePermOfBrokerRequestHeader("broker-a")
    reply = lab.call(RequestCode.WIPE_WRITE_PERM_OF_BROKER, header)
    assert reply.ext_fields == {"wipeTopicCount": "2"}
    assert perm(lab, "T") == 4
    lab.register({"T": 4, "U": 4})
    assert perm(lab, "T") == 4, "the broker's topics did not change, so the permission stays wiped"
    reply = lab.call(RequestCode.ADD_WRITE_PERM_OF_BROKER, header)
    assert reply.ext_fields == {"addTopicCount": "2"}
    assert perm(lab, "T") == 6
    other = lab.call(RequestCode.WIPE_WRITE_PERM_OF_BROKER, WritePermOfBrokerRequestHeader("nobody"))
    assert other.ext_fields == {"wipeTopicCount": "0"}


# --- lists of topics -------------------------------------------------------------------------------------------------


def test_system_topics_are_named_after_clusters_and_brokers(lab):
    lab.register({"T": 4})
    body = json.loads(lab.call(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS).body)
    assert body == {"brokerAddr": ADDRESS, "topicList": ["C", "broker-a"]}


def test_topics_of_units_are_reported_by_their_flags(lab):
    flags = {"plain": 0, "unit": 1, "subscribed": 2, "both": 3}
    table = ",".join(f'"{name}":{{"topicName":"{name}","topicSysFlag":{flag}}}' for name, flag in flags.items())
    lab.register({}, body=f'{{"topicConfigSerializeWrapper":{{"topicConfigTable":{{{table}}}}}}}'.encode())

    def topics(code: RequestCode) -> list[str]:
        return json.loads(lab.call(code).body)["topicList"]

    assert topics(RequestCode.GET_UNIT_TOPIC_LIST) == ["unit", "both"]
    assert topics(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST) == ["subscribed", "both"]
    assert topics(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST) == ["subscribed"]


# --- settings --------------------------------------------------------------------------------------------------------


def settings(lab: Lab) -> dict[str, str]:
    body = lab.call(RequestCode.GET_NAMESRV_CONFIG).body.decode()
    return dict(line.split("=", 1) for line in body.splitlines())


def update(lab: Lab, text: str) -> RemotingCommand:
    return lab.call(RequestCode.UPDATE_NAMESRV_CONFIG, body=text.encode())


def order_conf(lab: Lab) -> str | None:
    body = lab.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader("T")).body
    return json.loads(body).get("orderTopicConf")


def test_routes_carry_the_order_configuration_once_that_is_switched_on(lab):
    lab.register({"T": 4})
    put(lab, ORDER, "T", "broker-a:4")
    assert order_conf(lab) is None
    assert update(lab, "orderMessageEnable=true").code == ResponseCode.SUCCESS
    assert order_conf(lab) == "broker-a:4"
    assert settings(lab)["orderMessageEnable"] == "true"
    assert settings(lab)["listenPort"] == lab.server.address.rpartition(":")[2]
    restart(lab)
    assert settings(lab)["orderMessageEnable"] == "true"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("orderMessageEnable=true\nlistenPort=1", ResponseCode.NO_PERMISSION),
        ("orderMessageEnable=true\nnoSuch=1", ResponseCode.SYSTEM_ERROR),
        ("orderMessageEnable=perhaps", ResponseCode.SYSTEM_ERROR),
    ],
)
def test_one_bad_setting_refuses_all(lab, text, code):
    assert update(lab, text).code == code
    assert settings(lab)["orderMessageEnable"] == "false"


def test_what_the_name_server_is_started_with_counts_more_than_an_older_change(lab):
    update(lab, "orderMessageEnable=true")
    restart(lab, NameServerConfig(order_message_enable=True))
    update(lab, "orderMessageEnable=false")
    restart(lab, NameServerConfig(order_message_enable=False))
    assert settings(lab)["orderMessageEnable"] == "false"


def test_a_change_back_is_no_change_any_more(lab):
    update(lab, "orderMessageEnable=true")
    update(lab, "orderMessageEnable=false")
    restart(lab)
    assert settings(lab)["orderMessageEnable"] == "false"
    restart(lab, NameServerConfig(order_message_enable=True))
    assert settings(lab)["orderMessageEnable"] == "true", "nobody changed it from this value"


def test_a_namespace_counts_as_an_entry():
    lab = Lab(NameServerConfig(port=9876, max_kv_entries=3))
    assert put(lab, "N", "a", "1").code == ResponseCode.SUCCESS
    assert put(lab, "M", "b", "1").code == ResponseCode.SYSTEM_ERROR
    lab.world.close()


def test_wiping_twice_wipes_and_adding_makes_a_read_only_broker_writable_and_readable(lab):
    lab.register({"T": 4})
    header = WritePermOfBrokerRequestHeader("broker-a")
    for _ in range(2):
        lab.call(RequestCode.WIPE_WRITE_PERM_OF_BROKER, header)
        assert perm(lab, "T") == 4
    routes = lab.server.route_info_manager
    routes._change_perm("broker-a", lambda _: 0)
    lab.call(RequestCode.ADD_WRITE_PERM_OF_BROKER, header)
    assert perm(lab, "T") == 6, "as RocketMQ: whatever it was"


def test_a_name_server_without_files_keeps_texts_in_memory(lab, monkeypatch):
    put(lab, "N", "k", "v")
    disk = lab.world.node("name-server").disk
    before = disk.read_whole("config/kvConfig.json")

    def unreadable(path):
        raise DiskFault("broken")

    manager = KVConfigManager(disk)
    with monkeypatch.context() as patched:
        patched.setattr(disk, "exists", unreadable)
        manager.load()
    lab.world.run(manager.put("N", "k", "w"), node="name-server")
    assert manager.get("N", "k") == "w"
    assert disk.read_whole("config/kvConfig.json") == before
