"""Frames: a header and a message (Kafka: ``RequestHeader`` version 1, ``ResponseHeader`` version 0).

::

    request   | api key (2) | api version (2) | correlation id (4) | client id | message |
    response  | correlation id (4) | message |

A response does not say which request it answers; the client has to remember it. As on RocketMQ's connections, the port
puts a four-byte length before each frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.wire.api_key import VERSIONS, ApiKey
from engine.kafka.wire.cluster import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
)
from engine.kafka.wire.fetch import FetchRequest, FetchResponse
from engine.kafka.wire.fields import Int16, Int32, KafkaMessage, NullableString, Reader
from engine.kafka.wire.offsets import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from engine.kafka.wire.produce import ProduceRequest, ProduceResponse
from engine.kafka.wire.records_tree import FieldTree
from engine.kafka.wire.replication import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from engine.kafka.wire.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
)
from engine.runtime.frame_splitter import LENGTH_PREFIX


class Exchange(NamedTuple):
    """A kind of request and its response."""

    request: type[KafkaMessage]
    response: type[KafkaMessage]


EXCHANGES = {
    ApiKey.PRODUCE: Exchange(ProduceRequest, ProduceResponse),
    ApiKey.FETCH: Exchange(FetchRequest, FetchResponse),
    ApiKey.LIST_OFFSETS: Exchange(ListOffsetsRequest, ListOffsetsResponse),
    ApiKey.METADATA: Exchange(MetadataRequest, MetadataResponse),
    ApiKey.OFFSET_COMMIT: Exchange(OffsetCommitRequest, OffsetCommitResponse),
    ApiKey.OFFSET_FETCH: Exchange(OffsetFetchRequest, OffsetFetchResponse),
    ApiKey.FIND_COORDINATOR: Exchange(FindCoordinatorRequest, FindCoordinatorResponse),
    ApiKey.API_VERSIONS: Exchange(ApiVersionsRequest, ApiVersionsResponse),
    ApiKey.INIT_PRODUCER_ID: Exchange(InitProducerIdRequest, InitProducerIdResponse),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Exchange(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse),
    ApiKey.ADD_PARTITIONS_TO_TXN: Exchange(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse),
    ApiKey.END_TXN: Exchange(EndTxnRequest, EndTxnResponse),
    ApiKey.ALTER_PARTITION: Exchange(AlterPartitionRequest, AlterPartitionResponse),
    ApiKey.BROKER_REGISTRATION: Exchange(BrokerRegistrationRequest, BrokerRegistrationResponse),
    ApiKey.BROKER_HEARTBEAT: Exchange(BrokerHeartbeatRequest, BrokerHeartbeatResponse),
}
_KEYS = {exchange.request: key for key, exchange in EXCHANGES.items()}


@dataclass(frozen=True, slots=True)
class RequestHeader(KafkaMessage):
    """The header of a request. ``client_id`` is for logs and quotas."""

    api_key: Int16
    api_version: Int16
    correlation_id: Int32
    client_id: NullableString


@dataclass(frozen=True, slots=True)
class ResponseHeader(KafkaMessage):
    """Identifies the request that a response answers."""

    correlation_id: Int32


def key_of(request: KafkaMessage) -> ApiKey:
    """Return the kind of a request."""
    return _KEYS[type(request)]


def encode_request(request: KafkaMessage, correlation_id: int, client_id: str) -> bytes:
    """Encode a request as a frame with its length."""
    key = key_of(request)
    return _framed(RequestHeader(key, VERSIONS[key], correlation_id, client_id), request)


def encode_response(response: KafkaMessage, correlation_id: int) -> bytes:
    """Encode a response as a frame with its length."""
    return _framed(ResponseHeader(correlation_id), response)


def _framed(header: KafkaMessage, message: KafkaMessage) -> bytes:
    out: list[bytes] = []
    header.write(out)
    message.write(out)
    content = b"".join(out)
    return LENGTH_PREFIX.pack(len(content)) + content


def decode_request(frame: bytes) -> tuple[RequestHeader, KafkaMessage]:
    """Decode a request frame, given without its length; bytes after the last field are ignored, as in Kafka.

    Raises :class:`UnsupportedVersion`, :class:`KafkaRefusal`.
    """
    reader = Reader(frame)
    header = RequestHeader.read(reader)
    if header.api_key not in EXCHANGES or header.api_version != VERSIONS[ApiKey(header.api_key)]:
        raise UnsupportedVersion(header)
    return header, EXCHANGES[ApiKey(header.api_key)].request.read(reader)


def decode_response(frame: bytes, key: ApiKey) -> KafkaMessage:
    """Return the message of a response frame, given without its length. Raises :class:`KafkaRefusal`."""
    return EXCHANGES[key].response.decode(frame, 4)


def correlation_id_of(response: bytes) -> int:
    """Return the correlation id of a response frame, given without its length. Raises :class:`KafkaRefusal`."""
    return ResponseHeader.read(Reader(response)).correlation_id


class UnsupportedVersion(KafkaRefusal):
    """A request, or a version of one, that is not supported here.

    :ivar header: header of the request.
    """

    def __init__(self, header: RequestHeader) -> None:
        supported = ", ".join(f"{key.name} {version}" for key, version in VERSIONS.items())
        super().__init__(
            KafkaErrorCode.UNSUPPORTED_VERSION,
            f"request {header.api_key} in version {header.api_version} is not supported here; supported: {supported}",
        )
        self.header = header


def request_tree(frame: bytes) -> tuple[FieldTree, ...]:
    """Return all fields of a request frame, given without its length. Raises :class:`KafkaRefusal`."""
    header, _ = decode_request(frame)
    reader = Reader(frame)
    return (*RequestHeader.trees(reader), *EXCHANGES[ApiKey(header.api_key)].request.trees(reader))


def response_tree(frame: bytes, key: ApiKey) -> tuple[FieldTree, ...]:
    """Return all fields of a response frame, given without its length. Raises :class:`KafkaRefusal`."""
    reader = Reader(frame)
    return (*ResponseHeader.trees(reader), *EXCHANGES[key].response.trees(reader))
