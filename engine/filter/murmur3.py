"""The hash function MurmurHash3 of 128 bits in its form for 64-bit machines, seed 0 (Guava: ``Hashing.murmur3_128``).

The algorithm is Austin Appleby's, who placed it in the public domain. Only the first half of the hash is computed,
which is the result of Guava's ``HashCode.asLong``.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFFFFFFFFFF
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F
_BLOCK_BYTES = 16


def murmur3_128_as_long(data: bytes) -> int:
    """Return the first 64 bits of the hash of ``data``, as an unsigned number."""
    first = second = 0
    whole = len(data) - len(data) % _BLOCK_BYTES
    for start in range(0, whole, _BLOCK_BYTES):
        first ^= _mix_first(int.from_bytes(data[start : start + 8], "little"))
        first = (_rotate(first, 27) + second) * 5 + 0x52DCE729 & _MASK
        second ^= _mix_second(int.from_bytes(data[start + 8 : start + 16], "little"))
        second = (_rotate(second, 31) + first) * 5 + 0x38495AB5 & _MASK
    tail = data[whole:]
    second ^= _mix_second(int.from_bytes(tail[8:], "little"))
    first ^= _mix_first(int.from_bytes(tail[:8], "little"))
    first ^= len(data)
    second ^= len(data)
    first = first + second & _MASK
    second = second + first & _MASK
    return _finish(first) + _finish(second) & _MASK


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (64 - bits)) & _MASK


def _mix_first(block: int) -> int:
    return _rotate(block * _C1, 31) * _C2 & _MASK


def _mix_second(block: int) -> int:
    return _rotate(block * _C2, 33) * _C1 & _MASK


def _finish(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
