"""When the creator of a topic gets its answer, the name servers have the topic; a silent one is not waited for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.name_server.name_server import NameServer
from engine.protocol.body.bodies import RegisterBrokerBody
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.command.headers import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetRouteInfoRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from engine.protocol.message.message import Message
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind, Partition
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab
from tests.engine.broker.processors.test_send_message_processor import batch_request

NAME_SERVER, BROKER = "name-server", "broker-a"
#: The time that a registration needs to arrive; far longer than a client's request to the name server.
FAR_US = 200_000


def make_far(lab: BrokerLab, name_server: str = NAME_SERVER) -> None:
    lab.world.network.latencies_us[BROKER, name_server] = FAR_US


def is_routed(client: LabClient, topic: str) -> bool:
    header = GetRouteInfoRequestHeader(topic)
    return client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, header).code == ResponseCode.SUCCESS


def elapsed_ms(lab: BrokerLab, action: Callable[[], RemotingCommand]) -> int:
    started_us = lab.world.loop.now_us
    assert action().code == ResponseCode.SUCCESS
    return (lab.world.loop.now_us - started_us) // 1_000


def create_request(topic: str) -> RemotingCommand:
    header = CreateTopicRequestHeader(topic, "TBW102", 4, 4, 6, "SINGLE_TAG", 0, False)
    return RemotingCommand.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)


def heartbeat_of(groups: list[str]) -> bytes:
    kind = (ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    return HeartbeatData("many@1", (), tuple(ConsumerData(group, *kind, ()) for group in groups)).to_json()


def count_registrations(lab: BrokerLab) -> list[list[str]]:
    """Grows with every registration that a name server gets from now on: the topics in it."""
    got: list[list[str]] = []

    def watch(parcel: Parcel, _: tuple[int, ...]) -> None:
        if parcel.source == BROKER and parcel.target == NAME_SERVER and parcel.kind is ParcelKind.FRAME:
            command = decode_command(parcel.data[4:])
            if command.code == RequestCode.REGISTER_BROKER:
                body = RegisterBrokerBody.from_json(command.body)
                got.append(list(body.topic_config_serialize_wrapper.topic_config_table))

    lab.world.network.parcel_watchers.append(watch)
    return got


MAKERS: dict[str, tuple[str, Callable[[LabClient], RemotingCommand]]] = {
    "by a tool": ("New", lambda client: client.create_topic("New")),
    "by a first send": ("New", lambda client: client.send("New")),
    "by a first batch": ("T", lambda client: client.exchange(batch_request([Message("T", b"x")] * 2))),
    "by a group's first heartbeat": ("%RETRY%new", lambda client: client.heartbeat("new")),
}


@pytest.mark.parametrize("flush_type", FlushDiskType)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_topic_is_in_the_route_when_its_maker_is_answered(maker, flush_type):
    topic, make = MAKERS[maker]
    with broker_lab(store_config=MessageStoreConfig(flush_disk_type=flush_type)) as lab:
        client = lab.client()
        make_far(lab)
        assert make(client).code == ResponseCode.SUCCESS
        assert is_routed(client, topic)


def test_what_changes_no_topic_does_not_wait():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        client.heartbeat()
        lab.run_for(1_000)
        make_far(lab)
        for action in (client.send, client.heartbeat):
            assert elapsed_ms(lab, action) < FAR_US // 1_000


def test_others_are_served_while_somebody_waits_for_a_name_server():
    with broker_lab() as lab:
        client, other = lab.client(), lab.client("other")
        other.create_topic("T")
        make_far(lab)
        waiting = client.begin(create_request("New"))
        assert elapsed_ms(lab, other.send) < FAR_US // 1_000
        assert not waiting.done()
        lab.run_for(2 * FAR_US // 1_000)
        assert waiting.result().code == ResponseCode.SUCCESS


def test_a_thousand_groups_of_one_heartbeat_take_two_registrations_at_most():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat()
        sent = count_registrations(lab)
        groups = [f"g{number}" for number in range(1_000)]
        assert client.call(RequestCode.HEART_BEAT, body=heartbeat_of(groups)).code == ResponseCode.SUCCESS
        assert all(is_routed(client, f"%RETRY%{group}") for group in groups[::111])
        assert len(sent) <= 2


def test_changes_during_a_registration_share_the_next_one():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat()
        make_far(lab)
        sent = count_registrations(lab)
        waiting = [client.begin(create_request("first"))]
        lab.run_for(FAR_US // 2_000)
        waiting += [client.begin(create_request(f"T{number}")) for number in range(200)]
        lab.run_for(4 * FAR_US // 1_000)
        assert {task.result().code for task in waiting} == {ResponseCode.SUCCESS}
        assert len(sent) == 2


def test_a_change_is_reported_alone_and_every_30_s_all_is():
    with broker_lab() as lab:
        client = lab.client()
        got = count_registrations(lab)
        client.create_topic("A")
        client.create_topic("A", queues=8)
        client.send("B")
        assert got == [["A"], ["A"], ["B"]]
        lab.run_for(31_000)
        assert set(got[3]) == set(lab.broker.topic_config_manager.topic_config_table)


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_name_server_that_was_restarted_gets_everything(is_silent):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("Old")
        lab.world.crash(NAME_SERVER, silent=is_silent)

        async def start() -> NameServer:
            server = NameServer(lab.world.restart(NAME_SERVER))
            await server.start()
            return server

        lab.name_server = lab.world.run(start())
        client.create_topic("New")
        lab.run_for(31_000 if is_silent else 100)  # after a power cut the first try finds a dead connection
        assert is_routed(client, "New")
        assert is_routed(client, "Old")


def test_a_registration_from_before_does_not_bring_a_deleted_topic_back():
    with broker_lab() as lab:
        client, tool = lab.client(), lab.client("tool")
        client.send("Other")
        make_far(lab)
        waiting = client.begin(create_request("T"))
        lab.run_for(FAR_US // 2_000)
        assert tool.call(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader("T")).code == 0
        header = DeleteTopicRequestHeader("T")
        assert tool.ask_name_server(RequestCode.DELETE_TOPIC_IN_NAMESRV, header).code == ResponseCode.SUCCESS
        lab.run_for(60_000)
        assert waiting.done()
        assert not is_routed(tool, "T")


# --- name servers that do not answer, and more than one --------------------------------------------------------------


def test_a_name_server_that_is_down_costs_nobody_time_and_is_logged(caplog):
    with broker_lab() as lab:
        client = lab.client()
        lab.world.crash(NAME_SERVER)
        assert elapsed_ms(lab, lambda: client.create_topic("T")) < 20
        assert elapsed_ms(lab, lambda: client.send("New")) < 20
        assert caplog.text.count("cannot register with name server") == 1


def test_a_name_server_that_says_nothing_is_waited_for_a_second_and_is_logged_once(caplog):
    with broker_lab(BrokerConfig(registration_wait_ms=1_000)) as lab:
        client = lab.client()
        partition = Partition((NAME_SERVER,), (BROKER,))
        lab.world.network.faults.append(partition)
        waiting = [client.begin(create_request(f"T{number}")) for number in range(50)]
        lab.run_for(990)
        assert not any(task.done() for task in waiting)
        lab.run_for(30)
        assert {task.result().code for task in waiting} == {ResponseCode.SUCCESS}
        assert caplog.text.count("has not confirmed the registration within 1000 ms") == 1
        lab.world.network.faults.remove(partition)
        lab.run_for(40_000)
        assert is_routed(client, "T49")


def test_whoever_waits_while_the_broker_shuts_down_is_answered():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat()
        lab.world.network.faults.append(Partition((NAME_SERVER,), (BROKER,)))
        waiting = client.begin(create_request("T"))
        lab.run_for(100)
        lab.world.run(lab.broker.shutdown(), node=BROKER)
        lab.run_for(2_000)
        assert waiting.result().code == ResponseCode.SUCCESS


class SecondNameServer:
    """One more name server, and the broker started again with both."""

    def __init__(self, lab: BrokerLab) -> None:
        self.server = NameServer(lab.world.node("name-server-2"))
        lab.world.run(self.server.start(), node="name-server-2")
        addresses = (*lab.config.name_server_addresses, self.server.address)
        lab.config = replace(lab.config, name_server_addresses=addresses)
        lab.stop_broker()

    def knows(self, topic: str) -> bool:
        return self.server.route_info_manager.pickup_topic_route_data(topic) is not None


def test_every_name_server_has_the_topic_when_its_maker_is_answered():
    with broker_lab() as lab:
        second = SecondNameServer(lab)
        make_far(lab, "name-server-2")
        client = lab.client()
        client.create_topic("T")
        assert is_routed(client, "T")
        assert second.knows("T")


def test_a_silent_name_server_keeps_the_other_from_nothing():
    with broker_lab() as lab:
        second = SecondNameServer(lab)
        client = lab.client()
        lab.world.network.faults.append(Partition((NAME_SERVER,), (BROKER,)))
        for topic in ("A", "B", "C"):
            waiting = client.begin(create_request(topic))
            lab.run_for(100)
            assert second.knows(topic), "at once, not after the silent one's time-out"
            assert not waiting.done()
            lab.run_for(1_000)
            assert waiting.result().code == ResponseCode.SUCCESS


def test_each_of_two_brokers_answers_for_itself():
    with broker_lab() as lab:
        client = lab.client()
        runtime = lab.world.node("broker-b")
        other = Broker(runtime, replace(lab.config, broker_name="broker-b"))
        lab.world.run(other.start(), node="broker-b")
        lab.world.network.latencies_us["broker-b", NAME_SERVER] = FAR_US
        make_far(lab)
        assert lab.name_server is not None
        for address, names in ((lab.broker.address, {BROKER}), (other.address, {BROKER, "broker-b"})):
            client.exchange(create_request("T"), address=address)
            route = lab.name_server.route_info_manager.pickup_topic_route_data("T")
            assert route is not None
            assert {data.broker_name for data in route.broker_datas} == names


def test_a_thousand_oneway_creations_leave_nobody_waiting():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat()
        sent = count_registrations(lab)

        async def flood() -> None:
            for number in range(1_000):
                await client.remoting.send_oneway(lab.broker.address, create_request(f"T{number}"))
            await asyncio.sleep(5)

        lab.world.run(flood(), node=client.name)
        assert is_routed(client, "T999")
        assert len(sent) <= 3
        (channel,) = [channel for channel in lab.broker.server.channels if channel.is_open]
        assert not channel._waiting
