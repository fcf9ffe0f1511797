"""The hash of an index key (RocketMQ: ``IndexService.buildKey``, ``IndexFile.indexKeyHashMethod``).

Every message is indexed by its unique id of 32 letters, so this runs once per message. Java's hash is a polynomial over
the letters: the hash of ``a + b`` is ``hash(a) * 31^len(b) + hash(b)``. The last 4 letters of a unique id are a
counter; those before them name the client and the millisecond, so consecutive ids share them, and the hash of that part
is cached. Consecutive ids in a batch mostly differ in their last letter only: their hashes differ by the same amount.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from engine.protocol.java_hash import java_string_hash

KEY_SEPARATOR: Final = "#"

_TAIL_LENGTH: Final = 4
_TAIL_FACTOR: Final = 31 * 31 * 31 * 31


def index_key_hash(topic: str, key: str) -> int:
    """Return ``abs(("topic#key").hashCode())``; 0 for the one value whose absolute does not fit an int."""
    return absolute_hash(index_key_hash_code(topic, key))


def index_key_hash_code(topic: str, key: str) -> int:
    """Return ``("topic#key").hashCode()`` modulo 2^32."""
    tail = key[-_TAIL_LENGTH:]
    if len(tail) == _TAIL_LENGTH and tail.isascii():
        a, b, c, d = tail.encode()
        value: int = (_head_hash(topic, key[:-_TAIL_LENGTH]) + ((a * 31 + b) * 31 + c) * 31 + d) & 0xFFFFFFFF
        return value
    return java_string_hash(topic + KEY_SEPARATOR + key) & 0xFFFFFFFF


def absolute_hash(hash_code: int) -> int:
    """Return ``Math.abs`` of a hash code (modulo 2^32); 0 for the one whose absolute does not fit an int."""
    if hash_code < 0x80000000:
        return hash_code
    return 0x100000000 - hash_code if hash_code != 0x80000000 else 0


class IndexKeyHasher:
    """Computes :func:`index_key_hash` of successive keys; fast if a key differs from the last in one letter only."""

    __slots__ = ("_hash_before_last", "_start", "_topic")

    def __init__(self) -> None:
        self._topic: str | None = None
        self._start = ""
        self._hash_before_last = 0

    def hash_of(self, topic: str, key: str) -> int:
        """Return the hash of ``key``, which is not empty."""
        last = ord(key[-1])
        if last > 0xFFFF:  # two letters in Java
            return index_key_hash(topic, key)
        if len(key) != len(self._start) + 1 or not key.startswith(self._start) or topic != self._topic:
            self._topic, self._start = topic, key[:-1]
            self._hash_before_last = index_key_hash_code(topic, key) - last
        return absolute_hash((self._hash_before_last + last) & 0xFFFFFFFF)


@lru_cache(maxsize=4096)
def _head_hash(topic: str, key_head: str) -> int:
    """Return the contribution of the letters before the tail."""
    return (java_string_hash(topic + KEY_SEPARATOR + key_head) & 0xFFFFFFFF) * _TAIL_FACTOR
