"""Conversion of errors to error codes for clients."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal

_log = logging.getLogger("glassmq.kafka")


def log_refusal(error: Exception, action: str) -> KafkaErrorCode:
    """Log the text of ``error`` and return its code for the client: for the text Kafka's answers have no room."""
    code = error.code if isinstance(error, KafkaRefusal) else KafkaErrorCode.KAFKA_STORAGE_ERROR
    log: Callable[..., Any] = _log.info if isinstance(error, KafkaRefusal) else _log.error
    log("cannot %s: %s (%s)", action, error, code.name)
    return code
