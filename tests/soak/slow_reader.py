"""Readers that ask and never listen: each connection is filled with pulls and no answer is ever read.

python -m tests.soak.slow_reader BROKER CONNECTIONS WAIT_SECONDS

They begin when they have waited, so that there is something to ask for. A connection that the broker cuts is made again
a little later. Runs until SIGTERM, reports every cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys

from engine.protocol.headers import PullMessageRequestHeader
from engine.protocol.remoting_command import RemotingCommand, encode_command
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import pull_system_flag
from tests.soak.reporting import report
from tests.soak.streams import FLOOD, QUEUES

#: Of pulls per connection: each asks for 32 messages of the flood, so the answers are some hundred times as long.
_ASKED_BYTES = 72 * 1024
_AGAIN_S = 5.0


def pulls() -> bytes:
    """The frames of as many pulls as a connection gets."""
    frames = bytearray()
    number = 0
    while len(frames) < _ASKED_BYTES:
        header = PullMessageRequestHeader(
            consumer_group="soak_slow_reader",
            topic=FLOOD.topic,
            queue_id=number % QUEUES,
            queue_offset=0,
            max_msg_nums=32,
            sys_flag=pull_system_flag(commit_offset=False, suspend=False, subscription=True),
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription="*",
            sub_version=1,
            expression_type="TAG",
        )
        frames += encode_command(RemotingCommand.request(RequestCode.PULL_MESSAGE, header))
        number += 1
    return bytes(frames)


async def ask_and_never_read(address: tuple[str, int], frames: bytes) -> None:
    """For ever. What the operating system buffers for a reader is small: the rest is the broker's burden."""
    loop = asyncio.get_running_loop()
    while True:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            await loop.sock_connect(connection, address)
            await loop.sock_sendall(connection, frames)
            while not _is_cut(connection):
                await asyncio.sleep(1)
            report(event="cut")
        except OSError:
            pass  # the broker is away, or has cut the connection while it was written to
        finally:
            connection.close()
        await asyncio.sleep(_AGAIN_S)


def _is_cut(connection: socket.socket) -> bool:
    """Writing nothing says nothing, and nothing may be read: the kernel's state tells (TCP_INFO, 1 is open)."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1


async def main(address: str, count: int, wait_s: float) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    host, _, port = address.rpartition(":")
    frames = pulls()
    report(event="ready")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stopped.wait(), wait_s)
    readers = [asyncio.create_task(ask_and_never_read((host, int(port)), frames)) for _ in range(count)]
    await stopped.wait()
    for reader in readers:
        reader.cancel()
    os._exit(0)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
