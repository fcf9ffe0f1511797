"""Settings of a producer (Kafka: ``ProducerConfig``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.records.compression import SPOKEN_CODECS, SUPPORTED_NAMES, Codec


@dataclass(frozen=True, slots=True)
class KafkaProducerConfig:
    """The producer's settings, with Kafka's names and defaults (Kafka 4.1, producer configuration)."""

    #: ``bootstrap.servers``, one of them: ``"host:port"``.
    bootstrap: str
    client_id: str = "producer"
    #: ``linger.ms``: how long a batch waits for more records. 5 since Kafka 4.0, 0 before.
    linger_ms: int = 5
    #: ``batch.size``, in bytes before compression; a record that is larger gets a batch of its own.
    batch_size: int = 16_384
    #: ``buffer.memory``: total size of the records that wait or are in flight.
    buffer_memory: int = 33_554_432
    #: ``max.block.ms``: how long ``send`` waits for room in that memory.
    max_block_ms: int = 60_000
    #: ``compression.type``
    codec: Codec = Codec.NONE
    #: ``acks``: 0, 1 or -1 (all).
    acks: int = -1
    #: ``enable.idempotence``: batches are numbered, so that none is appended twice or out of order.
    enable_idempotence: bool = True
    #: ``max.in.flight.requests.per.connection``; at most 5 with idempotence.
    max_in_flight: int = 5
    #: ``retries``
    retries: int = 2_147_483_647
    #: ``retry.backoff.ms``. Kafka doubles it up to a second; here it is constant.
    retry_backoff_ms: int = 100
    #: ``delivery.timeout.ms``: from ``send`` to the last try.
    delivery_timeout_ms: int = 120_000
    #: ``request.timeout.ms``
    request_timeout_ms: int = 30_000
    #: ``transactional.id``: identifies the transactions of this producer across its processes; empty: no transactions.
    transactional_id: str = ""
    #: ``transaction.timeout.ms``: the coordinator aborts a transaction that is open for longer.
    transaction_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for combinations that Kafka refuses, too."""
        if self.acks not in (-1, 0, 1):
            raise ValueError(f"acks {self.acks} is not allowed: -1, 0 and 1 are")
        if self.enable_idempotence and (self.acks != -1 or not 1 <= self.max_in_flight <= 5):
            raise ValueError("enable_idempotence needs acks -1 and max_in_flight 1 to 5")
        if self.transactional_id and not self.enable_idempotence:
            raise ValueError("transactional_id needs enable_idempotence")
        if self.codec not in SPOKEN_CODECS:
            raise ValueError(f"codec {self.codec.name.lower()} is not supported here; allowed: {SUPPORTED_NAMES}")
        if min(self.linger_ms, self.batch_size, self.retries) < 0 or min(self.max_in_flight, self.buffer_memory) < 1:
            raise ValueError("linger_ms, batch_size and retries begin at 0, max_in_flight and buffer_memory at 1")
