"""Settings of a broker (Kafka: ``KafkaConfig``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal

#: Kafka's limits for the name of a topic (``Topic.validate``).
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class KafkaBrokerConfig:
    """Settings of a broker.

    :ivar topics: name -> number of partitions.
    :ivar log: how all of them are stored.
    """

    topics: Mapping[str, int] = field(default_factory=dict)
    log: PartitionLogConfig = field(default_factory=PartitionLogConfig)
    #: ``broker.id``
    node_id: int = 1
    #: ``log.flush.interval.messages`` 1: what is acknowledged is on disk. Kafka's default flushes a segment only when
    #: it is closed, and everything at a clean shutdown.
    flush_before_answer: bool = False
    #: ``fetch.max.bytes`` of a broker, but not Kafka's 55 MiB: an answer must fit into a frame of the port, and the
    #: last batch in it may exceed this limit.
    fetch_max_bytes: int = 12 * 1024 * 1024
    #: Longest wait of a fetch, whatever the client asks for (Kafka: no limit).
    fetch_wait_max_ms: int = 60_000
    #: ``offset.metadata.max.bytes``
    offset_metadata_max_bytes: int = 4_096
    #: ``log.retention.check.interval.ms``
    retention_check_interval_ms: int = 300_000


def is_topic(name: str) -> bool:
    """Return whether ``name`` is a valid name of a topic."""
    return bool(_TOPIC.fullmatch(name)) and name not in (".", "..")


def checked_topic(name: str) -> str:
    """Return ``name``. Raises :class:`KafkaRefusal`, INVALID_TOPIC_EXCEPTION, if it is not a valid name."""
    if not is_topic(name):
        raise KafkaRefusal(
            KafkaErrorCode.INVALID_TOPIC_EXCEPTION,
            f"topic {name!r} is not allowed: 1 to 249 of the letters a-z, A-Z, 0-9, '.', '_' and '-' are",
        )
    return name
