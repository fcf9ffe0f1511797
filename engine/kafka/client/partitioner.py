"""Choice of a record's partition (Kafka: ``BuiltInPartitioner``): by the hash of its key, or in turn.

Without a key Kafka stays with one partition for a batch's worth of bytes and then draws another at random, weighted by
how quickly the brokers answer. Here the next partition follows, which with one broker gives the same shares.
"""

from __future__ import annotations

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return Kafka's hash of a key, 32 bits unsigned (Kafka: ``Utils.murmur2``, after Austin Appleby's MurmurHash2)."""
    length = len(data)
    value = (_SEED ^ length) & _MASK
    whole = length & ~3
    for start in range(0, whole, 4):
        part = int.from_bytes(data[start : start + 4], "little") * _M & _MASK
        part = (part ^ part >> 24) * _M & _MASK
        value = value * _M & _MASK ^ part
    if whole < length:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    value = (value ^ value >> 13) * _M & _MASK
    return value ^ value >> 15


class Partitioner:
    """Partitioner of one topic with a fixed number of partitions."""

    def __init__(self, partition_count: int, batch_size: int) -> None:
        self._count = partition_count
        self._batch_size = max(1, batch_size)
        self._bytes = 0
        self._sticky = 0

    def choose(self, key: bytes | None, size_bytes: int) -> int:
        """Return the partition for a record of this size."""
        if key is not None:
            # Java makes a hash positive by dropping its sign bit.
            return (murmur2(key) & 0x7FFFFFFF) % self._count
        chosen = self._sticky
        self._bytes += size_bytes
        if self._bytes >= self._batch_size:
            self._bytes = 0
            self._sticky = (chosen + 1) % self._count
        return chosen
