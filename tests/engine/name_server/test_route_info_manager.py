from typing import Any

import pytest

from engine.name_server.errors import RegistrationRefused
from engine.name_server.route_info_manager import RouteInfoManager
from engine.protocol.body.bodies import TopicConfigSerializeWrapper
from engine.protocol.body.data_version import DataVersion
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.headers import RegisterBrokerRequestHeader


class Clock:
    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms

    def monotonic_us(self) -> int:
        return self.ms * 1_000


class OpenChannel:
    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


def register(
    routes: RouteInfoManager,
    topics: dict[str, int],
    *,
    name: str = "broker-a",
    address: str = "10.0.0.1:10911",
    broker_id: int = 0,
    cluster: str = "C",
    version: int = 1,
    channel: Any = None,
) -> tuple[str | None, str | None]:
    header = RegisterBrokerRequestHeader(name, address, cluster, f"{address}-ha", broker_id)
    table = {topic: TopicConfig(topic, queues, queues) for topic, queues in topics.items()}
    wrapper = TopicConfigSerializeWrapper(table, DataVersion(version, version))
    anybody: Any = OpenChannel() if channel is None else channel
    return routes.register_broker(header, wrapper, anybody)


def test_a_route_names_every_broker_that_has_the_topic():
    routes = RouteInfoManager(Clock())
    register(routes, {"T": 4})
    register(routes, {"T": 8, "U": 1}, name="broker-b", address="10.0.0.2:10911")
    route = routes.pickup_topic_route_data("T")
    assert route is not None
    assert [(data.broker_name, data.write_queue_nums) for data in route.queue_datas] == [
        ("broker-a", 4),
        ("broker-b", 8),
    ]
    assert [data.broker_addrs for data in route.broker_datas] == [{0: "10.0.0.1:10911"}, {0: "10.0.0.2:10911"}]
    assert routes.pickup_topic_route_data("unknown") is None
    assert routes.all_topics() == ["T", "U"]
    assert routes.topics_of_cluster("C") == ["T", "U"]
    assert routes.topics_of_cluster("D") == []


def test_a_changed_topic_replaces_the_old_one_only_with_a_new_version():
    routes = RouteInfoManager(Clock())
    register(routes, {"T": 4}, version=1)
    register(routes, {"T": 8}, version=1)
    route = routes.pickup_topic_route_data("T")
    assert route is not None
    assert route.queue_datas[0].write_queue_nums == 4
    register(routes, {"T": 8}, version=2)
    route = routes.pickup_topic_route_data("T")
    assert route is not None
    assert route.queue_datas[0].write_queue_nums == 8


def test_a_slave_learns_its_master_and_adds_no_topics():
    routes = RouteInfoManager(Clock())
    register(routes, {"T": 4})
    answer = register(routes, {"U": 4}, address="10.0.0.2:10911", broker_id=1)
    assert answer == ("10.0.0.1:10911-ha", "10.0.0.1:10911")
    assert routes.all_topics() == ["T"]


def test_a_slave_that_becomes_master_gives_up_its_old_id():
    routes = RouteInfoManager(Clock())
    register(routes, {"T": 4}, address="10.0.0.2:10911", broker_id=1)
    register(routes, {"T": 4}, address="10.0.0.2:10911", broker_id=0)
    assert routes.all_cluster_info().broker_addr_table["broker-a"].broker_addrs == {0: "10.0.0.2:10911"}


def test_a_silent_broker_is_forgotten_after_120_s_and_cut_off():
    clock, channel = Clock(), OpenChannel()
    routes = RouteInfoManager(clock)
    register(routes, {"T": 4}, channel=channel)
    clock.ms = 120_000
    routes.scan_not_active_broker()
    assert routes.pickup_topic_route_data("T") is not None
    clock.ms = 120_001
    routes.scan_not_active_broker()
    assert routes.pickup_topic_route_data("T") is None
    assert channel.is_closed
    assert routes.all_cluster_info().cluster_addr_table == {}


def test_a_question_for_the_version_counts_as_a_sign_of_life():
    clock = Clock()
    routes = RouteInfoManager(clock)
    register(routes, {"T": 4})
    clock.ms = 100_000
    routes.touch("10.0.0.1:10911")
    clock.ms = 150_000
    routes.scan_not_active_broker()
    assert routes.query_data_version("10.0.0.1:10911") == DataVersion(1, 1)


def test_a_closed_connection_removes_its_broker_only():
    first, second = OpenChannel(), OpenChannel()
    routes = RouteInfoManager(Clock())
    register(routes, {"T": 4}, channel=first)
    register(routes, {"T": 4}, name="broker-b", address="10.0.0.2:10911", channel=second)
    routes.channel_closed(first)  # type: ignore[arg-type]  # all the manager needs of a channel is its identity
    route = routes.pickup_topic_route_data("T")
    assert route is not None
    assert [data.broker_name for data in route.queue_datas] == ["broker-b"]


def test_an_unregistered_master_leaves_its_slave_in_the_route():
    routes = RouteInfoManager(Clock())
    register(routes, {"T": 4})
    register(routes, {}, address="10.0.0.2:10911", broker_id=1)
    routes.unregister_broker("broker-a", "10.0.0.1:10911", 0)
    route = routes.pickup_topic_route_data("T")
    assert route is not None
    assert route.broker_datas[0].broker_addrs == {1: "10.0.0.2:10911"}
    routes.unregister_broker("broker-a", "10.0.0.2:10911", 1)
    assert routes.all_topics() == []


def test_a_deleted_topic_leaves_the_route_of_the_named_cluster():
    routes = RouteInfoManager(Clock())
    register(routes, {"T": 4})
    register(routes, {"T": 4}, name="broker-b", address="10.0.0.2:10911", cluster="D")
    routes.delete_topic("T", "D")
    route = routes.pickup_topic_route_data("T")
    assert route is not None
    assert [data.broker_name for data in route.queue_datas] == ["broker-a"]
    routes.delete_topic("T")
    assert routes.pickup_topic_route_data("T") is None


def test_the_tables_are_bounded():
    routes = RouteInfoManager(Clock(), max_brokers=1, max_topics=2)
    register(routes, {"T": 1, "U": 1})
    with pytest.raises(RegistrationRefused, match="allows 1 brokers"):
        register(routes, {}, name="b", address="10.0.0.2:10911")
    with pytest.raises(RegistrationRefused, match="allows 2 topics"):
        register(routes, {"T": 1, "V": 1}, version=2)
    assert routes.all_topics() == ["T", "U"]
