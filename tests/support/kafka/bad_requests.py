"""Requests that a broker of Kafka refuses, and with which code: ours in the tests of the engine, Kafka 4.1 in those
with a real one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from struct import pack
from typing import NamedTuple

import google_crc32c

from engine.kafka.records.error_code import KafkaErrorCode
from engine.kafka.records.record_batch import ATTRIBUTES_BYTE
from engine.kafka.wire.api_key import ApiKey
from engine.kafka.wire.cluster import MetadataRequest
from engine.kafka.wire.fetch import READ_UNCOMMITTED, FetchPartition, FetchRequest, FetchTopic
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.frames import encode_request, key_of
from engine.kafka.wire.offsets import (
    DEFAULT_RETENTION,
    NO_GENERATION,
    NO_MEMBER,
    ListOffsetsRequest,
    OffsetCommitRequest,
    PartitionCommit,
    TimeWanted,
    TopicCommits,
    TopicTimesWanted,
)
from engine.kafka.wire.produce import PartitionBatches, ProduceRequest, TopicBatches
from tests.support.kafka.brokers import TOPIC
from tests.support.kafka.partitions import batch_of
from tests.support.lab.runtime_handlers import frame_of

_CLIENT_ID = "bad"
_LENGTH_BYTE, _MAGIC_BYTE, _CHECKSUM_BYTE, _LAST_DELTA_BYTE, _COUNT_BYTE = 8, 16, 17, 23, 57


class BadRequest(NamedTuple):
    """:ivar frame: with its length.

    :ivar codes: all that the answer carries; None: there is no answer, the connection is closed.
    :ivar codes_of_kafka: where those of Kafka 4.1 are others.
    """

    name: str
    key: ApiKey
    frame: bytes
    codes: tuple[int, ...] | None
    codes_of_kafka: tuple[int, ...] | None = None


def codes_in(message: object) -> tuple[int, ...]:
    """Return every ``error_code`` of an answer that is not success."""
    if isinstance(message, tuple):
        return tuple(code for part in message for code in codes_in(part))
    if not is_dataclass(message):
        return ()
    own = getattr(message, "error_code", 0)
    return ((own,) if own else ()) + codes_in(tuple(getattr(message, field.name) for field in fields(message)))


def produce_request(records: bytes, topic: str = TOPIC, partition: int = 0, acks: int = -1) -> ProduceRequest:
    """One partition's."""
    return ProduceRequest(None, acks, 1_000, (TopicBatches(topic, (PartitionBatches(partition, records),)),))


def fetch_request(offset: int, topic: str = TOPIC, partition: int = 0, max_wait_ms: int = 100) -> FetchRequest:
    """One partition's; answered when there is a byte."""
    wanted = FetchPartition(partition, -1, offset, -1, 1 << 20)
    return FetchRequest(-1, max_wait_ms, 1, 1 << 20, 0, 0, -1, (FetchTopic(topic, (wanted,)),), ())


def times_request(timestamp_ms: int, topic: str = TOPIC) -> ListOffsetsRequest:
    """One partition's."""
    return ListOffsetsRequest(-1, READ_UNCOMMITTED, (TopicTimesWanted(topic, (TimeWanted(0, timestamp_ms),)),))


def commit_request(
    offset: int, topic: str = TOPIC, metadata: str | None = None, generation_id: int = NO_GENERATION
) -> OffsetCommitRequest:
    """One partition's, of the group ``readers``."""
    topics = (TopicCommits(topic, (PartitionCommit(0, offset, metadata),)),)
    return OffsetCommitRequest("readers", generation_id, NO_MEMBER, DEFAULT_RETENTION, topics)


def _with(batch: bytes, position: int, data: bytes, *, is_sealed: bool = False) -> bytes:
    """``batch`` with other bytes there, and with the checksum of what it is then, or with its old one."""
    changed = batch[:position] + data + batch[position + len(data) :]
    if is_sealed:
        checksum = google_crc32c.value(changed[ATTRIBUTES_BYTE:])
        changed = changed[:_CHECKSUM_BYTE] + pack(">I", checksum) + changed[ATTRIBUTES_BYTE:]
    return changed


def batch_with_attributes(bits: int) -> bytes:
    """Three records, not packed, whatever the attributes say."""
    return _with(batch_of(3), ATTRIBUTES_BYTE, pack(">h", bits), is_sealed=True)


def _raw(key: int, version: int, message: bytes = b"", client_id: bytes = b"\0\3bad") -> bytes:
    return frame_of(pack(">hhi", key, version, 1) + client_id + message)


def _refused(name: str, request: KafkaMessage, code: int, code_of_kafka: int | None = None) -> BadRequest:
    of_kafka = None if code_of_kafka is None else (code_of_kafka,) if code_of_kafka else ()
    return BadRequest(name, key_of(request), encode_request(request, 1, _CLIENT_ID), (code,), of_kafka)


