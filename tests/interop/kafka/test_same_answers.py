"""Kafka 4.1 is asked what ours is asked: the same requests are answered, and bad ones refused with the same codes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from engine.kafka.records.compression import SPOKEN_CODECS
from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.wire.api_key import BETWEEN_BROKERS, VERSIONS
from engine.kafka.wire.cluster import ApiVersionsRequest, InitProducerIdRequest, MetadataRequest
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.frames import decode_response, encode_request
from engine.kafka.wire.offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    OF_GROUP,
    FindCoordinatorRequest,
    OffsetFetchRequest,
    TopicPartitions,
)
from engine.runtime.live.blocking_connection import BlockingConnection, ConnectionLost
from tests.interop.harness.real_kafka import RealKafka
from tests.support.kafka.asking import ask_over_tcp
from tests.support.kafka.bad_requests import (
    BAD_REQUESTS,
    BadRequest,
    batch_with_attributes,
    codes_in,
    commit_request,
    fetch_request,
    produce_request,
    times_request,
)
from tests.support.kafka.brokers import TOPIC
from tests.support.kafka.kafka_python import create_topic
from tests.support.kafka.partitions import BEGIN_MS, batch_of, orders, records_in
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

_TIMEOUT_MS = 20_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a real Kafka with one topic of one partition, whose coordinator of groups and producer ids
    is ready.
    """
    kafka = RealKafka(tmp_path_factory.mktemp("kafka"), {"auto.create.topics.enable": "false"})
    try:
        kafka.start()
        create_topic(kafka.address, TOPIC)
        for request in (
            MetadataRequest((TOPIC,)),
            FindCoordinatorRequest("readers", OF_GROUP),
            InitProducerIdRequest(None, 0),
            OffsetFetchRequest("readers", (TopicPartitions(TOPIC, (0,)),)),
        ):
            wait_until(partial(_is_answered, kafka.address, request), str(request))
        yield kafka.address
    finally:
        kafka.stop()


def _is_answered(address: str, request: KafkaMessage) -> bool:
    return not codes_in(ask_over_tcp(address, request))


def test_it_answers_each_of_our_requests(address: str) -> None:
    supported = {api.api_key: api for api in ask_over_tcp(address, ApiVersionsRequest()).api_keys}
    to_clients = {key: version for key, version in VERSIONS.items() if key not in BETWEEN_BROKERS}
    assert all(
        supported[key].min_version <= version <= supported[key].max_version for key, version in to_clients.items()
    )
    producer = ask_over_tcp(address, InitProducerIdRequest(None, 0))
    for number, codec in enumerate(SPOKEN_CODECS):
        batch = batch_of(
            3, 3 * number, codec, producer_id=producer.producer_id, producer_epoch=0, base_sequence=3 * number
        )
        appended = ask_over_tcp(address, produce_request(batch)).responses[0].partitions[0]
        assert (appended.error_code, appended.base_offset) == (0, 3 * number)
    count = 3 * len(SPOKEN_CODECS)
    fetched = ask_over_tcp(address, fetch_request(0)).responses[0].partitions[0]
    assert (fetched.error_code, fetched.high_watermark) == (0, count)
    assert records_in(fetched.records) == orders(count)
    for timestamp_ms, offset in ((EARLIEST_TIMESTAMP, 0), (LATEST_TIMESTAMP, count), (BEGIN_MS + 4, 4)):
        assert ask_over_tcp(address, times_request(timestamp_ms)).topics[0].partitions[0].offset == offset
    assert codes_in(ask_over_tcp(address, commit_request(4, metadata="noted"))) == ()
    kept = ask_over_tcp(address, OffsetFetchRequest("readers", (TopicPartitions(TOPIC, (0,)),))).topics[0].partitions[0]
    assert (kept.offset, kept.metadata) == (4, "noted")


@pytest.mark.parametrize("bad", BAD_REQUESTS, ids=lambda bad: bad.name)
def test_it_refuses_what_ours_refuses(address: str, bad: BadRequest) -> None:
    with BlockingConnection(address, connect_timeout_ms=_TIMEOUT_MS) as connection:
        connection.send_frame(bad.frame, _TIMEOUT_MS)
        if bad.codes is None:
            with pytest.raises(ConnectionLost, match="closed"):
                connection.receive_frame(_TIMEOUT_MS)
            return
        answer = decode_response(connection.receive_frame(_TIMEOUT_MS), bad.key)
        assert codes_in(answer) == (bad.codes if bad.codes_of_kafka is None else bad.codes_of_kafka)
        connection.send_frame(encode_request(MetadataRequest(()), 2, "asker"), _TIMEOUT_MS)
        connection.receive_frame(_TIMEOUT_MS)


def test_it_unpacks_what_a_producer_sends_where_ours_does_not(address: str) -> None:
    """Said in our log's docstring: records that are not packed as the header says are refused there, stored here."""
    wrong = batch_with_attributes(1)
    answer = ask_over_tcp(address, produce_request(wrong))
    assert codes_in(answer) == (KafkaErrorCode.UNKNOWN_SERVER_ERROR,)
