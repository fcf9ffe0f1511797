"""A producer without manners: as many sends as the connection takes, none waiting for an answer of the one before.

python -m tests.soak.flood BROKER MESSAGES EVERY_SECONDS

Sends a burst at every full interval until SIGTERM (SIGUSR1 ends the bursts), each on a connection of its own, and
reports of each burst which numbers were acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import struct
import sys
import time

from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand, decode_command, encode_command
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.request_code import RequestCode
from tests.soak.reporting import report
from tests.soak.streams import FLOOD, QUEUES

_BODY = b"x" * 100
#: A burst that is not answered in this time is over; the broker may have been killed.
_ANSWERS_DEADLINE_S = 60.0
_FRAMES_PER_WRITE = 200


def frame_of(number: int) -> bytes:
    """The send of message ``number``, its number being the request's too."""
    header = SendMessageRequestHeader(
        producer_group="soak_flood",
        topic=FLOOD.topic,
        default_topic="TBW102",
        default_topic_queue_nums=QUEUES,
        queue_id=number % QUEUES,
        sys_flag=0,
        born_timestamp=int(time.time() * 1000),
        flag=0,
        properties=encode_properties({"number": str(number)}),
    )
    request = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, body=_BODY)
    request.ext_fields = header.encode_v2()
    request.opaque = number
    return encode_command(request)


async def burst(address: str, first: int, count: int) -> tuple[list[int], float]:
    """Send ``count`` messages; the numbers that were acknowledged, and how long all took."""
    host, _, port = address.rpartition(":")
    begun = time.monotonic()
    acknowledged: list[int] = []
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return acknowledged, 0.0
    answers = asyncio.create_task(_read_answers(reader, count, acknowledged))
    try:
        async with asyncio.timeout(_ANSWERS_DEADLINE_S):
            for start in range(first, first + count, _FRAMES_PER_WRITE):
                stop = min(start + _FRAMES_PER_WRITE, first + count)
                writer.write(b"".join(frame_of(number) for number in range(start, stop)))
                await writer.drain()
            await answers
    except (OSError, TimeoutError):
        answers.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await answers
    writer.close()
    return acknowledged, time.monotonic() - begun


async def _read_answers(reader: asyncio.StreamReader, count: int, acknowledged: list[int]) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, ProtocolError):
        for _ in range(count):
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            reply = decode_command(await reader.readexactly(length))
            if reply.code == 0:
                acknowledged.append(reply.opaque)


def runs_of(numbers: list[int]) -> list[list[int]]:
    """Return ``[first, the number after the last]`` of each unbroken run."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, number + 1])
    return runs


async def main(address: str, count: int, every_s: float) -> None:
    ended, stopped = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    loop.add_signal_handler(signal.SIGUSR1, ended.set)
    report(event="ready")
    first = 0
    while not ended.is_set() and not stopped.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), every_s)
            break
        if ended.is_set():
            break
        acknowledged, seconds = await burst(address, first, count)
        report(event="burst", stream=FLOOD.name, runs=runs_of(acknowledged), sent=count, seconds=round(seconds, 3))
        first += count
    await stopped.wait()
    os._exit(0)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
