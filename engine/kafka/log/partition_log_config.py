"""Settings of a partition's log (Kafka: ``LogConfig``)."""

from __future__ import annotations

from dataclasses import dataclass

_WEEK_MS = 7 * 24 * 3_600 * 1_000


@dataclass(frozen=True, slots=True)
class PartitionLogConfig:
    """The settings of a topic, with Kafka's names and defaults (Kafka 4.1, topic configuration)."""

    #: ``segment.bytes``: a segment that would grow beyond it is closed, and the next one begins.
    segment_bytes: int = 1_073_741_824
    #: ``segment.ms``: a segment does not accept records that are this much younger than its first.
    segment_ms: int = _WEEK_MS
    #: ``index.interval.bytes``: the indexes get an entry for every ``index_interval_bytes`` of the log.
    index_interval_bytes: int = 4_096
    #: ``segment.index.bytes``: an offset index of this size closes its segment, too.
    segment_index_bytes: int = 10_485_760
    #: ``max.message.bytes``: size of a whole batch.
    max_message_bytes: int = 1_048_588
    #: ``retention.ms``: older segments may be deleted; -1: no limit.
    retention_ms: int = _WEEK_MS
    #: ``retention.bytes``: size of all segments, beyond which the oldest may be deleted; -1: no limit.
    retention_bytes: int = -1
