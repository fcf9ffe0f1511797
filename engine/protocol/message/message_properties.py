r"""Properties of a message: names (``MessageConst``, ``MessageAccessor``) and the string that carries them.

    name \x01 value \x02 name \x01 value

RocketMQ 4.9.8 omits the last ``\x02``, older and C++ clients write it; both are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from engine.protocol.java_trim import java_trim

NAME_VALUE_SEPARATOR: Final = "\x01"
PROPERTY_SEPARATOR: Final = "\x02"

PROPERTY_KEYS: Final = "KEYS"
PROPERTY_TAGS: Final = "TAGS"
PROPERTY_WAIT_STORE_MSG_OK: Final = "WAIT"
PROPERTY_DELAY_TIME_LEVEL: Final = "DELAY"
PROPERTY_RETRY_TOPIC: Final = "RETRY_TOPIC"
PROPERTY_REAL_TOPIC: Final = "REAL_TOPIC"
PROPERTY_REAL_QUEUE_ID: Final = "REAL_QID"
PROPERTY_TRANSACTION_PREPARED: Final = "TRAN_MSG"
PROPERTY_PRODUCER_GROUP: Final = "PGROUP"
PROPERTY_MIN_OFFSET: Final = "MIN_OFFSET"
PROPERTY_MAX_OFFSET: Final = "MAX_OFFSET"
PROPERTY_BUYER_ID: Final = "BUYER_ID"
PROPERTY_ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
PROPERTY_TRANSFER_FLAG: Final = "TRANSFER_FLAG"
PROPERTY_CORRECTION_FLAG: Final = "CORRECTION_FLAG"
PROPERTY_MQ2_FLAG: Final = "MQ2_FLAG"
PROPERTY_RECONSUME_TIME: Final = "RECONSUME_TIME"
PROPERTY_MSG_REGION: Final = "MSG_REGION"
PROPERTY_TRACE_ON: Final = "TRACE_ON"
PROPERTY_UNIQUE_KEY: Final = "UNIQ_KEY"
PROPERTY_MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
PROPERTY_CONSUME_START_TIME: Final = "CONSUME_START_TIME"
PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
PROPERTY_TRANSACTION_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
PROPERTY_INSTANCE_ID: Final = "INSTANCE_ID"
PROPERTY_CORRELATION_ID: Final = "CORRELATION_ID"
PROPERTY_REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
PROPERTY_TTL: Final = "TTL"
PROPERTY_ARRIVE_TIME: Final = "ARRIVE_TIME"
PROPERTY_PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
PROPERTY_CLUSTER: Final = "CLUSTER"
PROPERTY_MESSAGE_TYPE: Final = "MSG_TYPE"
#: The PROPERTY_MESSAGE_TYPE of a reply to a request (``MixAll.REPLY_MESSAGE_FLAG``).
REPLY_MESSAGE_TYPE: Final = "reply"
PROPERTY_INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
PROPERTY_INNER_MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"

#: The separator of the words in the KEYS property.
KEY_SEPARATOR: Final = " "

#: Names that a user may set although they mean something to a broker (RocketMQ: those that
#: ``MessageConst.STRING_HASH_SET`` leaves out on purpose).
_FOR_USERS = (PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS, PROPERTY_INNER_MULTI_DISPATCH)
#: Names that belong to RocketMQ; a user property may not have one. ``STRING_HASH_SET`` lacks the two with which a
#: broker counts its checks of a half message: RocketMQ's producers let users set them.
RESERVED_PROPERTIES: Final = frozenset(
    value
    for name, value in tuple(globals().items())
    if name.startswith("PROPERTY_")
    and name != "PROPERTY_SEPARATOR"
    and isinstance(value, str)
    and value not in _FOR_USERS
)
#: The reserved names that a producer sets itself, for its user or for its own operation: they are present when a
#: message is sent for the second time.
PRODUCER_PROPERTIES: Final = frozenset(
    (
        PROPERTY_KEYS,
        PROPERTY_TAGS,
        PROPERTY_WAIT_STORE_MSG_OK,
        PROPERTY_DELAY_TIME_LEVEL,
        PROPERTY_UNIQUE_KEY,
        PROPERTY_CORRELATION_ID,
        PROPERTY_REPLY_TO_CLIENT,
        PROPERTY_TTL,
        PROPERTY_MESSAGE_TYPE,
    )
)

#: A property of GlassMQ's, so not among the reserved names: the offset message id of the dead letter for which a
#: message was resent by hand.
PROPERTY_RESENT_DEAD_LETTER: Final = "RESENT_DEAD_LETTER"

_JAVA_INTEGER: Final = re.compile(r"[+-]?\d{1,40}")

#: The longest property string that fits the stored layout (a signed 16-bit length), in bytes.
PROPERTIES_MAX_BYTES: Final = 32_767


def encode_properties(properties: Mapping[str, str]) -> str:
    """Encode ``properties`` as a property string, in their order."""
    return PROPERTY_SEPARATOR.join([f"{name}{NAME_VALUE_SEPARATOR}{value}" for name, value in properties.items()])


def decode_properties(text: str) -> dict[str, str]:
    """Decode the properties in ``text``, in order; the last one of a name wins.

    Entries without a separator, or with an empty name or value, are skipped, as in RocketMQ.
    """
    properties: dict[str, str] = {}
    for entry in text.split(PROPERTY_SEPARATOR):
        name, separator, value = entry.partition(NAME_VALUE_SEPARATOR)
        if separator and name and value:
            properties[name] = value
    return properties


def split_keys(text: str) -> list[str]:
    """Return the words of a KEYS property. Only spaces separate them: other blanks are part of a key."""
    return [word for word in text.split(KEY_SEPARATOR) if word]


def read_delay_level(properties: Mapping[str, str]) -> int | None:
    """Read the DELAY property as Java does (``Integer.parseInt``): 3 for ``"3"``, ``"+3"`` and ``"003"``; 0 if absent.

    None if Java cannot read it either.
    """
    text = properties.get(PROPERTY_DELAY_TIME_LEVEL, "0")
    if _JAVA_INTEGER.fullmatch(text) is None:
        return None
    level = int(text)
    return level if -(1 << 31) <= level < 1 << 31 else None


def is_carriable(text: str) -> bool:
    """Return True if ``text`` can be a property's name or value: not blank and free of the two separators."""
    return bool(java_trim(text)) and NAME_VALUE_SEPARATOR not in text and PROPERTY_SEPARATOR not in text
