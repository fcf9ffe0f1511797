"""The forms of a transactional message in the log (RocketMQ: ``TransactionalMessageBridge``,
``EndTransactionProcessor.endMessageTransaction``).

::

    half      RMQ_SYS_TRANS_HALF_TOPIC queue 0; REAL_TOPIC and REAL_QID are its destination; no transaction bits, so
              that its queue gets an entry for it. Consumers do not subscribe to that topic, so they do not see it.
    op        RMQ_SYS_TRANS_OP_HALF_TOPIC queue 0, tags "d"; the body is the logical offset of a half message, in
              decimal: that one is committed or rolled back. GlassMQ's also has the committed message's offset in the
              log (GLASSMQ_COMMITTED_AT), so that a start can detect a commit that a power cut has torn.
    committed the real topic and queue; transaction bits "commit"; ``prepared_transaction_offset`` is the half
              message's place in the log. The properties stay those of the half message.
    discarded TRANS_CHECK_MAX_TIME_TOPIC queue 0: no producer could report its outcome.

The log is append-only, so a half message cannot be changed or removed: an op message marks it as decided, and counting
a check means storing the half message again.
"""

from __future__ import annotations

from typing import Final

from engine.broker.delivery.message_again import message_again
from engine.protocol.errors import MalformedMessage
from engine.protocol.java_hash import java_string_hash
from engine.protocol.java_text import java_text
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TAGS,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
    decode_properties,
    encode_properties,
)
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, clear_transaction_type
from engine.store.log.store_message import StoreMessage

#: The queue of half and op messages in their topics.
HALF_QUEUE_ID: Final = 0
#: ``TransactionalMessageUtil.REMOVETAG``: the tags of an op message.
REMOVE_TAG: Final = "d"
#: A property of op messages that RocketMQ does not have; it reads their tags and body.
PROPERTY_COMMITTED_AT: Final = "GLASSMQ_COMMITTED_AT"


def turn_into_half_message(message: StoreMessage) -> None:
    """Redirect ``message`` to the half topic (``parseHalfMessageInner``)."""
    text = message.properties_string
    properties = decode_properties(text if isinstance(text, str) else java_text(text))
    properties.pop(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET, None)  # it would name another transaction
    properties[PROPERTY_REAL_TOPIC] = message.topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
    message.properties_string = encode_properties(properties)
    message.sys_flag = clear_transaction_type(message.sys_flag)
    message.topic = TRANSACTION_HALF_TOPIC
    message.queue_id = HALF_QUEUE_ID


def real_place(half: MessageExt) -> tuple[str, int]:
    """Return the destination topic and queue of ``half``. Raises :class:`MalformedMessage`."""
    topic = half.properties.get(PROPERTY_REAL_TOPIC, "")
    queue_id = whole_number(half, PROPERTY_REAL_QUEUE_ID, max_digits=10)
    if not topic or queue_id is None:
        raise MalformedMessage(f"the half message at {half.commit_log_offset} has no destination")
    return topic, queue_id


def committed_message(half: MessageExt, store_host: bytes) -> StoreMessage:
    """Return ``half`` as a visible message in its real topic. Raises :class:`MalformedMessage`."""
    topic, queue_id = real_place(half)
    message = message_again(half, topic, queue_id, store_host)
    message.sys_flag = clear_transaction_type(half.sys_flag) | TRANSACTION_COMMIT_TYPE
    message.prepared_transaction_offset = half.commit_log_offset
    return message


def op_message(
    half_queue_offset: int, store_host: bytes, now_ms: int, committed_place: int | None = None
) -> StoreMessage:
    """Return the op message that marks the half message at ``half_queue_offset`` as decided.

    :param committed_place: the commit-log offset of the message that consumers get.
    """
    properties = {PROPERTY_TAGS: REMOVE_TAG}
    if committed_place is not None:
        properties[PROPERTY_COMMITTED_AT] = str(committed_place)
    return StoreMessage(
        topic=TRANSACTION_OP_HALF_TOPIC,
        queue_id=HALF_QUEUE_ID,
        body=str(half_queue_offset).encode(),
        properties_string=encode_properties(properties),
        born_timestamp=now_ms,
        born_host=store_host,
        store_host=store_host,
        tags_code=java_string_hash(REMOVE_TAG),
        wait_store_ok=False,
    )


def decided_offset(op: MessageExt) -> int | None:
    """Return the logical offset of the half message that ``op`` marks; None if it marks none."""
    text = op.body
    if op.tags != REMOVE_TAG or not (text.isdigit() and len(text) <= 19):
        return None
    return int(text)


def committed_at(op: MessageExt) -> int | None:
    """Return the commit-log offset of the committed message that ``op`` names; None if it names none, as
    RocketMQ's do.
    """
    return whole_number(op, PROPERTY_COMMITTED_AT)


def recorded_first_copy(message: MessageExt) -> int | None:
    """Return the logical offset of the first copy of a half message, as later copies record it; None if not
    recorded.
    """
    return whole_number(message, PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET)


def first_copy(half: MessageExt) -> int:
    """Return the logical offset of the first copy of ``half``, perhaps itself, which identifies the transaction."""
    reported = recorded_first_copy(half)
    return half.queue_offset if reported is None else reported


def record_first_copy(half: MessageExt) -> None:
    """Record in ``half`` the transaction that it belongs to, for the copies stored from now on."""
    half.properties[PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET] = str(first_copy(half))


def check_times(half: MessageExt) -> int:
    """Return the number of checks of ``half`` so far."""
    return whole_number(half, PROPERTY_TRANSACTION_CHECK_TIMES, max_digits=9) or 0


def checked_once_more(half: MessageExt, store_host: bytes) -> StoreMessage:
    """Return ``half`` to be stored again with its counter incremented (``renewHalfMessageInner``)."""
    half.properties[PROPERTY_TRANSACTION_CHECK_TIMES] = str(check_times(half) + 1)
    return message_again(half, TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, store_host)


def put_off(half: MessageExt, store_host: bytes) -> StoreMessage:
    """Return ``half`` to be stored again because its own immunity lasts longer (``renewImmunityHalfMessageInner``).

    The sender's answer names the first offset of the message, which is therefore recorded in the copy.
    """
    record_first_copy(half)
    return message_again(half, TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, store_host)


def discarded_message(half: MessageExt, store_host: bytes) -> StoreMessage:
    """Return ``half`` as a message for TRANS_CHECK_MAX_TIME_TOPIC."""
    return message_again(half, TRANSACTION_CHECK_MAX_TIME_TOPIC, 0, store_host)


def resumed_message(discarded: MessageExt, store_host: bytes) -> StoreMessage:
    """Return a discarded message as a new half message, with its check counter at 0."""
    discarded.properties[PROPERTY_TRANSACTION_CHECK_TIMES] = "0"
    return message_again(discarded, TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, store_host)


def whole_number(half: MessageExt, name: str, max_digits: int = 19) -> int | None:
    """Return the property ``name`` as a non-negative integer; None if missing or invalid, because senders may write
    anything.
    """
    text = half.properties.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= max_digits else None


def producer_group(half: MessageExt) -> str:
    """Return the group whose members can report the outcome of ``half``."""
    return half.properties.get(PROPERTY_PRODUCER_GROUP, "")
