"""The installation of tracing in a client (RocketMQ: the constructors of ``DefaultMQProducer`` and
``DefaultMQPushConsumer`` with ``enableMsgTrace``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from engine.client.foundation.client_config import ClientConfig
from engine.client.trace.async_trace_dispatcher import (
    TRACE_MESSAGE_MAX_BYTES,
    TRACE_SEND_TIMEOUT_MS,
    TRACE_SENDS_IN_FLIGHT_MAX,
    AsyncTraceDispatcher,
    TraceProducer,
)
from engine.protocol.names import GROUP_MAX_LENGTH
from engine.runtime.port import Runtime

#: TraceConstants.GROUP_NAME_PREFIX
TRACE_GROUP_PREFIX = "_INNER_TRACE_PRODUCER"

_NOT_INHERITED = ("name_server_addresses", "instance_name", "tls")


class TraceDispatcherType(StrEnum):
    """The kind of the traced client (``TraceDispatcher.Type``)."""

    PRODUCE = "PRODUCE"
    CONSUME = "CONSUME"


def trace_group(group: str, kind: TraceDispatcherType) -> str:
    """Return the group of the inner producer for ``group``'s client. RocketMQ appends a per-process counter."""
    return f"{TRACE_GROUP_PREFIX}-{group}-{kind}"[:GROUP_MAX_LENGTH]


def make_trace_dispatcher(
    make_producer: Callable[..., TraceProducer],
    runtime: Runtime,
    client_config: ClientConfig,
    group: str,
    kind: TraceDispatcherType,
    topic: str,
) -> AsyncTraceDispatcher:
    """Create a dispatcher, not started, whose inner producer has the intervals and access key of ``client_config``.

    It shares the ``runtime`` with its encryption.

    :param make_producer: the class ``DefaultMQProducer``; this module must not import what imports it.
    """
    inherited: dict[str, Any] = {
        field.name: getattr(client_config, field.name)
        for field in dataclasses.fields(client_config)
        if field.name not in _NOT_INHERITED
    }
    producer = make_producer(
        runtime,
        trace_group(group, kind),
        client_config.name_server_addresses,
        send_msg_timeout_ms=TRACE_SEND_TIMEOUT_MS,
        max_message_size=TRACE_MESSAGE_MAX_BYTES,
        async_sends_in_flight_max=TRACE_SENDS_IN_FLIGHT_MAX,
        **inherited,
    )
    return AsyncTraceDispatcher(runtime.clock, producer, topic)
