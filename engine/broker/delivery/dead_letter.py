"""A dead letter, and the message that it is resent as (RocketMQ: nothing in the broker; the dashboard's "resend").

A dead letter is stored in %DLQ%group and stays there, because the log is append-only. Resending it means sending a new
message with the same body, keys, tags and user properties to one of two topics::

    topic   its first topic (RETRY_TOPIC): every group that subscribes to it gets the message, also those
            that have consumed it before. The newer dashboard does this.
    group   %RETRY%group: only the group that failed gets it, under the name of its first topic.

The older dashboard and mqadmin (CONSUME_MESSAGE_DIRECTLY, 309) do a third thing: the broker has one member call its
listener with the dead letter, and nothing is stored; if it fails again, there is no retry. Here a resent message is a
message like any other: it is retried, and may become a dead letter again.

The new message records that a dead letter was resent: its property RESENT_DEAD_LETTER is the dead letter's offset
message id. Both have the same unique id, and that is in the index, so the new message is found from the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.protocol.command.headers import SendMessageRequestHeader, SendMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_id import place_of
from engine.protocol.message.message_properties import (
    PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS,
    PROPERTY_CLUSTER,
    PROPERTY_CONSUME_START_TIME,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_MAX_OFFSET,
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_MIN_OFFSET,
    PROPERTY_MSG_REGION,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_RESENT_DEAD_LETTER,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRACE_ON,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
    PROPERTY_UNIQUE_KEY,
    PROPERTY_WAIT_STORE_MSG_OK,
    encode_properties,
)
from engine.protocol.names import is_dlq_topic, retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import STORED_CODES
from engine.protocol.system_flags import clear_transaction_type
from engine.texts import Text

#: The producer group that a resent message names.
RESEND_PRODUCER_GROUP = "glassmq_dead_letters"
#: The maximum number of copies of a message in one topic that are examined: 16 retries, and as many again after each of
#: some resends.
COPIES_MAX = 128
#: Any number but 0: a retry topic accepts a message that may be retried at all; then the consumer's own limit applies.
_MAX_RECONSUME_TIMES = 16
_ANY_QUEUE = -1
_IDS_NAMED_MAX = 5

#: Properties that belong to the message's route, not to the message.
_LEFT_BEHIND = (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_REAL_TOPIC,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_WAIT_STORE_MSG_OK,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_CONSUME_START_TIME,
    PROPERTY_MIN_OFFSET,
    PROPERTY_MAX_OFFSET,
    PROPERTY_CLUSTER,
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_ON,
    # A committed message keeps these; with them it would be treated as a half message.
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS,
)


@dataclass(frozen=True, slots=True)
class Resent:
    """The position of the new message for a dead letter."""

    dead: MessageExt
    topic: str
    queue_id: int
    queue_offset: int


class ResendTo(StrEnum):
    """The destination of a resent dead letter."""

    TOPIC = "topic"
    GROUP = "group"


class DeathCause(StrEnum):
    """The reason for which a message became a dead letter, as far as a broker knows: it does not see listener
    exceptions.
    """

    #: The group's limit of retries was reached.
    RETRIES_USED_UP = "retries-used-up"
    #: Its consumer's own limit was reached, and the consumer sent it itself: an ordered one, which retries locally, or
    #: one that could not send it back.
    ORDERED_LIMIT = "ordered-limit"
    #: Below the group's limit: the consumer has a lower one, or its listener asked for it (a negative delay level).
    CONSUMER_DECIDED = "consumer-decided"
    #: A client sent it there directly.
    SENT_THERE = "sent-there"


class DeadLetterRefusal(StrEnum):
    """The reason for which a dead letter is not resent. The value is the key of its text."""

    NO_SUCH = "dead_letter.no_such"
    AMBIGUOUS = "dead_letter.ambiguous"
    RESENT = "dead_letter.resent"
    NO_TOPIC = "dead_letter.no_topic"
    NO_INDEX = "dead_letter.no_index"
    BY_BROKER = "dead_letter.by_broker"


class DeadLetterRefused(ProtocolError):
    """The refusal to resend a dead letter. ``values`` fill the placeholders of ``refusal``."""

    def __init__(self, refusal: DeadLetterRefusal, **values: object) -> None:
        self.refusal = refusal
        self.text = Text(refusal.value, **values)
        super().__init__(str(self.text))


def one_dead_letter(found: Sequence[MessageExt], group: str, name: str) -> MessageExt:
    """Return the newest dead letter in ``found``; all of them match ``name``. Raises :class:`DeadLetterRefused`."""
    if not found:
        raise DeadLetterRefused(DeadLetterRefusal.NO_SUCH, group=group, name=name)
    ids = list(dict.fromkeys(message.message_id for message in found))
    if len(ids) > 1 and name not in ids:
        listed = ", ".join(ids[-_IDS_NAMED_MAX:])
        raise DeadLetterRefused(DeadLetterRefusal.AMBIGUOUS, name=name, count=len(ids), ids=listed)
    fitting = [message for message in found if len(ids) == 1 or message.message_id == name]
    return max(fitting, key=lambda message: message.commit_log_offset)


def check_not_resent(dead: MessageExt, copies: Iterable[MessageExt]) -> None:
    """Raise :class:`DeadLetterRefused` if one of ``copies`` is a resend of ``dead``."""
    again = resent_as(dead, copies)
    if again is not None:
        name = dead.keys[0] if dead.keys else dead.message_id
        place = {"topic": again.topic, "queue_id": again.queue_id, "offset": again.queue_offset}
        raise DeadLetterRefused(DeadLetterRefusal.RESENT, name=name, **place)


def resent_as(dead: MessageExt, copies: Iterable[MessageExt]) -> MessageExt | None:
    """Return the first one of ``copies`` that is a resend of ``dead``. Its own retries, which also say so, come
    later.
    """
    marked = [copy for copy in copies if copy.properties.get(PROPERTY_RESENT_DEAD_LETTER) == dead.offset_message_id]
    return min(marked, key=lambda copy: copy.commit_log_offset, default=None)


def original_topic(dead: MessageExt) -> str | None:
    """Return the dead letter's first topic; None if it is not recorded."""
    return dead.properties.get(PROPERTY_RETRY_TOPIC)


