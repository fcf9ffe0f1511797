"""Why a record was not sent, or an answer did not come."""

from __future__ import annotations

from engine.kafka.records.error_code import KafkaErrorCode


class KafkaClientError(Exception):
    """Base. ``outcome_known`` is True when the record certainly was not appended."""

    outcome_known = True


class Disconnected(KafkaClientError):
    """The connection ended, or no answer came in time: the request may have been carried out."""

    outcome_known = False


class BufferExhausted(KafkaClientError):
    """The producer's memory was full for longer than ``max.block.ms``: the record was never taken."""


#: The leader may have appended the batch, and still does not promise to keep it.
_MAY_BE_KEPT = (
    KafkaErrorCode.UNKNOWN_SERVER_ERROR,
    KafkaErrorCode.NOT_LEADER_OR_FOLLOWER,
    KafkaErrorCode.REQUEST_TIMED_OUT,
    KafkaErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaErrorCode.KAFKA_STORAGE_ERROR,
)


class SendRefused(KafkaClientError):
    """The broker will not have the batch, or does not promise to keep it.

    :ivar code: why.
    """

    def __init__(self, code: KafkaErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.outcome_known = code not in _MAY_BE_KEPT


class DeliveryTimedOut(KafkaClientError):
    """No answer within ``delivery.timeout.ms``, over all tries."""

    def __init__(self, text: str, *, outcome_known: bool) -> None:
        super().__init__(text)
        self.outcome_known = outcome_known


class NoOffsetForPartition(KafkaClientError):
    """The group has no offset there, and ``auto.offset.reset`` is none."""


class IllegalTransactionStep(KafkaClientError):
    """The producer is not in a phase in which that can be done."""


class TransactionFailed(KafkaClientError):
    """A record of the transaction was given up: it can be aborted, and nothing else."""


class ProducerFenced(KafkaClientError):
    """Another process has begun with the same transactional id, or the transaction took too long: this one is over."""


class ProducerClosed(KafkaClientError):
    """It takes no records any more."""
