"""Readers that ask and never listen: each connection is filled with pulls and no answer is ever read.

python -m tests.soak.slow_reader NAME_SERVER BROKER CONNECTIONS

Few bytes ask for many: what they ask for is as much as one answer may hold, and they put it there themselves. A
connection that the broker cuts is made again a little later, any other every half minute. Runs until SIGTERM, reports
every cut.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys

from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.command.headers import PullMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.message.message import Message
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import pull_system_flag
from tests.soak.reporting import report
from tests.soak.streams import UNREAD_TOPIC

#: Together a quarter of a mebibyte, which is as much as an answer holds (``maxTransferBytesOnMessageInMemory``).
_MESSAGES, _BODY_BYTES = 32, 8 * 1024
#: Of pulls per connection: some two hundred, so that fifty mebibytes of answers wait for each.
_ASKED_BYTES = 72 * 1024
_AGAIN_S = 5.0
#: A reader that takes nothing does not notice the broker's death either: what was sent comes before the close.
_SECONDS_PER_CONNECTION = 30


def pulls() -> bytes:
    """The frames of as many pulls as a connection gets."""
    header = PullMessageRequestHeader(
        consumer_group="soak_slow_reader",
        topic=UNREAD_TOPIC,
        queue_id=0,
        queue_offset=0,
        max_msg_nums=_MESSAGES,
        sys_flag=pull_system_flag(commit_offset=False, suspend=False, subscription=True),
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription="*",
        sub_version=1,
        expression_type="TAG",
    )
    frame = encode_command(RemotingCommand.request(RequestCode.PULL_MESSAGE, header))
    return frame * (_ASKED_BYTES // len(frame))


async def put_something_there(name_server: str) -> None:
    """As many messages as one answer holds."""
    async with DefaultMQProducer(
        group="soak_slow_reader", name_server_addresses=name_server, compress_msg_body_over_howmuch=1 << 20
    ) as producer:
        route = await producer.fetch_publish_message_queues(UNREAD_TOPIC)
        for number in range(_MESSAGES):
            await producer.send(Message(UNREAD_TOPIC, b"x" * _BODY_BYTES, keys=str(number)), queue=route[0])


async def ask_and_never_read(address: tuple[str, int], frames: bytes) -> None:
    """Send requests and never read, forever. What the operating system buffers for a reader is small: the rest is the
    broker's burden.
    """
    loop = asyncio.get_running_loop()
    while True:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            await loop.sock_connect(connection, address)
            await loop.sock_sendall(connection, frames)
            for _ in range(_SECONDS_PER_CONNECTION):
                await asyncio.sleep(1)
                if _is_cut(connection):
                    report(event="cut")
                    break
        except OSError:
            pass  # the broker is away, or has cut the connection while it was written to
        finally:
            connection.close()
        await asyncio.sleep(_AGAIN_S)


def _is_cut(connection: socket.socket) -> bool:
    """Writing nothing says nothing, and nothing may be read: the kernel's state tells (TCP_INFO, 1 is open)."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1


async def main(name_server: str, address: str, count: int) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    host, _, port = address.rpartition(":")
    frames = pulls()
    report(event="ready")
    await put_something_there(name_server)
    readers = [asyncio.create_task(ask_and_never_read((host, int(port)), frames)) for _ in range(count)]
    await stopped.wait()
    for reader in readers:
        reader.cancel()
    os._exit(0)


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
