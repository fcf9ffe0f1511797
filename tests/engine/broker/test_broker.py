"""A broker's life: start, registration, files, restart, shutdown."""

import dataclasses
import json

import pytest

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import BrokerConfigRefused
from engine.protocol.body.topic_route_data import TopicRouteData
from engine.protocol.command.headers import UpdateConsumerOffsetRequestHeader
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.port import AddressInUse, FolderLocked
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab


def route(client: LabClient, topic: str) -> TopicRouteData | None:
    from engine.protocol.command.headers import GetRouteInfoRequestHeader

    reply = client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic))
    return TopicRouteData.from_json(reply.body) if reply.code == ResponseCode.SUCCESS else None


def commit(client: LabClient, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader("consumers", "T", 0, offset)
    assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS


def config_file(lab: BrokerLab, name: str) -> dict:
    return json.loads(lab.world.node("broker-a").disk.read_whole(f"config/{name}"))


# --- name server -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("topic", "queues", "perm"), [("TBW102", 8, 7), ("DefaultCluster", 16, 7), ("broker-a", 1, 7)])
def test_the_template_topics_are_registered_from_the_start(topic, queues, perm):
    with broker_lab() as lab:
        data = route(lab.client(), topic)
        assert data is not None
        assert data.broker_datas[0].broker_addrs == {0: lab.broker.address}
        assert (data.queue_datas[0].write_queue_nums, data.queue_datas[0].perm) == (queues, perm)


def test_a_name_server_that_starts_later_hears_of_the_broker_within_30_s():
    with broker_lab() as lab:
        client = lab.client()
        assert lab.name_server is not None
        lab.world.crash("name-server")
        lab.run_for(60_000)
        from engine.name_server.name_server import NameServer

        async def start() -> NameServer:
            server = NameServer(lab.world.restart("name-server"))
            await server.start()
            return server

        lab.name_server = lab.world.run(start())
        lab.run_for(31_000)
        assert route(client, "TBW102") is not None


def test_a_broker_that_shuts_down_leaves_the_route_at_once():
    with broker_lab() as lab:
        client = lab.client()
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        assert route(client, "TBW102") is None


def test_a_broker_that_is_killed_leaves_the_route_when_its_connection_ends():
    with broker_lab() as lab:
        client = lab.client()
        lab.world.crash("broker-a")
        lab.run_for(10)
        assert route(client, "TBW102") is None


def test_a_broker_whose_power_fails_leaves_the_route_after_two_minutes():
    with broker_lab() as lab:
        client = lab.client()
        lab.world.crash("broker-a", silent=True)
        lab.run_for(60_000)
        assert route(client, "TBW102") is not None
        lab.run_for(100_000)
        assert route(client, "TBW102") is None


def test_a_broker_serves_without_any_name_server():
    with broker_lab(name_server=False) as lab:
        assert lab.client().send().code == ResponseCode.SUCCESS


# --- files -----------------------------------------------------------------------------------------------------------


def test_topics_groups_and_offsets_survive_a_restart():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 3)
        client.heartbeat("consumers")
        for _ in range(5):
            client.send()
        commit(client, 4)
        lab.stop_broker()
        assert lab.broker.recovery_report is not None
        assert lab.broker.recovery_report.was_clean
        assert lab.broker.topic_config_manager.topic_config_table["T"].read_queue_nums == 3
        assert "consumers" in lab.broker.subscription_group_manager.subscription_group_table
        assert lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0) == 4
        assert len(lab.client("second").messages(offset=4)) == 1


def test_offsets_are_written_every_5_s_and_a_crash_loses_only_newer_ones():
    with broker_lab() as lab:
        client = lab.client()
        for _ in range(10):
            client.send()
        commit(client, 4)
        lab.run_for(5_100)
        commit(client, 9)
        lab.restart_broker()
        assert lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0) == 4


def test_the_files_have_rocketmq_s_format():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 3)
        client.heartbeat("consumers")
        commit(client, 4)
        client.send(delay_level=1)
        lab.run_for(11_000)
        topics = config_file(lab, "topics.json")
        assert topics.keys() == {"dataVersion", "topicConfigTable"}
        assert topics["dataVersion"]["counter"] == 2
        assert topics["topicConfigTable"]["T"] == {
            "order": False,
            "perm": 6,
            "readQueueNums": 3,
            "topicFilterType": "SINGLE_TAG",
            "topicName": "T",
            "topicSysFlag": 0,
            "writeQueueNums": 3,
        }
        groups = config_file(lab, "subscriptionGroup.json")
        assert groups.keys() == {"dataVersion", "subscriptionGroupTable"}
        assert groups["subscriptionGroupTable"]["consumers"] == {
            "brokerId": 0,
            "consumeBroadcastEnable": True,
            "consumeEnable": True,
            "consumeFromMinEnable": True,
            "groupName": "consumers",
            "notifyConsumerIdsChangedEnable": True,
            "retryMaxTimes": 16,
            "retryQueueNums": 1,
            "whichBrokerWhenConsumeSlowly": 1,
        }
        assert config_file(lab, "consumerOffset.json") == {"offsetTable": {"T@consumers": {"0": 4}}}
        assert config_file(lab, "delayOffset.json") == {"offsetTable": {"1": 1}}


