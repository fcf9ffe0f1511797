"""Java's ``String.hashCode``: tag filters, the index file and queue selectors depend on its exact value."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def java_string_hash(text: str) -> int:
    """Return the signed 32-bit hash that Java gives ``text``.

    It is ``s[0]*31^(n-1) + ... + s[n-1]`` over UTF-16 units.

        >>> java_string_hash("TagA")
        2598919
    """
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value
