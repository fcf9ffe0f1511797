"""The two ids of a message.

*Offset id* (``MessageId``, made by the broker): the message's address.

    | ip: 4 or 16 bytes | port: int32 | physical offset: int64 |        as 32 or 56 upper-case hex digits

*Unique id* (``MessageClientIDSetter``, made by the client; the ``UNIQ_KEY`` property): which message it is.

    | ip: 4 or 16 | process id: int16 | instance hash: int32 | ms since start of month: int32 | counter: int16 |
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from engine.protocol.errors import ProtocolError
from engine.protocol.message.addresses import decode_host, encode_host

_OFFSET: Final = struct.Struct(">q")
_UNIQUE_PREFIX: Final = struct.Struct(">HI")
_UNIQUE_TAIL: Final = struct.Struct(">IH")
_IPV4_ID_LENGTH: Final = 32
_IPV6_ID_LENGTH: Final = 56


def encode_offset_message_id(host: str, commit_log_offset: int) -> str:
    """Encode the offset id of the message at ``commit_log_offset`` of the broker at ``host`` (``"ip:port"``)."""
    return (encode_host(host) + _OFFSET.pack(commit_log_offset)).hex().upper()


def decode_offset_message_id(message_id: str) -> tuple[str, int]:
    """Decode an offset id to ``("ip:port", commit-log offset)``. Raises :class:`ProtocolError`."""
    if len(message_id) not in (_IPV4_ID_LENGTH, _IPV6_ID_LENGTH):
        raise ProtocolError(f"an offset message id has 32 or 56 hex digits, got {len(message_id)} characters")
    try:
        data = bytes.fromhex(message_id)
    except ValueError as error:
        raise ProtocolError(f"{message_id!r} is not hexadecimal") from error
    if len(data) * 2 != len(message_id):
        raise ProtocolError(f"{message_id!r} is not hexadecimal")
    return decode_host(data[:-8]), _OFFSET.unpack(data[-8:])[0]


def place_of(offset_message_id: str) -> tuple[str, int]:
    """Return the broker's address and the commit-log offset; ``("", -1)`` if the text is not an offset message id."""
    try:
        return decode_offset_message_id(offset_message_id)
    except (ProtocolError, ValueError):
        return "", -1


def client_of_unique_id(unique_id: str) -> str:
    """Return the beginning of a unique id, which all ids of one client share: ip, process id, instance hash."""
    return unique_id[: -2 * _UNIQUE_TAIL.size]


def client_name(client: str) -> str:
    """Return what :func:`client_of_unique_id` returned as ``"ip@process id#instance hash"``; the process id is modulo
    65,536. Anything else is returned as it is.
    """
    try:
        data = bytes.fromhex(client)
        ip = ipaddress.ip_address(data[: -_UNIQUE_PREFIX.size])
    except ValueError:
        return client
    process_id, instance_hash = _UNIQUE_PREFIX.unpack(data[-_UNIQUE_PREFIX.size :])
    return f"{ip}@{process_id}#{instance_hash:08x}"


class UniqueIdGenerator:
    """A generator of unique ids for the messages of one client process.

    :param host_ip: the client's IP address.
    :param process_id: its process id; the low 16 bits are used.
    :param instance_hash: 32 bits that distinguish two clients of one process.
    :param now_ms: the clock, milliseconds since 1970.
    """

    def __init__(self, host_ip: str, process_id: int, instance_hash: int, now_ms: Callable[[], int]) -> None:
        self._prefix = ipaddress.ip_address(host_ip).packed + _UNIQUE_PREFIX.pack(
            process_id & 0xFFFF, instance_hash & 0xFFFFFFFF
        )
        self._now_ms = now_ms
        self._counter = 0
        self._month_start_ms = 0
        self._next_month_ms = 0

    def next(self) -> str:
        """Return a new id: 32 (IPv4) or 56 (IPv6) upper-case hex digits."""
        now_ms = self._now_ms()
        if not self._month_start_ms <= now_ms < self._next_month_ms:
            self._enter_month(now_ms)
        elapsed_ms = now_ms - self._month_start_ms
        self._counter = (self._counter + 1) & 0xFFFF
        return (self._prefix + _UNIQUE_TAIL.pack(elapsed_ms & 0xFFFFFFFF, self._counter)).hex().upper()

    def _enter_month(self, now_ms: int) -> None:
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        start = datetime(now.year, now.month, 1, tzinfo=UTC)
        following = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
        self._month_start_ms = int(start.timestamp() * 1000)
        self._next_month_ms = int(following.timestamp() * 1000)
