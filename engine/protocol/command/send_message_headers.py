"""Headers of sending (codes 10, 310, 320 and 36) and of replies to requests (324, 325 and 326).

Code 10 spells its fields out; 310 and 320 (``SendMessageRequestHeaderV2``) use one letter each, because the header
travels with every message: a producerGroup, b topic, c defaultTopic, d defaultTopicQueueNums, e queueId, f sysFlag,
g bornTimestamp, h flag, i properties, j reconsumeTimes, k unitMode, l maxReconsumeTimes, m batch, n bname.
"""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class SendMessageRequestHeader(CommandHeader):
    """A producer's header for the message in the body.

    ``queue_id`` -1 lets the broker choose. ``born_timestamp`` is the client's clock in ms. ``properties`` is the
    property string. ``max_reconsume_times`` comes only with messages sent to a retry topic.
    """

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = 0
    unit_mode: bool | None = False
    batch: bool | None = False
    max_reconsume_times: Int32 | None = None
    broker_name: str | None = None

    def encode_v2(self) -> dict[str, str]:
        """Encode the header in the one-letter form."""
        return {_LETTERS[name]: value for name, value in self.encode().items()}


_WIRE_NAMES = [codec.wire_name for codec in SendMessageRequestHeader.field_codecs]
#: The letters in the order of the class's fields; the batch comes one position before its letter's.
_LETTERS = dict(zip(_WIRE_NAMES, "abcdefghijkmln", strict=True))
#: One letter -> the name that it replaces.
LONG_NAMES = {letter: name for name, letter in _LETTERS.items()}


class SendMessageResponseHeader(CommandHeader):
    """The position at which a message was stored. ``msg_id`` is the offset id; a batch has comma-joined ids and the
    first offset.
    """

    msg_id: str
    queue_id: Int32
    queue_offset: Int64
    transaction_id: str | None = None


class ReplyMessageRequestHeader(CommandHeader):
    """The header with which a broker forwards a reply to the waiting client (code 326); the body is the reply's body.

    The fields are those of :class:`SendMessageRequestHeader`, plus the origin and time of the reply: hosts are
    ``"ip:port"``. ``store_timestamp`` is when the broker received the reply, in ms, whether or not it stores it.
    """

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    flag: Int32
    born_host: str
    store_host: str
    store_timestamp: Int64
    properties: str | None = None
    reconsume_times: Int32 | None = 0
    unit_mode: bool | None = False


class ConsumerSendMsgBackRequestHeader(CommandHeader):
    """The header with which a consumer returns a message that it failed to consume (code 36).

    ``offset`` is the message's commit-log offset. ``delay_level`` 0 lets the broker choose; a negative one makes the
    message a dead letter immediately.
    """

    offset: Int64
    group: str
    delay_level: Int32
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool | None = False
    max_reconsume_times: Int32 | None = None
    broker_name: str | None = None