@pytest.mark.parametrize("name", ["topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe",
        b'{"topicConfigTable":7,"subscriptionGroupTable":[],"offsetTable":"x","dataVersion":[]}',
        b'{"topicConfigTable":{"T":5,"U":{}},"subscriptionGroupTable":{"g":null},"dataVersion":{"counter":"x"}}',
        b'{"offsetTable":{"T@g":{"x":1,"0":-1,"1":"2"},"1":"y","z":3},"dataVersion":{"counter":{}}}',
    ],
)
def test_a_broken_file_is_replaced_by_what_is_known_and_the_broker_starts(name, content):
    with broker_lab() as lab:
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        disk = lab.world.node("broker-a").disk
        disk.remove(f"config/{name}.bak")
        disk.write_whole(f"config/{name}", content)
        lab.restart_broker()
        assert lab.client().send().code == ResponseCode.SUCCESS


def test_files_that_rocketmq_wrote_are_read_with_their_unquoted_keys():
    with broker_lab() as lab:
        client = lab.client()
        for _ in range(9):
            client.send()
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        disk = lab.world.node("broker-a").disk
        disk.write_whole("config/consumerOffset.json", b'{\n\t"offsetTable":{\n\t\t"T@g":{0:4,1:5}\n\t}\n}')
        disk.write_whole("config/delayOffset.json", b'{\n\t"offsetTable":{1:2,18:7\n\t}\n}')
        lab.restart_broker()
        assert lab.broker.consumer_offset_manager.offset_table == {"T@g": {0: 4, 1: 5}}
        assert lab.broker.schedule_message_service.offset_table[18] == 7


def test_a_template_left_in_the_file_creates_nothing_once_auto_creation_is_off():
    with broker_lab() as lab:
        lab.client().send("T")
        lab.config = dataclasses.replace(lab.config, auto_create_topic_enable=False)
        lab.stop_broker()
        assert "TBW102" in lab.broker.topic_config_manager.topic_config_table
        assert lab.client().send("U").code == ResponseCode.TOPIC_NOT_EXIST
        assert lab.client().send("T").code == ResponseCode.SUCCESS


def test_a_torn_file_s_backup_is_used():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 3)
        client.create_topic("U", 3)
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        lab.world.node("broker-a").disk.write_whole("config/topics.json", b'{"topicConfigTable":{"T"')
        lab.restart_broker()
        assert "T" in lab.broker.topic_config_manager.topic_config_table


def test_offsets_behind_a_queue_that_a_crash_has_shortened_are_set_back():
    with broker_lab() as lab:
        client = lab.client()
        client.send(body=b"durable")
        lab.run_for(15_000)
        for _ in range(5):
            client.send(body=b"not yet")
        commit(client, 6)
        lab.world.run(lab.broker.consumer_offset_manager.persist(), node="broker-a")
        lab.restart_broker(keep_page_cache=False)
        max_offset = lab.broker.store.max_offset("T", 0)
        assert max_offset < 6
        assert lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0) <= max_offset


def test_offsets_are_set_back_when_the_log_was_cut_while_the_broker_was_down():
    with broker_lab() as lab:
        client = lab.client()
        for number in range(6):
            client.send(body=b"message %d" % number)
        commit(client, 6)
        cut = lab.broker.store.consume_queue_entries("T", 0, 4, 1)[0][0]
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        disk = lab.world.node("broker-a").disk
        path = f"commitlog/{disk.list_folder('commitlog')[0]}"
        disk.write_whole(path, disk.read_whole(path)[:cut])
        lab.restart_broker()
        assert lab.broker.recovery_report is not None
        assert lab.broker.recovery_report.was_clean
        assert lab.broker.consumer_offset_manager.query_offset("consumers", "T", 0) == 4


def test_topics_that_the_file_forgot_are_made_again_for_their_messages(caplog):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 3)
        client.create_topic("U", 3)
        client.send("U", queue_id=1, body=b"still here")
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        lab.world.node("broker-a").disk.write_whole("config/topics.json", b'{"topicConfigTable":{"T"')
        lab.restart_broker()
        # The backup is from the time before U was created.
        restored = lab.broker.topic_config_manager.topic_config_table["U"]
        assert (restored.read_queue_nums, restored.write_queue_nums, restored.perm) == (2, 2, 6)
        assert [message.body for message in lab.client("second").messages("U", queue_id=1)] == [b"still here"]
        assert "topic U has messages but topics.json does not know it" in caplog.text
        assert "U" in config_file(lab, "topics.json")["topicConfigTable"]


