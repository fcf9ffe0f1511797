"""Conversion of hosts and message ids of many messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.protocol.message.addresses import decode_host

#: Byte -> its two upper-case hex digits, in memory order.
_HEX_DIGITS = np.frombuffer("".join(f"{byte:02X}" for byte in range(256)).encode(), np.uint16)


def hosts_as_text(hosts: npt.NDArray[np.void]) -> Any:
    """Return ``host:port`` of stored hosts (8 or 20 bytes each) as a string array.

    Each distinct host is converted only once: a topic has few senders.
    """
    raw = _as_bytes(hosts)
    width = raw.shape[1]
    values = pa.Array.from_buffers(pa.binary(width), len(hosts), [None, pa.py_buffer(raw)]).dictionary_encode()
    texts = pa.array([decode_host(host) for host in values.dictionary.to_pylist()], pa.string())
    return texts.take(values.indices)


def message_ids(store_hosts: npt.NDArray[np.void], commit_log_offsets: npt.NDArray[Any]) -> Any:
    """Return upper-case hex digits of host and offset (RocketMQ: ``offsetMsgId``) as a string array."""
    offsets = np.ascontiguousarray(commit_log_offsets, ">i8").view(np.uint8).reshape(-1, 8)
    raw = np.concatenate([_as_bytes(store_hosts), offsets], axis=1)
    digits = _HEX_DIGITS[raw]
    ends = np.arange(len(raw) + 1, dtype=np.int32) * (2 * raw.shape[1])
    return pa.Array.from_buffers(pa.string(), len(raw), [None, pa.py_buffer(ends), pa.py_buffer(digits)])


def _as_bytes(values: npt.NDArray[np.void]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.dtype.itemsize)
