"""The hash of an index key (RocketMQ: ``IndexService.buildKey``, ``IndexFile.indexKeyHashMethod``).

Every message is indexed by its unique id of 32 letters, so this runs once per message. Java's hash is a polynomial
over the letters: the hash of ``a + b`` is ``hash(a) * 31^len(b) + hash(b)``. So the part that repeats (the topic, and
the first letters of a unique id, which name the client) is kept, and the rest is a sum of products, which ``map`` and
``sum`` make without a loop in Python.
"""

from __future__ import annotations

from functools import lru_cache
from operator import mul

from engine.protocol.java_hash import java_string_hash

KEY_SEPARATOR = "#"

#: The last letters of a unique id, which differ from message to message: 8 digits of time, 4 of a counter.
_TAIL_LENGTH = 12
_TAIL_WEIGHTS = tuple(pow(31, exponent, 1 << 32) for exponent in range(_TAIL_LENGTH - 1, -1, -1))
_TAIL_FACTOR = pow(31, _TAIL_LENGTH, 1 << 32)


def index_key_hash(topic: str, key: str) -> int:
    """``abs(("topic#key").hashCode())``; 0 for the one value whose absolute does not fit an int."""
    tail = key[-_TAIL_LENGTH:]
    if len(tail) == _TAIL_LENGTH and tail.isascii():
        value: int = (_head_hash(topic, key[:-_TAIL_LENGTH]) + sum(map(mul, tail.encode(), _TAIL_WEIGHTS))) & 0xFFFFFFFF
    else:
        value = java_string_hash(topic + KEY_SEPARATOR + key) & 0xFFFFFFFF
    if value < 0x80000000:
        return value
    return 0x100000000 - value if value != 0x80000000 else 0


@lru_cache(maxsize=4096)
def _head_hash(topic: str, key_head: str) -> int:
    """What the letters before the tail contribute."""
    return (java_string_hash(topic + KEY_SEPARATOR + key_head) & 0xFFFFFFFF) * _TAIL_FACTOR