def test_a_topic_that_is_made_again_has_no_more_queues_than_allowed():
    with broker_lab() as lab:
        limit = lab.config.max_queue_nums_per_topic
        lab.broker.topic_config_manager.restore_topics({"Wild": 1 << 30})
        assert lab.broker.topic_config_manager.topic_config_table["Wild"].read_queue_nums == limit


def test_what_a_tool_wants_and_cannot_be_saved_has_not_happened():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("Before")
        lab.run_for(100)
        disk = lab.world.node("broker-a").disk
        disk.storage.occupied_bytes = disk.storage.capacity_bytes
        group = json.dumps({"groupName": "g"}).encode()
        for reply in (
            client.create_topic("T"),
            client.create_topic("Before", perm=4),
            client.call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group),
        ):
            assert reply.code == ResponseCode.SYSTEM_ERROR
            assert "could not be saved" in (reply.remark or "")
            assert "the disk is full" in (reply.remark or "")
        topics = lab.broker.topic_config_manager.topic_config_table
        assert "T" not in topics
        assert topics["Before"].perm == 6
        assert "g" not in lab.broker.subscription_group_manager.subscription_group_table


def test_a_group_connects_while_the_disk_is_full_and_is_written_when_there_is_room(caplog):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        disk = lab.world.node("broker-a").disk
        disk.storage.occupied_bytes = disk.storage.capacity_bytes
        assert client.heartbeat("g").code == ResponseCode.SUCCESS
        assert client.pull(group="g").code == ResponseCode.PULL_NOT_FOUND
        lab.run_for(3_000)
        assert "it will be retried" in caplog.text
        disk.storage.occupied_bytes = 0
        lab.run_for(1_100)
        assert "g" in config_file(lab, "subscriptionGroup.json")["subscriptionGroupTable"]
        assert retry_topic("g") in config_file(lab, "topics.json")["topicConfigTable"]


# --- start and stop --------------------------------------------------------------------------------------------------


def test_a_second_broker_on_the_same_data_is_refused():
    with broker_lab() as lab:

        async def second() -> None:
            await Broker(lab.world.node("broker-a"), BrokerConfig(port=0)).start()

        with pytest.raises(FolderLocked):
            lab.world.run(second(), node="broker-a")


def test_a_port_in_use_is_reported_and_the_folder_given_back():
    with LabMachines(seed=1) as world:
        world.node("broker-a")

        async def occupied_then_free() -> None:
            from engine.name_server.name_server import NameServer
            from engine.name_server.name_server_config import NameServerConfig

            runtime = world.node("broker-a")
            other = NameServer(runtime, NameServerConfig(port=10911))
            await other.start()
            with pytest.raises(AddressInUse):
                await Broker(runtime).start()
            await other.shutdown()
            broker = Broker(runtime)
            await broker.start()
            await broker.shutdown()

        world.run(occupied_then_free(), node="broker-a")


@pytest.mark.parametrize("fields", [{"broker_name": "bad name"}, {"cluster_name": ""}, {"broker_name": "x" * 200}])
def test_names_that_cannot_be_topics_are_refused(fields):
    with LabMachines(seed=1) as world, pytest.raises(BrokerConfigRefused):
        Broker(world.node("broker-a"), BrokerConfig(**fields))


def test_an_advertised_address_that_is_no_ip_is_refused():
    with LabMachines(seed=1) as world:
        world.node("broker-a")

        async def start() -> None:
            await Broker(world.node("broker-a"), BrokerConfig(broker_ip1="localhost")).start()

        with pytest.raises(BrokerConfigRefused, match="brokerIP1"):
            world.run(start(), node="broker-a")

        async def start_again() -> None:
            await Broker(world.node("broker-a")).start()

        world.run(start_again(), node="broker-a")  # neither the port nor the folder is still taken


def test_clients_get_the_advertised_ip():
    with broker_lab(BrokerConfig(broker_ip1="192.0.2.7")) as lab:
        data = route(lab.client(), "TBW102")
        assert data is not None
        assert data.broker_datas[0].master_address == "192.0.2.7:10911"


def test_after_shutdown_nothing_runs_on():
    with broker_lab() as lab:
        lab.client().send(delay_level=1)
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        event_number = lab.world.loop.event_number
        lab.run_for(3_600_000)
        broker_events = [
            entry for entry in lab.world.journal.entries if entry.number > event_number and "broker-a" in entry.actor
        ]
        assert [entry for entry in broker_events if entry.time_us > 130_000_000] == []


def test_two_runs_with_one_seed_are_the_same_event_for_event():
    def run() -> str:
        with broker_lab(seed=7) as lab:
            client = lab.client()
            client.heartbeat()
            for number in range(50):
                client.send(body=b"%d" % number, queue_id=-1, delay_level=number % 3)
            lab.run_for(20_000)
            return lab.world.journal.hash

    assert run() == run()
