"""A broker that ends as a killed process does, and one whose clock is set ahead."""

from engine.name_server.name_server import NameServer
from tests.engine.broker.lab_broker import BrokerLab, broker_lab
from tests.engine.broker.test_broker import commit, config_file, route


def advance(lab: BrokerLab, ms: int) -> None:
    async def act() -> None:
        lab.broker.advance(ms)

    lab.world.run(act(), node="broker-a")


def test_an_abandoned_broker_leaves_everything_as_it_was_and_a_new_one_finds_all():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", queues=1)
        for number in range(5):
            client.send("T", body=b"%d" % number)
        client.heartbeat("consumers", {"T": "*"})
        commit(client, 3)
        client.send("MadeBySending")
        disk = lab.world.node("broker-a").disk

        def files():
            return {path: disk.read_whole(path) for path in disk.storage.files}

        before = files()
        lab.world.run(lab.broker.abandon(), node="broker-a")
        lab.run_for(120_000)
        assert files() == before
        assert "abort" in before
        lab.restart_broker()
        assert lab.broker.store.max_offset("T", 0) == 5
        assert "MadeBySending" in lab.broker.topic_config_manager.topic_config_table


def test_what_is_done_from_time_to_time_is_done_at_once_when_the_clock_is_set_ahead():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", queues=1)
        commit(client, 3)
        advance(lab, 5_000)
        lab.run_for(100)
        assert config_file(lab, "consumerOffset.json")["offsetTable"]["T@consumers"] == {"0": 3}


def test_clients_look_silent_when_the_clock_is_set_ahead_even_if_a_heartbeat_waits_to_be_read():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat("consumers", {"T": "*"})
        channels = next(iter(lab.broker.consumer_manager)).channel_info_table
        assert channels

        async def act():
            lab.world.node("broker-a").clock.skew_ms += 120_001
            lab.broker.advance(120_001)
            next(iter(channels.values())).last_update_ms = lab.broker.runtime.clock.now_ms()  # as a heartbeat does

        lab.world.run(act(), node="broker-a")
        lab.run_for(1_000)
        assert not channels


def test_a_name_server_that_lost_all_hears_of_the_broker_when_the_clock_is_set_ahead():
    with broker_lab() as lab:
        client = lab.client()
        lab.world.crash("name-server")
        lab.run_for(1_000)

        async def start() -> NameServer:
            server = NameServer(lab.world.restart("name-server"))
            await server.start()
            return server

        lab.world.run(start())
        advance(lab, 29_999)
        lab.run_for(1_000)
        assert route(client, "TBW102") is None
        advance(lab, 30_000)
        lab.run_for(1_000)
        assert route(client, "TBW102") is not None
