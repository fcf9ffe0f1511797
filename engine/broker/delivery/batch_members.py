"""The conversion of a batch body's messages to stored messages (RocketMQ: ``CommitLog.MessageExtEncoder.encode`` for a
``MessageExtBatch``, and the parts that ``checkMessageAndReturnSize`` later extracts for the dispatcher).

Consume queue and index use a message's properties as they are stored: its own, followed by those of the batch, which
win if both have a name.

The messages of one batch mostly have the same properties except for the value of UNIQ_KEY. So the text before and after
that value is parsed once, and again only for a message that differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.protocol.java_text import java_text
from engine.protocol.message.batch_codec import BatchedMessage
from engine.protocol.message.message_properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    PROPERTY_UNIQUE_KEY,
    decode_properties,
)
from engine.store.log.store_batch import BatchMember
from engine.store.queues.dispatch_request import dispatched_fields

_SEPARATOR: Final = PROPERTY_SEPARATOR.encode()
#: Python finds a byte in bytes much faster than bytes in bytes.
_SEPARATOR_BYTE: Final = _SEPARATOR[0]
_UNIQUE_KEY_ASSIGNED: Final = (PROPERTY_UNIQUE_KEY + NAME_VALUE_SEPARATOR).encode()


def batch_members(batched: Iterable[BatchedMessage], tail: bytes) -> list[BatchMember]:
    """Return the messages of a batch; ``tail``, their shared properties, is appended to each message's own."""
    members: list[BatchMember] = []
    is_known, before, after = False, b"", b""
    tags_code, keys, joint_tail = 0, "", tail
    for flag, body, own in batched:
        start, end = len(before), len(own) - len(after)
        value = own[start:end] if is_known and start < end else b""
        if value and own.startswith(before) and own.endswith(after) and _SEPARATOR_BYTE not in value:
            try:
                unique_key = value.decode()
            except UnicodeDecodeError:
                unique_key = java_text(value)
        else:
            joint_tail = tail if not own or own.endswith(_SEPARATOR) else _SEPARATOR + tail
            tags_code, keys, unique_key = dispatched_fields(decode_properties(java_text(own + joint_tail)))
            is_known, before, after = _around_unique_key(own, joint_tail, unique_key)
        members.append((flag, body, own + joint_tail, tags_code, keys, unique_key))
    return members


def _around_unique_key(own: bytes, tail: bytes, unique_key: str) -> tuple[bool, bytes, bytes]:
    """Return whether the properties around UNIQ_KEY mean the same with another value, and the text before and after it.

    They do if the name is whole and no later property overrides it.
    """
    before, assigned, rest = own.partition(_UNIQUE_KEY_ASSIGNED)
    value, separator, after = rest.partition(_SEPARATOR)
    is_whole = not before or before.endswith(_SEPARATOR)
    is_plain = bool(assigned) and value == unique_key.encode() and _UNIQUE_KEY_ASSIGNED not in after + tail
    return is_whole and is_plain, before + assigned, separator + after