def _bad_batches() -> Sequence[BadRequest]:
    good, code = batch_of(3), KafkaErrorCode
    unknown_server_error = code.UNKNOWN_SERVER_ERROR
    named = (
        ("no bytes", b"", code.INVALID_RECORD, None),
        ("half a header", good[:40], code.INVALID_RECORD, None),
        ("a batch cut short", good[:-1], code.INVALID_RECORD, None),
        # Kafka cuts off what is no whole batch, as long as there is one.
        ("a batch and a byte", good + b"\0", code.INVALID_RECORD, code.NONE),
        ("two batches", good + good, code.INVALID_RECORD, None),
        ("magic 0", _with(good, _MAGIC_BYTE, b"\0"), code.INVALID_RECORD, None),
        ("magic 1", _with(good, _MAGIC_BYTE, b"\1"), code.INVALID_RECORD, None),
        ("magic 3", _with(good, _MAGIC_BYTE, b"\3"), code.CORRUPT_MESSAGE, None),
        ("a wrong checksum", _with(good, _CHECKSUM_BYTE, b"\0\0\0\0"), code.CORRUPT_MESSAGE, None),
        ("a changed byte", _with(good, len(good) - 1, b"\1"), code.CORRUPT_MESSAGE, None),
        ("a length below a header's", _with(good, _LENGTH_BYTE, pack(">i", 10)), code.CORRUPT_MESSAGE, None),
        ("a negative length", _with(good, _LENGTH_BYTE, pack(">i", -10)), code.CORRUPT_MESSAGE, None),
        # Kafka has a code for this, and tells another: its parser stumbles.
        ("codec 5", batch_with_attributes(5), code.UNSUPPORTED_COMPRESSION_TYPE, unknown_server_error),
        ("codec 7", batch_with_attributes(7), code.UNSUPPORTED_COMPRESSION_TYPE, unknown_server_error),
        ("part of a transaction", batch_with_attributes(16), code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None),
        ("a control batch", batch_with_attributes(32), code.INVALID_RECORD, None),
        ("a base offset", _with(good, 0, pack(">q", 5)), code.INVALID_RECORD, None),
        ("too few records", _with(good, _COUNT_BYTE, pack(">i", 2), is_sealed=True), code.INVALID_RECORD, None),
        ("no records", _with(good, _COUNT_BYTE, pack(">i", 0), is_sealed=True), code.INVALID_RECORD, None),
        ("a false end", _with(good, _LAST_DELTA_BYTE, pack(">i", 7), is_sealed=True), code.INVALID_RECORD, None),
        ("a producer without sequence", batch_of(3, producer_id=9, producer_epoch=0), code.INVALID_RECORD, None),
        ("too large", batch_of(60_000), code.MESSAGE_TOO_LARGE, None),
    )  # fmt: skip
    return [_refused(name, produce_request(batch), ours, kafkas) for name, batch, ours, kafkas in named]


def _bad_frames() -> Sequence[BadRequest]:
    metadata, version = ApiKey.METADATA, 1
    no_text = b"\0\0\0\1\0\1\xff"
    return (
        BadRequest("an unknown request", ApiKey.METADATA, _raw(999, 0), None),
        BadRequest("a version to come", ApiKey.PRODUCE, _raw(ApiKey.PRODUCE, 99), None),
        BadRequest("a version long gone", ApiKey.PRODUCE, _raw(ApiKey.PRODUCE, 0), None),
        BadRequest("an array cut short", metadata, _raw(metadata, version, b"\0\0\0\5\0\1a"), None),
        BadRequest("a client id cut short", metadata, _raw(metadata, version, b"", b"\x7f\xffx"), None),
        BadRequest("a header cut short", metadata, frame_of(b"\0\3\0\1"), None),
        BadRequest("no UTF-8", metadata, _raw(metadata, version, no_text), (KafkaErrorCode.INVALID_TOPIC_EXCEPTION,)),
        BadRequest("more than was asked", metadata, _raw(metadata, version, b"\0\0\0\0ZZ"), ()),
        BadRequest(
            "a version of ApiVersions to come",
            ApiKey.API_VERSIONS,
            _raw(ApiKey.API_VERSIONS, 99, b"\0\2x\2y\0"),
            (KafkaErrorCode.UNSUPPORTED_VERSION,),
        ),
    )


_UNKNOWN = KafkaErrorCode.UNKNOWN_TOPIC_OR_PARTITION
BAD_REQUESTS: Sequence[BadRequest] = (
    *_bad_batches(),
    _refused("acks 5", produce_request(batch_of(1), acks=5), KafkaErrorCode.INVALID_REQUIRED_ACKS),
    _refused("produce to no topic", produce_request(batch_of(1), "Nope"), _UNKNOWN),
    _refused("produce to no partition", produce_request(batch_of(1), partition=9), _UNKNOWN),
    _refused("produce to partition -1", produce_request(batch_of(1), partition=-1), _UNKNOWN),
    _refused("fetch beyond the end", fetch_request(1_000_000), KafkaErrorCode.OFFSET_OUT_OF_RANGE),
    _refused("fetch before the begin", fetch_request(-1), KafkaErrorCode.OFFSET_OUT_OF_RANGE),
    _refused("fetch from no topic", fetch_request(0, "Nope"), _UNKNOWN),
    _refused("fetch from no partition", fetch_request(0, partition=9), _UNKNOWN),
    _refused(
        "fetch in no session",
        replace(fetch_request(0), session_id=9, session_epoch=1),
        KafkaErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ),
    _refused("a time below all", times_request(-9), KafkaErrorCode.UNSUPPORTED_VERSION),
    _refused("a time in no topic", times_request(0, "Nope"), _UNKNOWN),
    _refused("metadata of no topic", MetadataRequest(("Nope",)), _UNKNOWN),
    _refused("metadata of no name", MetadataRequest(("a b",)), KafkaErrorCode.INVALID_TOPIC_EXCEPTION),
    _refused("commit in no topic", commit_request(1, "Nope"), _UNKNOWN),
    _refused("commit with a novel", commit_request(1, metadata="m" * 5_000), KafkaErrorCode.OFFSET_METADATA_TOO_LARGE),
    _refused("commit in a generation", commit_request(1, generation_id=3), KafkaErrorCode.UNKNOWN_MEMBER_ID),
    *_bad_frames(),
)
