"""White addresses, from which requests are accepted without a signature (RocketMQ: ``RemoteAddressStrategyFactory``).

======================  ====================================================
``*``                   every address
``192.168.1.10``        one address; IPv6 as well
``10.0.0.1,10.0.0.2``   several
``192.168.1.{1,2,9}``   several that differ in the last part
``192.168.*.*``         ranges: each part is a number, ``*`` or ``from-to``
``2::ac5:78:1-200:*``   the same for IPv6, hexadecimal
======================  ====================================================

Stricter than RocketMQ in one point: RocketMQ ignores the parts after the first range of an IPv4 address, so there
``192.168.*.5`` also matches ``192.168.7.9``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from engine.acl.errors import BadAccessConfig

_EVERY_ADDRESS = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")
_LAST_PART_LIST = re.compile(r"(?P<head>.*[.:])\{(?P<parts>[^{}]*)\}")
_RANGE = re.compile(r"(?P<low>[0-9A-Fa-f]{1,4})(?:-(?P<high>[0-9A-Fa-f]{1,4}))?")

#: The lowest and highest value of each part: 4 of an IPv4 address, 8 of an IPv6 one.
_Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class RemoteAddressPattern:
    """A parsed white address. With empty ``ranges`` it matches nothing, or everything if ``is_any``."""

    text: str
    is_any: bool = False
    ranges: tuple[_Ranges, ...] = ()

    def matches(self, ip: str) -> bool:
        """Return whether ``ip`` (without port) matches."""
        if self.is_any:
            return True
        if not self.ranges:
            return False
        parts = _parts_of(ip)
        return any(
            len(ranges) == len(parts)
            and all(low <= part <= high for part, (low, high) in zip(parts, ranges, strict=True))
            for ranges in self.ranges
        )


def parse_remote_address(text: str) -> RemoteAddressPattern:
    """Parse one white address; a blank one matches nothing. Raises :class:`BadAccessConfig`."""
    text = text.strip()
    if not text:
        return RemoteAddressPattern(text)
    if text in _EVERY_ADDRESS:
        return RemoteAddressPattern(text, is_any=True)
    return RemoteAddressPattern(text, ranges=tuple(_parse_ranges(single, text) for single in _singles(text)))


def _singles(text: str) -> Iterator[str]:
    found = _LAST_PART_LIST.fullmatch(text)
    if found is not None:
        yield from (found["head"] + part.strip() for part in found["parts"].split(","))
    else:
        yield from (part.strip() for part in text.split(","))


def _parse_ranges(single: str, whole: str) -> _Ranges:
    try:
        if ":" in single:
            return tuple(_parse_range(part, 0xFFFF, 16) for part in _ipv6_parts(single))
        ranges = tuple(_parse_range(part, 255, 10) for part in single.split("."))
        if len(ranges) != 4:
            raise ValueError
    except ValueError:
        raise BadAccessConfig(
            f"{whole[:80]!r} is not a white address; allowed: an IP address, several joined by commas, "
            "192.168.1.{1,2}, 192.168.*.*, 192.168.1-10.*, and *"
        ) from None
    return ranges


def _ipv6_parts(text: str) -> list[str]:
    """Return the 8 parts of an IPv6 address, with ``::`` filled with zeros."""
    head, gap, tail = text.partition("::")
    before, after = [part.split(":") if part else [] for part in (head, tail)]
    parts = [*before, *["0"] * (8 - len(before) - len(after)), *after] if gap else before
    if len(parts) != 8:
        raise ValueError
    return parts


def _parse_range(text: str, highest: int, base: int) -> tuple[int, int]:
    if text == "*":
        return 0, highest
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError
    low = int(found["low"], base)
    high = int(found["high"] or found["low"], base)
    if not low <= high <= highest:
        raise ValueError
    return low, high


@lru_cache(maxsize=4_096)
def _parts_of(ip: str) -> tuple[int, ...]:
    """Return the parts of an address as numbers; () if it is not an address."""
    try:
        address = ipaddress.ip_address(ip.strip("[]").partition("%")[0])
    except ValueError:
        return ()
    packed = address.packed
    if address.version == 4:
        return tuple(packed)
    return tuple(int.from_bytes(packed[at : at + 2]) for at in range(0, 16, 2))
