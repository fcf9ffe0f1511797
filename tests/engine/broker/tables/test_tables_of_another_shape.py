"""A broker whose table holds valid JSON of another shape goes on with the backup, and loses neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.broker.broker import Broker
from engine.protocol.command.headers import DeleteTopicRequestHeader, UpdateConsumerOffsetRequestHeader
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.table_shapes import TABLE_SHAPES
from tests.engine.broker.filters.filtering_clients import ON, YOUNG
from tests.engine.broker.lab_broker import BrokerLab, broker_lab

#: Kept by a name server.
OF_NAME_SERVER = ("kvConfig.json", "nameServerConfig.json")


def tables_of(broker: Broker) -> dict[str, Any]:
    """What a consumer or a tool would miss."""
    return {
        "brokerConfig.json": broker.config.default_query_max_num,
        "consumerFilter.json": [data.consumer_group for data in broker.consumer_filter_manager],
        "consumerOffset.json": broker.consumer_offset_manager.query_offset("group", "T", 0),
        "delayOffset.json": broker.schedule_message_service.offset_table.get(1, 0),
        "deletedTopics.json": broker.store.max_offset("Deleted", 0),
        "recoveryPoint.json": broker.store.max_offset("T", 0),
        "subscriptionGroup.json": "group" in broker.subscription_group_manager.subscription_group_table,
        "topics.json": broker.topic_config_manager.select_topic_config("T"),
    }


def use_all_tables(lab: BrokerLab) -> None:
    client = lab.client()
    for number in range(2):  # twice, so that there are backups
        for topic in ("T", "Deleted"):
            client.create_topic(topic, 1 + number)
            client.send(topic)
        client.call(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader("Deleted"))
        client.send(delay_level=1)
        client.call(RequestCode.UPDATE_BROKER_CONFIG, body=b"defaultQueryMaxNum=%d" % (40 + number))
        client.heartbeat("group", {"T": YOUNG}, version=1 + number, expression_type="SQL92")
        client.heartbeat(f"group-{number}", {"T": "age > 7"}, expression_type="SQL92")
        header = UpdateConsumerOffsetRequestHeader("group", "T", 0, 1 + number)
        assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == ResponseCode.SUCCESS
        lab.run_for(20_000)


@pytest.mark.parametrize("name", [name for name in TABLE_SHAPES if name not in OF_NAME_SERVER])
def test_a_broker_goes_on_with_the_backup_of_a_table_of_another_shape_and_keeps_both(name, caplog):
    with broker_lab(ON) as lab:
        use_all_tables(lab)
        path = f"config/{name}"
        shape = TABLE_SHAPES[name]
        assert isinstance(shape, Mapping)
        bad = dumps_json(dict.fromkeys(shape))
        before = tables_of(lab.broker)
        assert all(before[other] for other in before if other != "deletedTopics.json")
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        lab.restart_broker(before_start=lambda: lab.broker.runtime.disk.write_whole(path, bad))
        after = tables_of(lab.broker)
        assert f"{path} is not such a table" in caplog.text
        if name in ("consumerOffset.json", "delayOffset.json", "brokerConfig.json"):
            assert 0 < after.pop(name) <= before.pop(name), "as the backup has it"
        else:
            assert bool(after.pop(name)) is bool(before.pop(name))
        assert after == before
        for _ in range(2):
            use_all_tables(lab)
            lab.stop_broker()
        assert lab.broker.runtime.disk.read_whole(f"{path}.damaged") == bad


def test_every_table_of_a_broker_has_a_shape():
    with broker_lab(ON) as lab:
        names = {file.path.rpartition("/")[2] for file in lab.broker._config_files}
        assert names <= TABLE_SHAPES.keys()
