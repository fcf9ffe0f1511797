"""The table of expressions that groups filter by, and its file ``consumerFilter.json``."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.filters.filtering_clients import ON, SQL, YOUNG, subscribe
from tests.engine.broker.lab_broker import BrokerLab, broker_lab


@pytest.fixture
def lab() -> Iterator[BrokerLab]:
    with broker_lab(ON) as lab:
        yield lab


def names_of(lab: BrokerLab) -> list[tuple[str, str, bool]]:
    return [(data.topic, data.expression, data.is_dead) for data in lab.broker.consumer_filter_manager]


def test_an_expression_is_replaced_by_a_newer_one_only(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client, version=5)
    subscribe(client, "age > 6", version=5)
    subscribe(client, "age > 7", version=4)
    assert names_of(lab) == [("T", YOUNG, False)]
    subscribe(client, "age > 6", version=6)
    assert names_of(lab) == [("T", "age > 6", False)]


def dead_in_file(lab: BrokerLab) -> list[bool]:
    """Return the time at which each expression in ``consumerFilter.json`` died, after the next write of the file."""
    lab.run_for(11_000)
    content = json.loads(lab.world.node("broker-a").disk.read_whole("config/consumerFilter.json"))
    topics = content["filterDataByTopic"].values()
    return [data["dead"] for topic in topics for data in topic["groupFilterData"].values()]


def test_a_group_that_goes_keeps_its_expression_for_a_day(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    (known,) = lab.broker.consumer_filter_manager
    known.born_time -= 48 * 3_600_000  # the day begins when it goes
    lab.world.crash("client")
    lab.run_for(100)
    known.dead_time -= 24 * 3_600_000 - 20_000  # it went nearly a day ago
    lab.run_for(11_000)
    assert names_of(lab) == [("T", YOUNG, True)]
    lab.run_for(20_000)
    assert names_of(lab) == []
    assert dead_in_file(lab) == []


def test_the_file_says_whether_a_group_is_there(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    assert dead_in_file(lab) == [False]
    client.heartbeat(subscriptions={"T": "TagA"}, version=2)
    assert dead_in_file(lab) == [True]
    subscribe(client, version=3)
    assert dead_in_file(lab) == [False]
    subscribe(client, "age >", version=4)
    assert dead_in_file(lab) == []


def test_a_group_that_filters_by_tags_from_now_on_has_no_expression_in_use(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    client.heartbeat(subscriptions={"T": "TagA"}, version=2)
    assert names_of(lab) == [("T", YOUNG, True)]
    subscribe(client, version=3)
    assert names_of(lab) == [("T", YOUNG, False)]


def test_a_topic_that_a_group_leaves_has_no_expression_in_use_and_its_others_have(lab):
    client = lab.client()
    client.create_topic("T")
    client.create_topic("U")
    client.heartbeat(subscriptions={"T": YOUNG, "U": "a = 1"}, **SQL)
    client.heartbeat(subscriptions={"U": "a = 1"}, version=2, **SQL)
    assert names_of(lab) == [("T", YOUNG, True), ("U", "a = 1", False)]


def test_a_wrong_expression_removes_the_one_before(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    subscribe(client, "age >", version=2)
    assert names_of(lab) == []


def test_the_table_is_bounded():
    with broker_lab(BrokerConfig(enable_property_filter=True, max_consumer_filters=1)) as lab:
        client, other = lab.client(), lab.client("other")
        client.create_topic("T")
        subscribe(client)
        subscribe(other, group="others")
        assert len(lab.broker.consumer_filter_manager) == 1
        reply = other.pull(subscription=None, group="others", expression_type="SQL92")
        assert reply.code == ResponseCode.FILTER_DATA_NOT_EXIST
        assert "maxConsumerFilters" in (reply.remark or "")


def test_the_file_has_rocketmqs_form_and_comes_back(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    (known,) = lab.broker.consumer_filter_manager
    lab.run_for(11_000)
    content = json.loads(lab.world.node("broker-a").disk.read_whole("config/consumerFilter.json"))
    data = content["filterDataByTopic"]["T"]["groupFilterData"]["consumers"]
    bloom = data.pop("bloomFilterData")
    assert bloom["bitNum"] == 112
    assert len(bloom["bitPos"]) == 3
    assert data == {
        "bornTime": known.born_time,
        "clientVersion": 1,
        "consumerGroup": "consumers",
        "dead": False,
        "deadTime": 0,
        "expression": YOUNG,
        "expressionType": "SQL92",
        "topic": "T",
    }
    assert content["filterDataByTopic"]["T"]["topic"] == "T"
    lab.restart_broker()
    # Nobody is online after a start: the group counts as gone until its next heartbeat.
    assert names_of(lab) == [("T", YOUNG, True)]
    client = lab.client("again")
    client.heartbeat(subscriptions={"T": YOUNG}, **SQL)
    assert names_of(lab) == [("T", YOUNG, False)]


def test_after_a_start_a_group_has_a_day_to_come_back(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    (known,) = lab.broker.consumer_filter_manager
    known.born_time -= 48 * 3_600_000
    assert dead_in_file(lab) == [False]
    lab.restart_broker()
    lab.run_for(11_000)
    assert names_of(lab) == [("T", YOUNG, True)]


def test_a_file_for_bit_maps_of_another_size_is_not_used(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    lab.run_for(11_000)
    lab.config = BrokerConfig(enable_property_filter=True, expect_consumer_num_use_filter=64)
    lab.restart_broker()
    assert names_of(lab) == []


@pytest.mark.parametrize(
    "content",
    [
        b'{"filterDataByTopic": {"T": {"groupFilterData": {"g": {"expression": "age >"}}}}}',
        b'{"filterDataByTopic": {"T": {"groupFilterData": {"g": 5}}, "U": 7}}',
        b'{"filterDataByTopic": []}',
    ],
)
def test_what_is_no_entry_in_the_file_is_left_out(content, lab, caplog):
    lab.world.crash("broker-a")
    lab.world.restart("broker-a")
    lab.world.node("broker-a").disk.write_whole("config/consumerFilter.json", content)
    with caplog.at_level(logging.WARNING, logger="glassmq.broker"):
        lab.broker = lab._start_broker()
    assert names_of(lab) == []
