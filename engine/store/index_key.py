"""The hash of an index key (RocketMQ: ``IndexService.buildKey``, ``IndexFile.indexKeyHashMethod``).

Every message is indexed by its unique id of 32 letters, so this runs once per message. Java's hash is a polynomial
over the letters: the hash of ``a + b`` is ``hash(a) * 31^len(b) + hash(b)``. The last 4 letters of a unique id are a
counter; those before them name the client and the millisecond, so neighbours share them. Their part is kept.
"""

from __future__ import annotations

from functools import lru_cache

from engine.protocol.java_hash import java_string_hash

KEY_SEPARATOR = "#"

_TAIL_LENGTH = 4
_TAIL_FACTOR = 31 * 31 * 31 * 31


def index_key_hash(topic: str, key: str) -> int:
    """``abs(("topic#key").hashCode())``; 0 for the one value whose absolute does not fit an int."""
    tail = key[-_TAIL_LENGTH:]
    if len(tail) == _TAIL_LENGTH and tail.isascii():
        a, b, c, d = tail.encode()
        value: int = (_head_hash(topic, key[:-_TAIL_LENGTH]) + ((a * 31 + b) * 31 + c) * 31 + d) & 0xFFFFFFFF
    else:
        value = java_string_hash(topic + KEY_SEPARATOR + key) & 0xFFFFFFFF
    if value < 0x80000000:
        return value
    return 0x100000000 - value if value != 0x80000000 else 0


@lru_cache(maxsize=4096)
def _head_hash(topic: str, key_head: str) -> int:
    """What the letters before the tail contribute."""
    return (java_string_hash(topic + KEY_SEPARATOR + key_head) & 0xFFFFFFFF) * _TAIL_FACTOR
