"""The forms that a transactional message takes in the log (RocketMQ: ``TransactionalMessageBridge``,
``EndTransactionProcessor.endMessageTransaction``).

::

    half      RMQ_SYS_TRANS_HALF_TOPIC queue 0; REAL_TOPIC and REAL_QID say where it is to go; no transaction bits, so
              that its queue gets an entry for it. Nobody subscribes to that topic: consumers do not see it.
    op        RMQ_SYS_TRANS_OP_HALF_TOPIC queue 0, tags "d"; the body is the logical offset of a half message, in
              decimal: that one is decided, whichever way. Ours also names the committed message's place in the log
              (GLASSMQ_COMMITTED_AT), so that a start can tell a commit that a power cut has torn.
    committed the real topic and queue; transaction bits "commit"; ``prepared_transaction_offset`` is the half
              message's place in the log. The properties stay those of the half message.
    discarded TRANS_CHECK_MAX_TIME_TOPIC queue 0: nobody could say what became of it.

A log is only ever appended to. So a half message can't be changed or removed: the op message next to it says that it
is done with, and counting a check means to store the half message once more.
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

#: Half and op messages all lie in this one queue of their topics.
HALF_QUEUE_ID: Final = 0
#: ``TransactionalMessageUtil.REMOVETAG``: the tags of an op message.
REMOVE_TAG: Final = "d"
#: Ours, in op messages only; RocketMQ reads their tags and body.
PROPERTY_COMMITTED_AT: Final = "GLASSMQ_COMMITTED_AT"


def turn_into_half_message(message: StoreMessage) -> None:
    """Turn ``message`` towards the half topic (``parseHalfMessageInner``)."""
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
    """Topic and queue that ``half`` is meant for. Raises :class:`MalformedMessage`."""
    topic = half.properties.get(PROPERTY_REAL_TOPIC, "")
    queue_id = whole_number(half, PROPERTY_REAL_QUEUE_ID, max_digits=10)
    if not topic or queue_id is None:
        raise MalformedMessage(f"the half message at {half.commit_log_offset} does not say where it is to go")
    return topic, queue_id


def committed_message(half: MessageExt, store_host: bytes) -> StoreMessage:
    """``half`` for its real topic, visible from now on. Raises :class:`MalformedMessage`."""
    topic, queue_id = real_place(half)
    message = message_again(half, topic, queue_id, store_host)
    message.sys_flag = clear_transaction_type(half.sys_flag) | TRANSACTION_COMMIT_TYPE
    message.prepared_transaction_offset = half.commit_log_offset
    return message


def op_message(
    half_queue_offset: int, store_host: bytes, now_ms: int, committed_place: int | None = None
) -> StoreMessage:
    """The mark that the half message at ``half_queue_offset`` is decided.

    :param committed_place: where in the log the message lies that consumers get.
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
    """Logical offset of the half message that ``op`` marks; None when it marks none."""
    text = op.body
    if op.tags != REMOVE_TAG or not (text.isdigit() and len(text) <= 19):
        return None
    return int(text)


def committed_at(op: MessageExt) -> int | None:
    """Place in the log of the message that ``op`` was written for; None: of none, or an op message not of our own."""
    return whole_number(op, PROPERTY_COMMITTED_AT)


def first_copy_if_told(message: MessageExt) -> int | None:
    """Logical offset of the first copy of a half message, as later copies tell it; None where none is told."""
    return whole_number(message, PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET)


def first_copy(half: MessageExt) -> int:
    """Logical offset of the first copy of ``half``, which may be itself: by it a transaction goes."""
    told = first_copy_if_told(half)
    return half.queue_offset if told is None else told


def tell_first_copy(half: MessageExt) -> None:
    """Let what is stored of ``half`` from now on say which transaction it belongs to."""
    half.properties[PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET] = str(first_copy(half))


def check_times(half: MessageExt) -> int:
    """How often the sender was asked about ``half`` already."""
    return whole_number(half, PROPERTY_TRANSACTION_CHECK_TIMES, max_digits=9) or 0


def checked_once_more(half: MessageExt, store_host: bytes) -> StoreMessage:
    """``half`` to be stored again, its counter one higher (``renewHalfMessageInner``)."""
    half.properties[PROPERTY_TRANSACTION_CHECK_TIMES] = str(check_times(half) + 1)
    return message_again(half, TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, store_host)


def put_off(half: MessageExt, store_host: bytes) -> StoreMessage:
    """``half`` to be stored again because its own immunity lasts longer (``renewImmunityHalfMessageInner``).

    An answer of the sender names the first place that the message had, which is therefore noted with it.
    """
    tell_first_copy(half)
    return message_again(half, TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, store_host)


def discarded_message(half: MessageExt, store_host: bytes) -> StoreMessage:
    """``half`` for the topic of those that nobody decided."""
    return message_again(half, TRANSACTION_CHECK_MAX_TIME_TOPIC, 0, store_host)


def resumed_message(discarded: MessageExt, store_host: bytes) -> StoreMessage:
    """A discarded message for the half topic once more, its counter at 0."""
    discarded.properties[PROPERTY_TRANSACTION_CHECK_TIMES] = "0"
    return message_again(discarded, TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, store_host)


def whole_number(half: MessageExt, name: str, max_digits: int = 19) -> int | None:
    """The property ``name`` as a number from 0 on; None where it is missing or none: senders write what they like."""
    text = half.properties.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= max_digits else None


def producer_group(half: MessageExt) -> str:
    """The group whose members can say what became of ``half``."""
    return half.properties.get(PROPERTY_PRODUCER_GROUP, "")
