"""Makes stored messages of the messages in a batch body (RocketMQ: ``CommitLog.MessageExtEncoder.encode`` for a
``MessageExtBatch``, and what ``checkMessageAndReturnSize`` later finds in them for the dispatcher).

The messages of one batch mostly have the same properties but for the value of UNIQ_KEY. So what stands before and after
that value is read once, and again only where a message differs.
"""

from __future__ import annotations

from collections.abc import Iterable

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

_SEPARATOR = PROPERTY_SEPARATOR.encode()
_UNIQUE_KEY_ASSIGNED = PROPERTY_UNIQUE_KEY + NAME_VALUE_SEPARATOR


def batch_members(batched: Iterable[BatchedMessage], tail: bytes) -> list[BatchMember]:
    """``batched`` with ``tail``, the properties that all of them share, behind their own.

    Raises ``UnicodeDecodeError`` when properties are not UTF-8.
    """
    members: list[BatchMember] = []
    known_around: tuple[str, str, str] | None = None
    tags_code, keys, joint_tail = 0, "", tail
    for flag, body, own in batched:
        text = own.decode()
        before, found, rest = text.partition(_UNIQUE_KEY_ASSIGNED)
        unique_key, separator, after = rest.partition(PROPERTY_SEPARATOR)
        around = (before, separator, after)
        if around != known_around or not unique_key or not found:
            properties = decode_properties(text)
            tags, keys = properties.get(PROPERTY_TAGS, ""), properties.get(PROPERTY_KEYS, "")
            tags_code = java_string_hash(tags) if tags else 0
            joint_tail = tail if not own or own.endswith(_SEPARATOR) else _SEPARATOR + tail
            # Known is what would mean the same around another unique key: the name is whole, and nothing overrides it.
            is_plain = properties.get(PROPERTY_UNIQUE_KEY) == unique_key and _UNIQUE_KEY_ASSIGNED not in after
            is_whole = not before or before.endswith(PROPERTY_SEPARATOR)
            known_around = around if is_plain and is_whole else None
            unique_key = properties.get(PROPERTY_UNIQUE_KEY, "")
        members.append((flag, body, own + joint_tail, tags_code, keys, unique_key))
    return members
