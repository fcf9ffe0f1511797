"""Bit maps of filters at the broker: whom they keep from reading a message, and when they are not believed."""

from __future__ import annotations

import json

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.command.headers import QueryConsumeQueueRequestHeader
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_disk import LabDiskFile
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.broker.filters.filtering_clients import ON, YOUNG, found, send_ages, subscribe
from tests.engine.broker.lab_broker import BrokerLab, broker_lab

WITH_BIT_MAPS = BrokerConfig(enable_property_filter=True, enable_calc_filter_bit_map=True)
EXT = MessageStoreConfig(enable_consume_queue_ext=True)


def units(lab: BrokerLab) -> list[bytes]:
    (queue,) = [queue for topic, _, queue in lab.broker.store.consume_queues() if topic == "T"]
    assert queue.ext is not None
    found = [queue.ext.get(tags_code) for _, _, tags_code in queue.entries(0, 100)]
    return [unit.bit_map for unit in found if unit is not None]


def test_a_message_gets_a_bit_map_of_who_wants_it():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        send_ages(client, 3)
        subscribe(client)
        lab.run_for(10)
        send_ages(client, 3, 9)
        before, wanted, unwanted = units(lab)
        assert before == b""
        assert sum(byte.bit_count() for byte in wanted) == 3
        assert unwanted == bytes(14)
        assert found(client) == [b"3", b"3"]


def test_the_bit_map_spares_reading_the_message(monkeypatch):
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        lab.run_for(10)
        send_ages(client, 9, 9, 3)
        reads: list[str] = []
        read_at = LabDiskFile.read_at

        def note_and_read(file: LabDiskFile, position: int, length: int) -> bytes:
            reads.append(file.path)
            return read_at(file, position, length)

        monkeypatch.setattr(LabDiskFile, "read_at", note_and_read)
        assert found(client) == [b"3"]
        assert len([path for path in reads if path.startswith("commitlog")]) == 1


def test_a_group_that_is_away_gets_what_came_meanwhile():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        lab.world.crash("client")
        lab.run_for(100)
        sender = lab.client("sender")
        send_ages(sender, 3, 9)
        assert [data.is_dead for data in lab.broker.consumer_filter_manager] == [True]
        again = lab.client("again")
        subscribe(again)
        assert found(again) == [b"3"]


def test_a_message_that_got_no_bit_map_is_read():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        lab.run_for(11_000)  # the group stands in the file
        for config, name in ((ON, "without"), (WITH_BIT_MAPS, "with")):
            lab.config = config
            lab.restart_broker()
            client = lab.client(name)
            subscribe(client)
            if config is ON:
                send_ages(client, 3, 9)
                lab.run_for(25_000)  # flushed: the entries are not made again
        assert units(lab) == [b"", b""]
        assert found(client) == [b"3"]


def test_a_changed_expression_does_not_believe_old_bit_maps():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        lab.run_for(10)
        send_ages(client, 9)
        lab.run_for(10)
        subscribe(client, "age > 6", version=2)
        assert found(client, version=2) == [b"9"]


def test_a_clock_that_was_set_back_does_not_make_old_bit_maps_believed():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        lab.run_for(10)
        send_ages(client, 9)
        lab.world.node("broker-a").clock.skew_ms = -60_000
        subscribe(client, "age > 6", version=2)
        assert found(client, version=2) == [b"9"]


def test_tags_and_delays_work_with_the_extension():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.send(body=b"a", tags="TagA")
        client.send(body=b"b", tags="TagB")
        client.send(body=b"late", tags="TagA", delay_level=1)
        assert found(client, subscription="TagA", expression_type="TAG") == [b"a"]
        lab.run_for(2_500)
        assert found(client, subscription="TagA", expression_type="TAG") == [b"a", b"late"]


def test_bit_maps_survive_a_crash_and_their_loss_costs_nothing_but_time():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        lab.run_for(10)
        send_ages(client, 9, 3)
        lab.run_for(25_000)
        for keep_page_cache in (True, False):
            lab.restart_broker(keep_page_cache=keep_page_cache)
            client = lab.client(f"client-{keep_page_cache}")
            subscribe(client, version=2)
            assert found(client, version=2) == [b"3"]
        lab.world.node("broker-a").disk.remove("consumequeue_ext")
        lab.restart_broker()
        client = lab.client("client-last")
        subscribe(client, version=3)
        send_ages(client, 9, 4)
        assert found(client, version=3) == [b"3", b"4"]
        assert found(client, subscription="TagA", expression_type="TAG") == []


def test_a_tool_sees_bit_maps_and_what_they_say_of_a_group():
    with broker_lab(WITH_BIT_MAPS, EXT) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        lab.run_for(10)
        send_ages(client, 3, 9)
        header = QueryConsumeQueueRequestHeader("T", 0, 0, 10, "consumers")
        body = json.loads(client.call(RequestCode.QUERY_CONSUME_QUEUE, header).body)
        assert json.loads(body["filterData"])["expression"] == YOUNG
        wanted, unwanted = body["queueData"]
        assert (wanted["eval"], unwanted["eval"]) == (True, False)
        (data,) = lab.broker.consumer_filter_manager
        assert data.bloom is not None
        bits = wanted["bitMap"].replace("\n", "")
        assert sorted(111 - at for at, bit in enumerate(bits) if bit == "1") == sorted(data.bloom.bit_pos)
        unit = json.loads(wanted["extendDataJson"])
        assert (unit["size"], unit["tagsCode"], len(unit["filterBitMap"])) == (34, 0, 20)
        lab.run_for(25_000)  # flushed: the entries are not made again
        lab.world.node("broker-a").disk.remove("consumequeue_ext")
        lab.restart_broker()
        body = json.loads(lab.client("again").call(RequestCode.QUERY_CONSUME_QUEUE, header).body)
        assert "Cq extend not exist" in body["queueData"][0]["msg"]
