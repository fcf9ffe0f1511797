"""A name server through encoded frames, in the lab."""

import json
import zlib

import pytest

from engine.name_server.name_server import NameServer
from engine.name_server.name_server_config import NameServerConfig
from engine.protocol.body.bodies import RegisterBrokerBody, TopicConfigSerializeWrapper
from engine.protocol.body.data_version import DataVersion
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.body.topic_route_data import TopicRouteData
from engine.protocol.command.headers import (
    DeleteTopicRequestHeader,
    GetRouteInfoRequestHeader,
    GetTopicsByClusterRequestHeader,
    QueryDataVersionRequestHeader,
    RegisterBrokerRequestHeader,
    UnregisterBrokerRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.lab.lab_runtime import LabMachines

ADDRESS = "192.0.2.1:10911"


class Lab:
    def __init__(self, config: NameServerConfig | None = None) -> None:
        self.world = LabMachines(seed=1)
        self.server = NameServer(self.world.node("name-server"), config)
        self.world.run(self.server.start(), node="name-server")
        self.clients: dict[str, RemotingClient] = {}

    def call(self, code: int, header=None, body: bytes = b"", *, node: str = "client") -> RemotingCommand:
        client = self.clients.setdefault(node, RemotingClient(self.world.node(node), node))
        request = RemotingCommand.request(code, header, body)
        return self.world.run(client.call(self.server.address, request, 3_000), node=node)

    def register(self, topics: dict[str, int], *, crc: int | None = None, **fields) -> RemotingCommand:
        wrapper = TopicConfigSerializeWrapper(
            {name: TopicConfig(name, queues, queues) for name, queues in topics.items()}, DataVersion(1, 1)
        )
        body = fields.pop("body", RegisterBrokerBody(wrapper).to_json())
        header = RegisterBrokerRequestHeader(
            fields.pop("broker_name", "broker-a"),
            fields.pop("broker_addr", ADDRESS),
            fields.pop("cluster_name", "C"),
            "",
            0,
            body_crc32=zlib.crc32(body) & 0x7FFFFFFF if crc is None else crc,
            **fields,
        )
        return self.call(RequestCode.REGISTER_BROKER, header, body, node="broker-a")

    def route(self, topic: str) -> TopicRouteData | None:
        reply = self.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic))
        return TopicRouteData.from_json(reply.body) if reply.code == ResponseCode.SUCCESS else None


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.world.close()


def test_a_registered_topic_is_routed_to_its_broker(lab):
    assert lab.register({"T": 4}).code == ResponseCode.SUCCESS
    reply = lab.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader("T"))
    assert json.loads(reply.body) == {
        "brokerDatas": [{"brokerAddrs": {"0": ADDRESS}, "brokerName": "broker-a", "cluster": "C"}],
        "filterServerTable": {},
        "queueDatas": [
            {"brokerName": "broker-a", "perm": 6, "readQueueNums": 4, "topicSysFlag": 0, "writeQueueNums": 4}
        ],
    }


def test_a_missing_retry_topic_has_a_route_where_that_is_set():
    for is_set in (False, True):
        lab = Lab(NameServerConfig(route_missing_retry_topics=is_set))
        lab.register({"SELF_TEST_TOPIC": 1})
        route = lab.route("%RETRY%billing")
        assert (route is not None) is is_set
        assert route is None or [queues.read_queue_nums for queues in route.queue_datas] == [1]
        assert lab.route("orders") is None
        lab.world.close()


def test_an_unknown_topic_is_17_and_named(lab):
    reply = lab.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader("Nowhere"))
    assert reply.code == ResponseCode.TOPIC_NOT_EXIST
    assert "Nowhere" in (reply.remark or "")
    assert lab.call(RequestCode.GET_ROUTEINFO_BY_TOPIC).code == ResponseCode.SYSTEM_ERROR


def test_the_cluster_and_topic_lists_look_like_the_captured_ones(lab):
    lab.register({"T": 4, "U": 1})
    cluster = json.loads(lab.call(RequestCode.GET_BROKER_CLUSTER_INFO).body)
    assert cluster == {
        "brokerAddrTable": {"broker-a": {"brokerAddrs": {"0": ADDRESS}, "brokerName": "broker-a", "cluster": "C"}},
        "clusterAddrTable": {"C": ["broker-a"]},
    }
    topics = json.loads(lab.call(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body)
    assert topics == {"topicList": ["T", "U"]}
    by_cluster = lab.call(RequestCode.GET_TOPICS_BY_CLUSTER, GetTopicsByClusterRequestHeader("C"))
    assert json.loads(by_cluster.body) == {"topicList": ["T", "U"]}


@pytest.mark.parametrize(
    "fields",
    [
        {"crc": 7},
        {"compressed": True},
        {"broker_name": ""},
        {"cluster_name": "c" * 300},
        {"body": b"{"},
        {"body": b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"a b":{"topicName":"a b"}}}}'},
    ],
)
def test_a_registration_that_cannot_be_is_refused_with_its_reason_and_changes_nothing(lab, fields):
    reply = lab.register({"T": 4}, **fields)
    assert reply.code == ResponseCode.SYSTEM_ERROR
    assert reply.remark
    assert "internal error" not in reply.remark
    assert lab.server.route_info_manager.all_cluster_info().broker_addr_table == {}


def test_a_goodbye_removes_the_broker(lab):
    lab.register({"T": 4})
    lab.call(RequestCode.UNREGISTER_BROKER, UnregisterBrokerRequestHeader("broker-a", ADDRESS, "C", 0))
    assert lab.route("T") is None


def test_a_lost_connection_removes_the_broker(lab):
    lab.register({"T": 4})
    assert lab.route("T") is not None
    lab.world.crash("broker-a")
    lab.world.run_for(10)
    assert lab.route("T") is None


def test_a_silent_broker_is_removed_after_120_s(lab):
    lab.register({"T": 4})
    lab.world.crash("broker-a", silent=True)
    lab.world.run_for(119_000)
    assert lab.route("T") is not None
    lab.world.run_for(12_000)
    assert lab.route("T") is None


def test_a_broker_can_ask_whether_it_must_register(lab):
    header = QueryDataVersionRequestHeader("broker-a", ADDRESS, "C", 0)

    def changed(version: DataVersion) -> str:
        reply = lab.call(RequestCode.QUERY_DATA_VERSION, header, dumps_json(version.to_dict()), node="broker-a")
        return reply.ext_fields["changed"]

    assert changed(DataVersion(1, 1)) == "true"
    lab.register({"T": 4})
    assert changed(DataVersion(1, 1)) == "false"
    assert changed(DataVersion(1, 2)) == "true"


def test_a_deleted_topic_is_gone_until_the_broker_tells_a_new_version(lab):
    lab.register({"T": 4})
    lab.call(RequestCode.DELETE_TOPIC_IN_NAMESRV, DeleteTopicRequestHeader("T"))
    assert lab.route("T") is None
    lab.register({"T": 4})
    assert lab.route("T") is None


def test_unknown_codes_are_answered_with_3(lab):
    for code in (10, 34, 200, 320, 999):
        assert lab.call(code).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def test_a_name_server_that_shut_down_answers_nobody():
    lab = Lab(NameServerConfig(port=0))
    lab.world.run(lab.server.shutdown(), node="name-server")
    from engine.remoting.errors import RemotingConnectFailed

    with pytest.raises(RemotingConnectFailed):
        lab.route("T")
    lab.world.close()
