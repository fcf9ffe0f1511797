"""Error codes of a Kafka broker (Kafka: ``org.apache.kafka.common.protocol.Errors``)."""

from __future__ import annotations

from enum import IntEnum


class KafkaErrorCode(IntEnum):
    """The error codes that are used here, with Kafka's numbers."""

    #: It is unknown whether the request was carried out.
    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    #: The partition has no leader at present.
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    #: It is unknown whether the request was carried out.
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    #: Fewer in-sync replicas than ``min.insync.replicas``; nothing was appended.
    NOT_ENOUGH_REPLICAS = 19
    #: The same, but the leader has appended the batch.
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    UNKNOWN_MEMBER_ID = 25
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    #: Another process has started with the same transactional id, or the transaction has taken too long.
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    #: The coordinator does not know the producer's id.
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    #: The previous transaction is still being ended.
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    #: Another partition of the request was refused.
    OPERATION_NOT_ATTEMPTED = 55
    #: The disk failed: it is unknown whether the data is stored.
    KAFKA_STORAGE_ERROR = 56
    UNKNOWN_PRODUCER_ID = 59
    FETCH_SESSION_ID_NOT_FOUND = 70
    #: The request names an older leader epoch than the current one.
    FENCED_LEADER_EPOCH = 74
    #: The request names a newer leader epoch than this broker knows.
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    #: The broker has registered again since.
    STALE_BROKER_EPOCH = 77
    INVALID_RECORD = 87
    #: The partition has changed since.
    INVALID_UPDATE_VERSION = 95
    #: A broker that is not live may not join the in-sync replicas.
    INELIGIBLE_REPLICA = 107

    @classmethod
    def _missing_(cls, value: object) -> KafkaErrorCode:
        """Convert a real broker's code that is not listed here, as Kafka's clients do with codes newer than they
        are.
        """
        return cls.UNKNOWN_SERVER_ERROR


class KafkaRefusal(Exception):
    """The broker refuses a request. The text says what was wrong and what is allowed.

    :ivar code: the error code for the client.
    """

    def __init__(self, code: KafkaErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code
