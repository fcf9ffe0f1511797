"""What fault rules cost: one broker without an interceptor, one without rules, one with a hundred.

python -m tests.benchmarks.fault_rules [ROUNDS] [MESSAGES]

They take turns under load, so that what disturbs the machine disturbs all. Ready-made frames are sent, so that the
broker is what takes the time. The rules are the worst: all name the request that is sent, and none means it.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.request_code import RequestCode
from tests.support.live.glass_process import GlassProcess

RULES = 100
#: Requests that wait for their replies at a time.
_WINDOW = 64
_BODY = b"x" * 128
_INTERCEPTOR = ("--allow-faults",)


def add_rules(page: str) -> None:
    """None of them means what is sent."""
    for start in range(0, RULES, 50):
        commands = [
            {"kind": "fault", "target": "broker-a", "what": "drop", "frame": "SEND_MESSAGE_V2", "topic": f"other-{n}"}
            for n in range(start, start + 50)
        ]
        body = json.dumps({"commands": commands}).encode()
        request = urllib.request.Request(f"{page}api/faults", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=30).close()


def frames(count: int) -> list[bytes]:
    """So many requests that send a message."""
    header = SendMessageRequestHeader(
        "load", "bench", "TBW102", 4, 0, 0, 0, 0, encode_properties({"UNIQ_KEY": "U" * 32})
    )
    command = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, body=_BODY)
    command.ext_fields = header.encode_v2()
    made = []
    for command.opaque in range(count):
        made.append(encode_command(command))
    return made


async def send_all(address: str, load: list[bytes]) -> None:
    """Send all; returns when all are answered."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    answered = asyncio.Semaphore(_WINDOW)

    async def read() -> None:
        for _ in load:
            length = int.from_bytes(await reader.readexactly(4))
            await reader.readexactly(length)
            answered.release()

    reading = asyncio.create_task(read())
    for frame in load:
        await answered.acquire()
        writer.write(frame)
    await reading
    writer.close()


def processor_s(pid: int) -> float:
    """Processor time that the process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(rounds: int = 10, messages: int = 20_000) -> None:
    """Print messages a second and processor time per message, medians, and their parts of the first broker's."""
    load = frames(messages)
    kinds = {"no interceptor": (), "no rule": _INTERCEPTOR, f"{RULES} rules": _INTERCEPTOR}
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    costs: dict[str, list[float]] = {kind: [] for kind in kinds}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        brokers = {
            kind: stack.enter_context(GlassProcess(folder / kind.replace(" ", "-"), *options, page=True))
            for kind, options in kinds.items()
        }
        add_rules(brokers[f"{RULES} rules"].addresses["page"])
        for number in range(rounds + 1):
            for kind in list(kinds)[number % 3 :] + list(kinds)[: number % 3]:
                broker = brokers[kind]
                began_s, worked_s = time.perf_counter(), processor_s(broker.process.pid)
                asyncio.run(send_all(broker.addresses["broker"], load))
                if number:  # the first round warms up
                    rates[kind].append(messages / (time.perf_counter() - began_s))
                    costs[kind].append((processor_s(broker.process.pid) - worked_s) / messages * 1e6)
    for kind in kinds:
        rate, cost = statistics.median(rates[kind]), statistics.median(costs[kind])
        part = statistics.median(one / first for one, first in zip(rates[kind], rates["no interceptor"], strict=True))
        print(f"{kind:>10}: {rate:8,.0f} messages/s, {cost:6.1f} us of processor each, {part:.2f} of the first")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
