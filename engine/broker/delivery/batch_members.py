"""Makes stored messages of the messages in a batch body (RocketMQ: ``CommitLog.MessageExtEncoder.encode`` for a
``MessageExtBatch``, and what ``checkMessageAndReturnSize`` later finds in them for the dispatcher).

The messages of one batch mostly have the same properties but for the value of UNIQ_KEY. So what stands before and after
that value is read once, and again only where a message differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.batch_codec import BatchedMessage
from engine.protocol.message.message_properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_KEYS,
    PROPERTY_SEPARATOR,
    PROPERTY_TAGS,
    PROPERTY_UNIQUE_KEY,
    decode_properties,
)
from engine.store.log.store_batch import BatchMember

_SEPARATOR: Final = PROPERTY_SEPARATOR.encode()
#: Python finds a byte in bytes much faster than bytes in bytes.
_SEPARATOR_BYTE: Final = _SEPARATOR[0]
_UNIQUE_KEY_ASSIGNED: Final = (PROPERTY_UNIQUE_KEY + NAME_VALUE_SEPARATOR).encode()


def batch_members(batched: Iterable[BatchedMessage], tail: bytes) -> list[BatchMember]:
    """``batched`` with ``tail``, the properties that all of them share, behind their own.

    Raises ``UnicodeDecodeError`` when properties are not UTF-8.
    """
    members: list[BatchMember] = []
    is_known, before, after = False, b"", b""
    tags_code, keys, joint_tail = 0, "", tail
    for flag, body, own in batched:
        start, end = len(before), len(own) - len(after)
        value = own[start:end] if is_known and start < end else b""
        if value and own.startswith(before) and own.endswith(after) and _SEPARATOR_BYTE not in value:
            unique_key = value.decode()
        else:
            properties = decode_properties(own.decode())
            tags, keys = properties.get(PROPERTY_TAGS, ""), properties.get(PROPERTY_KEYS, "")
            unique_key = properties.get(PROPERTY_UNIQUE_KEY, "")
            tags_code = java_string_hash(tags) if tags else 0
            joint_tail = tail if not own or own.endswith(_SEPARATOR) else _SEPARATOR + tail
            is_known, before, after = _around_unique_key(own, unique_key)
        members.append((flag, body, own + joint_tail, tags_code, keys, unique_key))
    return members


def _around_unique_key(own: bytes, unique_key: str) -> tuple[bool, bytes, bytes]:
    """What stands before and after the value of UNIQ_KEY in a message's properties, and whether it would mean the same
    around another one: the name is whole, and nothing overrides it.
    """
    before, assigned, rest = own.partition(_UNIQUE_KEY_ASSIGNED)
    value, separator, after = rest.partition(_SEPARATOR)
    is_whole = not before or before.endswith(_SEPARATOR)
    is_plain = bool(assigned) and value == unique_key.encode() and _UNIQUE_KEY_ASSIGNED not in after
    return is_whole and is_plain, before + assigned, separator + after
