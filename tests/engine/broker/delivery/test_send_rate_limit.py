"""Limits on how many messages a second producers may send: off by default, answered SYSTEM_BUSY, never for retries."""

from __future__ import annotations

import pytest

from engine.broker.delivery.send_rate_limit import SendRateLimit, make_send_rate_limit
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.foundation.errors import MQBrokerError
from engine.protocol.message.message import Message
from engine.protocol.names import dlq_topic, retry_topic
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from tests.engine.broker.lab_broker import broker_lab
from tests.engine.broker.processors.test_send_message_processor import batch_request
from tests.support.lab.lab_cluster import LabCluster


class HandTime:
    """Microseconds that the test moves."""

    def __init__(self) -> None:
        self.us = 5_000_000

    def __call__(self) -> int:
        return self.us


def admitted(limit: SendRateLimit, topic: str, tries: int, count: int = 1) -> int:
    passed = 0
    for _ in range(tries):
        try:
            limit.admit(topic, count)
        except RequestRefused:
            continue
        passed += 1
    return passed


def test_without_a_limit_nobody_counts():
    assert make_send_rate_limit(BrokerConfig(), HandTime()) is None


def test_a_topic_gets_a_seconds_worth_at_once_and_then_its_rate():
    time = HandTime()
    limit = SendRateLimit(BrokerConfig(send_rate_limit_per_topic=10), time)
    assert admitted(limit, "T", 30) == 10
    time.us += 250_000
    assert admitted(limit, "T", 30) == 2, "two and a half tokens came"
    time.us += 50_000
    assert admitted(limit, "T", 30) == 1, "the half one is not lost"
    time.us += 60_000_000
    assert admitted(limit, "T", 30) == 10, "a long rest earns no more than a second's worth"
    assert limit.refused == {"T": 20 + 28 + 29 + 20}


def test_topics_do_not_take_from_each_other_but_share_the_brokers_limit():
    time = HandTime()
    limit = SendRateLimit(BrokerConfig(send_rate_limit_per_topic=10, send_rate_limit=15), time)
    assert [admitted(limit, topic, 20) for topic in ("A", "B")] == [10, 5]


def test_a_batch_counts_its_messages_and_pays_afterwards_what_it_took_too_much():
    time = HandTime()
    limit = SendRateLimit(BrokerConfig(send_rate_limit=10), time)
    assert admitted(limit, "T", 1, count=25) == 1, "else a batch beyond the limit could never pass"
    time.us += 1_500_000
    assert admitted(limit, "T", 1) == 0, "it is still 0 after 1.5 s"
    time.us += 100_000
    assert admitted(limit, "T", 5) == 1


def test_what_consumers_give_back_has_no_limit():
    limit = SendRateLimit(BrokerConfig(send_rate_limit=1, send_rate_limit_per_topic=1), HandTime())
    assert admitted(limit, retry_topic("g"), 50) == 50
    assert admitted(limit, dlq_topic("g"), 50) == 50


def test_the_answer_is_system_busy_and_names_the_limit():
    with broker_lab(BrokerConfig(send_rate_limit_per_topic=2)) as lab:
        client = lab.client()
        replies = [client.send(body=b"x", queue_id=0) for _ in range(3)]
        assert [reply.code for reply in replies] == [0, 0, ResponseCode.SYSTEM_BUSY]
        assert (
            replies[2].remark
            == "[RATE_LIMIT] topic T takes 2 messages a second (sendRateLimitPerTopic); try again later"
        )
        assert "MSG_REGION" in replies[2].ext_fields, "the Java client reads it without looking"
        assert lab.broker.store.max_offset("T", 0) == 2, "what was refused is not stored"
        lab.run_for(1_000)
        assert client.send(body=b"x", queue_id=0).code == 0


def test_a_producer_does_not_send_again_what_a_busy_broker_refused():
    with LabCluster(broker_settings={"send_rate_limit": 1}) as cluster:
        producer = cluster.producer("P1", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=1))
        cluster.run(producer, producer.send(Message("T", b"one")))
        with pytest.raises(MQBrokerError) as raised:
            cluster.run(producer, producer.send(Message("T", b"two")))
        assert raised.value.code == ResponseCode.SYSTEM_BUSY
        assert raised.value.outcome_is_known, "it is certainly not stored"
        limit = cluster.broker.send_rate_limit
        assert limit is not None
        assert limit.refused == {"T": 1}, "asked once: 2 is not among retryResponseCodes"


def test_a_batch_that_is_sent_counts_every_one_of_its_messages():
    with LabCluster(broker_settings={"send_rate_limit": 4}) as cluster:
        producer = cluster.producer("P1", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=1))
        cluster.run(producer, producer.send_batch([Message("T", b"x") for _ in range(4)]))
        with pytest.raises(MQBrokerError):
            cluster.run(producer, producer.send(Message("T", b"one too many")))


def test_every_message_of_a_batch_counts():
    with broker_lab(BrokerConfig(send_rate_limit_per_topic=10)) as lab:
        client = lab.client()
        client.create_topic("T")
        codes = [client.exchange(batch_request([Message("T", b"x")] * 6)).code for _ in range(3)]
        assert codes == [ResponseCode.SUCCESS, ResponseCode.SUCCESS, ResponseCode.SYSTEM_BUSY]
