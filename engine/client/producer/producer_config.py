"""Settings of a producer (RocketMQ: ``DefaultMQProducer``); the defaults are those of version 4.9.8 unless stated."""

from __future__ import annotations

from dataclasses import dataclass

from engine.client.foundation.errors import IllegalClientArgument
from engine.client.producer.mq_fault_strategy import LATENCY_MAX_MS, NOT_AVAILABLE_DURATION_MS
from engine.protocol.message.compression import DEFAULT_COMPRESS_LEVEL
from engine.protocol.message.numbering_ledger import NUMBERING_LEDGER_TOPIC
from engine.protocol.names import TRACE_TOPIC
from engine.protocol.response_code import ResponseCode

#: DefaultMQProducer.retryResponseCodes: refusals after which another broker may accept. SYSTEM_BUSY is not included: a
#: busy cluster does not need the same message again.
RETRY_RESPONSE_CODES: tuple[int, ...] = (
    ResponseCode.TOPIC_NOT_EXIST,
    ResponseCode.SERVICE_NOT_AVAILABLE,
    ResponseCode.SYSTEM_ERROR,
    ResponseCode.NO_PERMISSION,
    204,  # NO_BUYER_ID
    205,  # NOT_IN_CURRENT_UNIT
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """Settings of one producer; durations in milliseconds, sizes in bytes.

    :param send_msg_timeout_ms: for one send with all its retries.
    :param retry_times_when_send_failed: retries of a synchronous send that chooses its queue itself.
    :param retry_times_when_send_async_failed: the same for an asynchronous send, after a timeout only.
    :param retry_another_broker_when_not_store_ok: also retry if the message is stored but not flushed or replicated in
        time. It may then be stored twice.
    :param compress_msg_body_over_howmuch: bodies of at least this many bytes are compressed.
    :param default_topic_queue_nums: the number of queues of a topic that the first message creates.
    :param async_sends_in_flight_max: asynchronous sends that run at a time; further ones wait. RocketMQ 5's
        ``backPressureForAsyncSendNum``; version 4.9 bounds only by 65535 open calls.
    :param async_sends_in_flight_max_bytes: the total size of their bodies. RocketMQ 5's
        ``backPressureForAsyncSendSize``.
    :param async_sends_waiting_max: how many asynchronous sends may wait; further ones are refused. RocketMQ queues
        50,000.
    :param async_sends_waiting_max_bytes: the total size of their bodies; a single one may be larger. Not in RocketMQ:
        the default equals the limit for sends in flight.
    :param requests_waiting_max: how many requests may wait for their replies; further ones are refused. RocketMQ has no
        bound.
    :param send_latency_fault_enable: avoid brokers that were slow or failed, for as long as the next two say.
    :param latency_max_ms: ascending; a send that took this long excludes its broker for the entry in the next setting.
    :param not_available_duration_ms: exclusion times (:mod:`engine.client.producer.mq_fault_strategy`).
    :param enable_msg_trace: record every sent message in the trace topic (:mod:`engine.client.trace`).
    :param customized_trace_topic: the trace topic.
    :param number_messages: number each message (:mod:`engine.client.producer.message_numbering`).
    :param numbering_ledger_topic: the topic of the numbering ledger, sent at shutdown; "" sends none.
    """

    send_msg_timeout_ms: int = 3_000
    retry_times_when_send_failed: int = 2
    retry_times_when_send_async_failed: int = 2
    retry_another_broker_when_not_store_ok: bool = False
    retry_response_codes: tuple[int, ...] = RETRY_RESPONSE_CODES
    compress_msg_body_over_howmuch: int = 4_096
    compress_level: int = DEFAULT_COMPRESS_LEVEL
    max_message_size: int = 4_194_304
    default_topic_queue_nums: int = 4
    async_sends_in_flight_max: int = 10_000
    async_sends_in_flight_max_bytes: int = 100 * 1_048_576
    async_sends_waiting_max: int = 50_000
    async_sends_waiting_max_bytes: int = 100 * 1_048_576
    requests_waiting_max: int = 10_000
    send_latency_fault_enable: bool = False
    latency_max_ms: tuple[int, ...] = LATENCY_MAX_MS
    not_available_duration_ms: tuple[int, ...] = NOT_AVAILABLE_DURATION_MS
    enable_msg_trace: bool = False
    customized_trace_topic: str = TRACE_TOPIC
    number_messages: bool = False
    numbering_ledger_topic: str = NUMBERING_LEDGER_TOPIC

    def __post_init__(self) -> None:
        for name in (
            "send_msg_timeout_ms",
            "max_message_size",
            "default_topic_queue_nums",
            "async_sends_in_flight_max",
            "async_sends_in_flight_max_bytes",
            "async_sends_waiting_max_bytes",
            "requests_waiting_max",
        ):
            if getattr(self, name) <= 0:
                raise IllegalClientArgument(f"{name} must be greater than 0, got {getattr(self, name)}")
        for name in ("retry_times_when_send_failed", "retry_times_when_send_async_failed", "async_sends_waiting_max"):
            if getattr(self, name) < 0:
                raise IllegalClientArgument(f"{name} must not be negative, got {getattr(self, name)}")
        if not -1 <= self.compress_level <= 9:
            raise IllegalClientArgument(f"compress_level must be -1 to 9, got {self.compress_level}")
        self._check_latencies()

    def _check_latencies(self) -> None:
        limits, durations = self.latency_max_ms, self.not_available_duration_ms
        if len(limits) != len(durations):
            raise IllegalClientArgument(
                f"latency_max_ms has {len(limits)} entries and not_available_duration_ms {len(durations)}; each "
                "latency needs one duration"
            )
        if list(limits) != sorted(limits) or any(value < 0 for value in (*limits, *durations)):
            raise IllegalClientArgument(
                f"latency_max_ms must ascend, and no latency or duration be negative, got {limits} and {durations}"
            )
