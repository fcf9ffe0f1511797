"""The checkers of retries and dead letters."""

from __future__ import annotations

from engine.client.consumer.consume_message_concurrently_service import ConsumeMessageConcurrentlyService
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_text import parse_scenario
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.names import dlq_topic, retry_topic
from engine.store.log.store_message import StoreMessage
from tests.support.lab.checked_run import broker_of, checked_run, consumer_of, do, finish, names, of, run_to, run_until

LIMIT = "retry-count-within-limit"
DEAD = "dead-letters-not-redelivered"


def test_a_retry_beyond_the_limit_is_found():
    with checked_run() as run:
        run_to(run, 3_000)
        _store_again(run, "order-1", retry_topic("shop"), reconsume_times=3)
        violation = of(finish(run), LIMIT)[0]
        assert violation.messages == ("order-1",)
        assert "the limit is 2" in violation.text["en"]


def test_a_broker_that_never_gives_up_is_found():
    with checked_run() as run:
        run_to(run, 400)
        broker = broker_of(run)
        put_message = broker.store.put_message

        def revive(message):
            if message.topic == dlq_topic("shop"):
                message.topic = retry_topic("shop")
            return put_message(message)

        broker.store.put_message = revive
        finish(run)
        assert names(run.violations) == [LIMIT]


def test_a_dead_letter_that_went_one_of_several_ways_may_be_delivered():
    with checked_run() as run:
        run_until(run, lambda: _dead_letters(run))
        # A second copy for the second retry, as after a broker that forgot a delay offset in a crash.
        _store_again(run, "order-7", retry_topic("shop"), reconsume_times=2, in_topic=dlq_topic("shop"))
        assert finish(run) == []
        assert _dead_letters(run) == 2


def test_a_dead_letter_with_a_single_way_must_not_be_delivered():
    with checked_run() as run:
        run_until(run, lambda: _dead_letters(run))
        assert run.violations == []
        _store_again(run, "order-7", retry_topic("shop"), reconsume_times=3, in_topic=dlq_topic("shop"))
        violation = of(finish(run), DEAD)[0]
        assert violation.anomaly == "duplicate"
        assert violation.messages == ("order-7",)


def test_a_dead_letter_that_was_never_retried_must_not_be_delivered_either():
    with checked_run() as run:
        do(run, "listener", "C1", result="later", delay_level=-1)
        do(run, "listener", "C2", result="later", delay_level=-1)
        run_until(run, lambda: _dead_letters(run) >= 3)
        assert run.violations == []
        key = run.world.history.consumes_began[0].key
        _store_again(run, key, retry_topic("shop"), reconsume_times=1)
        assert of(finish(run), DEAD)[0].messages == (key,)


def test_a_consumer_that_forgets_to_give_back_what_failed_is_found():
    """Every failed delivery comes again or is a dead letter: that is what these two claims come to."""
    with checked_run() as run:
        run_to(run, 400)
        for name in ("C1", "C2"):
            service = consumer_of(run, name).consume_service
            assert isinstance(service, ConsumeMessageConcurrentlyService)
            service._send_back = _taken_for_granted
        violations = finish(run)
        assert names(violations) == ["consumed-in-the-end", "offsets-never-pass-unconsumed"]
        assert {violation.messages for violation in violations} == {("order-7",)}


async def _taken_for_granted(message, delay_level):
    """A send-back that does nothing."""


def test_a_message_that_waits_at_a_long_delay_level_is_not_stuck():
    """Its earlier copies are settled, though the group has not reported their offsets yet when the checker looks."""
    with LabRun(parse_scenario(LONG_WAITS, "long-waits")) as run:
        assert finish(run) == []
        assert max(call.reconsume_times for call in run.world.history.consumes_began) == 6


LONG_WAITS = """
title: {en: long waits, zh: 长时间等待}
about: {en: long waits, zh: 长时间等待}
duration_ms: 700000
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  P1: {role: producer, group: p, traffic: {topic: Orders, count: 3, every_ms: 200, start_ms: 1000, key: "order-{n}"}}
  C1: {role: consumer, group: shop, topic: Orders, listener: {duration_ms: 50, result: throws, only_keys: [order-2]}}
topics:
  Orders: {queues: 1}
"""


def _dead_letters(run):
    broker = run.world.brokers()[0].broker
    return broker.store.max_offset(dlq_topic("shop"), 0) if broker is not None else 0


def _store_again(run, key, topic, *, reconsume_times, in_topic="Orders"):
    """Let the broker store a copy of the message ``key`` in ``topic``."""
    broker = broker_of(run)
    message = next(
        message
        for known_topic, queue_id, queue in broker.store.consume_queues()
        if known_topic == in_topic
        for offset, _, _ in queue.entries(0, 100)
        if (message := broker.store.message_at(offset)) is not None and key in message.keys
    )
    broker.topic_config_manager.create_topic_in_send_message_back(topic, 1)
    copy = StoreMessage(
        topic=topic,
        queue_id=0,
        body=message.body,
        properties_string=encode_properties(message.properties),
        born_timestamp=0,
        born_host=broker.where.store_host,
        store_host=broker.where.store_host,
        reconsume_times=reconsume_times,
        tags_code=java_string_hash(message.tags or ""),
    )
    run.world.lab.loop.call_soon(broker.store.put_message, copy)
