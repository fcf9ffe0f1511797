"""Kafka's nodes as machines of a world: they send, store, consume, die and come back, and the run stays a function."""

from __future__ import annotations

import pytest

from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.kafka.kafka_consumer_node import KafkaConsumerNode
from engine.lab.kafka.kafka_producer_node import KafkaProducerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.sweep.sweep import run_seed
from tests.support.lab.kafka_scenarios import small
from tests.support.lab.lab_scenarios import apply


def end(run: LabRun) -> None:
    run.run_to_time(run.world.end_us)


def stored_keys(broker: KafkaBrokerNode) -> list[str]:
    return [key for one in broker.stored.segments() for batch in one.batches for _, key in batch.record_keys() if key]


def test_what_is_sent_is_stored_and_consumed_once():
    with LabRun(small()) as run:
        end(run)
        (producer,) = run.world.roles(KafkaProducerNode)
        (consumer,) = run.world.roles(KafkaConsumerNode)
        (broker,) = run.world.roles(KafkaBrokerNode)
        assert (producer.sent, producer.acknowledged, producer.refused, producer.unknown) == (40, 40, 0, 0)
        assert (consumer.consumed, producer.in_flight) == (40, {})
        assert sorted(stored_keys(broker)) == sorted(f"k-{number}" for number in range(40))
        assert dict(broker.committed_offsets())["g", "T", 0] > 0
        assert all(one.topic == "T" for one in broker.stored.segments()), "not what Kafka keeps for itself"


def test_a_transactional_producer_that_dies_leaves_nothing_half_done_to_who_reads_committed():
    producer_settings = 'body: "body {n}"}\n    settings: {linger_ms: 0, transactional_id: shop}\n'
    consumer_settings = "start_ms: 100\n    settings: {isolation_level: read_committed, auto_offset_reset: earliest}\n"
    with LabRun(small(('body: "body {n}"}\n', producer_settings), ("start_ms: 100\n", consumer_settings))) as run:
        (producer,) = run.world.roles(KafkaProducerNode)
        (consumer,) = run.world.roles(KafkaConsumerNode)
        (broker,) = run.world.roles(KafkaBrokerNode)
        while producer.acknowledged < 10 or len(stored_keys(broker)) == producer.acknowledged:
            run.step()
        apply(run, "crash", "P1")
        apply(run, "restart", "P1")
        end(run)
        assert producer.acknowledged == consumer.consumed == 39
        assert len(stored_keys(broker)) == 40, "what was open when it died lies there, and does not count"
        assert run.violations == []


@pytest.mark.parametrize(("queue", "partitions"), [("1", {1}), ('"{n}"', {0, 1}), ("by-hash", {0, 1})])
def test_a_partition_is_chosen_by_number_in_turn_or_by_the_hash_of_a_key(queue, partitions):
    with LabRun(small(("body: ", f"orders: 5, queue: {queue}, body: "))) as run:
        end(run)
        returned = run.world.history.sends_returned
        assert {one.queue_id for one in returned} == partitions
        if queue == "by-hash":
            places = {(int(one.key[2:]) % 5, one.queue_id) for one in returned}
            assert len(places) == 5, "an order stays in its partition"


def test_a_producer_that_waits_for_each_answer_has_one_record_on_its_way():
    with LabRun(small(("body: ", "mode: sync, body: "), ("every_ms: 5", "every_ms: 0"))) as run:
        (producer,) = run.world.roles(KafkaProducerNode)
        while not run.is_over and producer.acknowledged < 40:
            run.run_to_time(run.world.now_us + 1_000)
            assert len(producer.in_flight) <= 1
        assert producer.acknowledged == 40


def test_nobody_knows_what_became_of_a_record_that_is_not_answered_in_time():
    settings = "settings: {delivery_timeout_ms: 2000, request_timeout_ms: 500}\n"
    with LabRun(small(('body: "body {n}"}\n', f'body: "body {{n}}"}}\n    {settings}'))) as run:
        run.run_to_time(550_000)
        apply(run, "crash", "K1")
        end(run)
        (producer,) = run.world.roles(KafkaProducerNode)
        assert producer.acknowledged + producer.refused + producer.unknown == 40
        assert producer.refused > 0


def test_a_broker_and_a_consumer_go_on_where_they_were_after_a_crash():
    with LabRun(small(("start_ms: 100\n", "start_ms: 100\n    settings: {commits_after_poll: true}\n"))) as run:
        run.run_to_time(600_000)
        for node in ("K1", "C1"):
            apply(run, "crash", node)
        run.run_to_time(900_000)
        for node in ("K1", "C1"):
            apply(run, "restart", node)
        end(run)
        assert {one.key for one in run.world.history.consumes_ended} == {f"k-{number}" for number in range(40)}
        assert run.violations == []


def test_a_client_that_is_shut_down_in_order_leaves_nothing_behind():
    with LabRun(small(("start_ms: 100\n", "start_ms: 100\n    stop_ms: 5000\n"))) as run:
        end(run)
        assert run.world.nodes["C1"].status == "off"
        (broker,) = run.world.roles(KafkaBrokerNode)
        assert sum(offset for _, offset in broker.committed_offsets()) == 40


def test_settings_are_kafkas_by_either_name_and_bad_ones_are_refused():
    scenario = small(
        ('body: "body {n}"}\n', 'body: "body {n}"}\n    settings: {linger.ms: 0, compression.type: zstd}\n')
    )
    assert scenario.node("P1").settings == {"linger_ms": 0, "codec": "zstd"}
    with pytest.raises(ScenarioError, match="codec: 'snappy' is not allowed; allowed: none, gzip, lz4, zstd"):
        small(('body: "body {n}"}\n', 'body: "body {n}"}\n    settings: {codec: snappy}\n'))


@pytest.mark.parametrize("seed", range(1, 9))
def test_random_faults_over_all_nodes_violate_nothing(seed):
    scenario = small(extra="faults: {kinds: [crash, crash-power, pause, partition, delay, loss, disk], max: 5}\n")
    result = run_seed(scenario, seed)
    assert [violation["text"]["en"] for violation in result.violations] == []
    assert result.journal_hash == run_seed(scenario, seed).journal_hash
