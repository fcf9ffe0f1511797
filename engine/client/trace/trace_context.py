"""One trace record (RocketMQ: ``TraceContext``, ``TraceBean``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class TraceType(StrEnum):
    """The kinds of trace records."""

    PUB = "Pub"
    #: The listener is about to be called; SUB_AFTER: it has ended. Both have the same ``request_id``.
    SUB_BEFORE = "SubBefore"
    SUB_AFTER = "SubAfter"
    END_TRANSACTION = "EndTransaction"


class MessageType(IntEnum):
    """The kinds of messages; the ordinals are RocketMQ's, as on the wire."""

    NORMAL_MSG = 0
    TRANS_MSG_HALF = 1
    TRANS_MSG_COMMIT = 2
    DELAY_MSG = 3


#: ``context_code`` of a delivery that an idempotent listener has acknowledged without processing: not one of
#: RocketMQ's.
SWALLOWED_CODE = 100


@dataclass(frozen=True, slots=True)
class TraceBean:
    """The message of a trace record. Fields that a kind of record does not have keep their defaults.

    :ivar tags: None, like ``keys``, if the message has none. On the wire that is the word "null", as Java prints it.
    :ivar keys: words separated by spaces.
    :ivar store_host: ``"ip:port"`` of the broker.
    :ivar body_length: bytes, as sent.
    :ivar is_swallowed: written as :data:`SWALLOWED_CODE`, if the call has succeeded.
    """

    message_id: str
    topic: str = ""
    tags: str | None = ""
    keys: str | None = ""
    store_host: str = ""
    body_length: int = 0
    retry_times: int = 0
    message_type: MessageType = MessageType.NORMAL_MSG
    offset_message_id: str = ""
    transaction_id: str | None = None
    transaction_state: str = ""
    from_transaction_check: bool = False
    is_swallowed: bool = False


@dataclass(frozen=True, slots=True)
class TraceContext:
    """One trace record.

    :ivar timestamp_ms: when it began; for SUB_AFTER, when it ended.
    :ivar cost_ms: how long it took; for a delivery, divided by the number of its messages.
    :ivar request_id: identifies one listener call.
    :ivar context_code: how the call ended: the ordinal of ``ConsumeReturnType``.
    """

    trace_type: TraceType
    timestamp_ms: int
    group_name: str
    beans: tuple[TraceBean, ...]
    region_id: str | None = ""
    cost_ms: int = 0
    success: bool = True
    request_id: str = ""
    context_code: int = 0
