"""Errors of the client: why a record was not sent, or why no response came."""

from __future__ import annotations

from engine.kafka.records.error_code import KafkaErrorCode


class KafkaClientError(Exception):
    """Base of the client's errors. ``outcome_known`` is True when the record certainly was not appended."""

    outcome_known = True


class Disconnected(KafkaClientError):
    """The connection was lost, or no response came in time; the request may have been carried out."""

    outcome_known = False


class BufferExhausted(KafkaClientError):
    """The producer's memory was full for longer than ``max.block.ms``; the record was not accepted."""


#: Errors after which the leader may have appended the batch, but does not guarantee to keep it.
_MAY_BE_KEPT = (
    KafkaErrorCode.UNKNOWN_SERVER_ERROR,
    KafkaErrorCode.NOT_LEADER_OR_FOLLOWER,
    KafkaErrorCode.REQUEST_TIMED_OUT,
    KafkaErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaErrorCode.KAFKA_STORAGE_ERROR,
)


class SendRefused(KafkaClientError):
    """The broker refuses the batch, or does not guarantee to keep it.

    :ivar code: the broker's error code.
    """

    def __init__(self, code: KafkaErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.outcome_known = code not in _MAY_BE_KEPT


class DeliveryTimedOut(KafkaClientError):
    """No response came within ``delivery.timeout.ms``, over all tries."""

    def __init__(self, text: str, *, outcome_known: bool) -> None:
        super().__init__(text)
        self.outcome_known = outcome_known


class NoOffsetForPartition(KafkaClientError):
    """The group has no offset in the partition, and ``auto.offset.reset`` is ``none``."""


class IllegalTransactionStep(KafkaClientError):
    """The producer's phase does not allow this step."""


class TransactionFailed(KafkaClientError):
    """A record of the transaction was given up; the transaction can only be aborted."""


class ProducerFenced(KafkaClientError):
    """Another process has started with the same transactional id, or the transaction took too long; this producer is
    fenced.
    """


class ProducerClosed(KafkaClientError):
    """The producer is closed and accepts no more records."""