def check_has_topic(dead: MessageExt, to: ResendTo) -> None:
    """Raise :class:`DeadLetterRefused` if ``dead`` is to go to its first topic but does not name it."""
    if to is ResendTo.TOPIC and original_topic(dead) is None:
        raise DeadLetterRefused(DeadLetterRefusal.NO_TOPIC, name=dead.message_id)


def place_of_first_copy(dead: MessageExt) -> tuple[str, int]:
    """Return the position of the copy in the first topic, as :func:`place_of` does."""
    return place_of(dead.properties.get(PROPERTY_ORIGIN_MESSAGE_ID, ""))


def places_of_resends(dead: MessageExt, group: str) -> list[str]:
    """Return the topics that may contain a resend of ``dead``."""
    topic = original_topic(dead)
    return [retry_topic(group)] if topic is None else [topic, retry_topic(group)]


def cause_of_death(dead: MessageExt, retry_max_times: int) -> DeathCause:
    """Return why ``dead`` was given up."""
    if PROPERTY_RETRY_TOPIC not in dead.properties:
        return DeathCause.SENT_THERE
    if _is_sent_by_consumer(dead):
        return DeathCause.ORDERED_LIMIT
    return DeathCause.RETRIES_USED_UP if retries_of(dead) >= retry_max_times else DeathCause.CONSUMER_DECIDED


def retries_of(dead: MessageExt) -> int:
    """Return how many times the message was redelivered.

    A broker that gives up a sent-back message increments its retry count once more; that is subtracted here.
    """
    return dead.reconsume_times if _is_sent_by_consumer(dead) else max(0, dead.reconsume_times - 1)


def _is_sent_by_consumer(dead: MessageExt) -> bool:
    """Return whether the consumer sent it: then it comes through a delay level, with the dead-letter topic as
    destination.
    """
    return is_dlq_topic(dead.properties.get(PROPERTY_REAL_TOPIC, ""))


def resend_request(
    dead: MessageExt, group: str, to: ResendTo, now_ms: int, queue_id: int = _ANY_QUEUE
) -> RemotingCommand:
    """Return the request that a tool sends to the broker with ``dead``; its body is as stored (perhaps compressed).

    :param queue_id: a queue of the first topic; -1: the broker chooses.
    :raises DeadLetterRefused: the dead letter cannot be sent to that destination.
    """
    properties = {name: value for name, value in dead.properties.items() if name not in _LEFT_BEHIND}
    # The index finds the new message by it, even if the first sender gave it none.
    properties[PROPERTY_UNIQUE_KEY] = dead.message_id
    properties[PROPERTY_RESENT_DEAD_LETTER] = dead.offset_message_id
    if to is ResendTo.GROUP:
        topic: str | None = retry_topic(group)
        queue_id = _ANY_QUEUE
    else:
        topic = properties.pop(PROPERTY_RETRY_TOPIC, None)
    if topic is None:
        raise DeadLetterRefused(DeadLetterRefusal.NO_TOPIC, name=dead.message_id)
    header = SendMessageRequestHeader(
        producer_group=RESEND_PRODUCER_GROUP,
        topic=topic,
        # No template: a deleted topic is not silently created again.
        default_topic="",
        default_topic_queue_nums=0,
        queue_id=queue_id,
        sys_flag=clear_transaction_type(dead.sys_flag),
        born_timestamp=now_ms,
        flag=dead.flag,
        properties=encode_properties(properties),
        reconsume_times=0,
        max_reconsume_times=_MAX_RECONSUME_TIMES if to is ResendTo.GROUP else None,
    )
    return RemotingCommand.request(RequestCode.SEND_MESSAGE, header, dead.body)


def resent_at(dead: MessageExt, request: RemotingCommand, reply: RemotingCommand) -> Resent:
    """Return where the broker that answered ``reply`` stored the message. Raises :class:`DeadLetterRefused` if it did
    not.
    """
    if reply.code not in STORED_CODES:
        raise DeadLetterRefused(DeadLetterRefusal.BY_BROKER, remark=reply.remark or f"code {reply.code}")
    header = SendMessageResponseHeader.decode(reply.ext_fields)
    return Resent(dead, request.ext_fields["topic"], header.queue_id, header.queue_offset)
