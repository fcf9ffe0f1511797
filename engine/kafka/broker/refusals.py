"""What becomes of an error on its way to a client."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal

_log = logging.getLogger("glassmq.kafka")


def told(error: Exception, deed: str) -> KafkaErrorCode:
    """What the client is told; the log has the words, for which Kafka's answers have no room."""
    code = error.code if isinstance(error, KafkaRefusal) else KafkaErrorCode.KAFKA_STORAGE_ERROR
    log: Callable[..., Any] = _log.info if isinstance(error, KafkaRefusal) else _log.error
    log("cannot %s: %s (%s)", deed, error, code.name)
    return code
