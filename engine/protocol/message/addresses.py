"""Encoding of ``"ip:port"`` as the bytes in stored messages and ids.

| ip: 4 bytes (IPv4) or 16 (IPv6) | port: int32 |
"""

from __future__ import annotations

import ipaddress
import struct
from functools import lru_cache
from typing import Final

from engine.protocol.errors import ProtocolError

_PORT: Final = struct.Struct(">i")


@lru_cache(maxsize=8192)
def encode_host(address: str) -> bytes:
    """Encode ``"ip:port"`` as 8 bytes (IPv4) or 20 (IPv6); brackets around an IPv6 address are allowed.

    Raises :class:`ProtocolError` for anything else. Cached, because a connection encodes the same address throughout.
    """
    ip_text, separator, port_text = address.rpartition(":")
    try:
        if not separator:
            raise ValueError("no port")
        ip = ipaddress.ip_address(ip_text.strip("[]"))
        return ip.packed + _PORT.pack(int(port_text))
    except (ValueError, struct.error) as error:
        raise ProtocolError(f"{address!r} is not an address of the form ip:port ({error})") from error


@lru_cache(maxsize=8192)
def decode_host(data: bytes) -> str:
    """Decode 8 or 20 bytes as ``"ip:port"`` (an IPv6 address is in brackets)."""
    ip = ipaddress.ip_address(data[:-4])
    port = _PORT.unpack(data[-4:])[0]
    return f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}"
