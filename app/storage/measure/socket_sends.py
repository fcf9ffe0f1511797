"""Three ways to send a file to a socket. They are alternatives.

``read+send``
    The processor copies each byte twice: page cache to the program's memory, and from there to the socket's buffer.
``mmap+send``
    The program's memory *is* the page cache: one copy, to the socket's buffer. Pages that were not touched before cost
    a page fault. RocketMQ maps its files and, with ``transferMsgByHeap`` false, writes from there; by default it copies
    messages to the heap first.
``sendfile``
    The program never sees the bytes: the socket's buffer refers to the page cache. Kafka sends this way (not with TLS).

The other end is a thread of this process on the loopback; what it copies to receive is not counted.
"""

from __future__ import annotations

import mmap
import os
import socket
import threading
import time
from typing import NamedTuple

WAYS = ("read+send", "mmap+send", "sendfile")
CHUNKS_BYTES = (4_096, 65_536, 1_048_576)
#: How often the processor copies each byte into or out of the sender's memory.
COPIES = {"read+send": 2, "mmap+send": 1, "sendfile": 0}

_RECEIVE_BYTES = 1_048_576


class SendSample(NamedTuple):
    """The figures of one round; see :class:`app.storage.measure.result.SendFigures`."""

    bytes_per_s: float
    calls: int
    user_ms: float
    system_ms: float
    page_faults: int


def send_whole(descriptor: int, size_bytes: int, chunk_bytes: int, way: str) -> SendSample:
    """Send the file once, and wait until the other end has all of it."""
    import resource  # not in a browser

    sender, receiver = _connected_sockets()
    draining = threading.Thread(target=_drain, args=(receiver, size_bytes), name="receiver")
    draining.start()
    try:
        before = resource.getrusage(resource.RUSAGE_THREAD)
        began = time.perf_counter()
        calls = _SENDERS[way](sender, descriptor, size_bytes, chunk_bytes)
        after = resource.getrusage(resource.RUSAGE_THREAD)
        draining.join()
        took_s = time.perf_counter() - began
    finally:
        sender.close()
        receiver.close()
        draining.join()
    return SendSample(
        size_bytes / took_s,
        calls,
        (after.ru_utime - before.ru_utime) * 1_000,
        (after.ru_stime - before.ru_stime) * 1_000,
        after.ru_minflt - before.ru_minflt + after.ru_majflt - before.ru_majflt,
    )


def _connected_sockets() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        receiver, _ = listener.accept()
    return sender, receiver


def _drain(receiver: socket.socket, size_bytes: int) -> None:
    buffer = bytearray(_RECEIVE_BYTES)
    while size_bytes > 0 and (received := receiver.recv_into(buffer)):
        size_bytes -= received


def _read_and_send(sender: socket.socket, descriptor: int, size_bytes: int, chunk_bytes: int) -> int:
    calls = 0
    buffer = bytearray(chunk_bytes)
    for position in range(0, size_bytes, chunk_bytes):
        length = os.preadv(descriptor, [buffer], position)
        calls += 1 + _send_all(sender, memoryview(buffer)[:length])
    return calls


def _map_and_send(sender: socket.socket, descriptor: int, size_bytes: int, chunk_bytes: int) -> int:
    calls = 2  # map and unmap
    with mmap.mmap(descriptor, size_bytes, prot=mmap.PROT_READ) as mapping, memoryview(mapping) as view:
        for position in range(0, size_bytes, chunk_bytes):
            with view[position : position + chunk_bytes] as chunk:
                calls += _send_all(sender, chunk)
    return calls


def _send_file(sender: socket.socket, descriptor: int, size_bytes: int, chunk_bytes: int) -> int:
    calls = position = 0
    while position < size_bytes:
        position += os.sendfile(sender.fileno(), descriptor, position, min(chunk_bytes, size_bytes - position))
        calls += 1
    return calls


def _send_all(sender: socket.socket, chunk: memoryview) -> int:
    calls = sent = 0
    while sent < len(chunk):
        with chunk[sent:] as rest:
            sent += sender.send(rest)
        calls += 1
    return calls


_SENDERS = {"read+send": _read_and_send, "mmap+send": _map_and_send, "sendfile": _send_file}
