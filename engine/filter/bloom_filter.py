"""Bloom filters: one bit map per message that shows which groups' filters may match it (RocketMQ: ``BloomFilter``,
``BloomFilterData``, ``BitsArray``).

Each group of a topic has a few bit positions, derived from its name. When a message is dispatched, the bits of all
groups whose expression is true are set. A pull then only checks its group's bits: if one of them is 0, the group's
filter certainly does not match the message, which need not be read; if all are 1, it matches, or other groups' bits
happen to cover its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.filter.murmur3 import murmur3_128_as_long
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_fields import get_integer, get_list

_BITS_PER_BYTE = 8
#: The maximum number of positions, more than any error rate needs (1 % needs 7).
_POSITIONS_MAX = 64
#: The maximum width, so that a map always fits into a unit, whose length has 16 bits, and into the smallest file that
#: units may have.
_MAP_BYTES_MAX = 4_000


@dataclass(frozen=True, slots=True)
class BloomFilterData:
    """The positions of one group, and the width of the map."""

    bit_num: int
    bit_pos: tuple[int, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object in ``consumerFilter.json``."""
        return {"bitNum": self.bit_num, "bitPos": list(self.bit_pos)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> BloomFilterData:
        """Read the JSON object. Raises ``MalformedBody``."""
        return cls(get_integer(fields, "bitNum"), get_list(fields, "bitPos", _position, at_most=_POSITIONS_MAX))


def _position(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise MalformedBody(f"a bit position is {value!r}; allowed: whole numbers")


class BloomFilter:
    """The sizes and the hash function of bit maps.

    :param max_error_rate: how many of a hundred messages that do not match may pass, 1 to 99.
    :param expected_groups: how many groups may set their bits in one map before the rate grows.
    :ivar hash_count: positions per group.
    :ivar bit_count: width of a map, a multiple of 8.

    >>> small = BloomFilter(20, 32)
    >>> small.bit_count, small.hash_count
    (112, 3)
    """

    def __init__(self, max_error_rate: int, expected_groups: int) -> None:
        if not 1 <= max_error_rate < 100:
            raise ValueError(f"an error rate of {max_error_rate} %; allowed: 1 to 99")
        if expected_groups < 1:
            raise ValueError(f"{expected_groups} expected groups; allowed: at least 1")
        error_rate = max_error_rate / 100
        self.hash_count = math.ceil(math.log(error_rate) / math.log(0.5))
        bits = math.ceil(expected_groups * math.log(1 / error_rate) / math.log(2) / math.log(2))
        self.bit_count = math.ceil(bits / _BITS_PER_BYTE) * _BITS_PER_BYTE
        if self.bit_count > _MAP_BYTES_MAX * _BITS_PER_BYTE:
            size = f"{self.bit_count // _BITS_PER_BYTE} bytes for {expected_groups} groups at {max_error_rate} %"
            raise ValueError(f"a map would have {size}; allowed: at most {_MAP_BYTES_MAX} bytes")

    def positions(self, name: str) -> tuple[int, ...]:
        """Return the bits of ``name``; two may be equal. Both halves of one hash replace all the hash functions."""
        hash64 = murmur3_128_as_long(name.encode())
        low, high = hash64 & 0xFFFFFFFF, hash64 >> 32
        positions = []
        for number in range(1, self.hash_count + 1):
            combined = low + number * high & 0xFFFFFFFF
            # A negative Java int has all its bits flipped.
            positions.append((combined if combined < 1 << 31 else combined ^ 0xFFFFFFFF) % self.bit_count)
        return tuple(positions)

    def generate(self, name: str) -> BloomFilterData:
        """Return the positions of ``name`` with the width of the map."""
        return BloomFilterData(self.bit_count, self.positions(name))

    def is_valid(self, data: BloomFilterData | None) -> bool:
        """Return True if ``data`` was made with these sizes."""
        return (
            data is not None
            and data.bit_num == self.bit_count
            and len(data.bit_pos) == self.hash_count
            and all(0 <= position < self.bit_count for position in data.bit_pos)
        )

    def empty_map(self) -> bytearray:
        """Return a map without any bits set."""
        return bytearray(self.bit_count // _BITS_PER_BYTE)

    def is_map(self, bit_map: bytes) -> bool:
        """Return True if ``bit_map`` has the width of this filter."""
        return len(bit_map) * _BITS_PER_BYTE == self.bit_count


def set_bits(bit_map: bytearray, data: BloomFilterData) -> None:
    """Set the bits of a group whose filter matches the message."""
    for position in data.bit_pos:
        bit_map[position // _BITS_PER_BYTE] |= 1 << position % _BITS_PER_BYTE


def may_want(bit_map: bytes | bytearray, data: BloomFilterData) -> bool:
    """Return False if the group's filter certainly does not match the message."""
    return all(bit_map[position // _BITS_PER_BYTE] >> position % _BITS_PER_BYTE & 1 for position in data.bit_pos)
