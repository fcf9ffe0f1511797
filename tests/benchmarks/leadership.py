"""``make bench BENCH=leadership``: how busy a machine may be before a group of three brokers loses its leader.

Three members run on this machine, four senders send one message after the other, and next to them as many processes are
busy as a row of the table says: three of four count, the fourth writes to the same disk and flushes. Each row lasts
``--seconds``; an election in it is one that nothing but the machine's business has caused. It is a measurement, not a
test: it never fails because of a number.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.client.callbacks.send_result import SendStatus
from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.message.message import Message
from tests.benchmarks.document import machine, parse_with_document, publish
from tests.support.live.group_processes import GroupProcesses

_MARK = "make bench leadership"
_LEVELS = "0,4,8,12,16,24"
_LEVEL_MAX = 64
_SENDERS = 4
#: The first second of a row, in which its processes begin, is not counted.
_SETTLE_S = 1.0
#: In which an election that has begun comes to its end.
_ELECTION_S = 4.0
_COUNT = "while True: pass"
_WRITE = """
import os
file = open("{0}", "wb", buffering=0)
while True:
    file.seek(0)
    file.write(bytes(16 << 20))
    os.fsync(file.fileno())
"""


@dataclass(frozen=True)
class Row:
    """:ivar busy: busy processes in addition to the group."""

    busy: int
    load_average: float
    acknowledged_per_second: float
    longest_gap_s: float
    elections: int


@contextmanager
def busy_processes(count: int, folder: Path) -> Iterator[None]:
    """So many processes that count, or write to ``folder``, until this is left."""
    programs = [_WRITE.format(folder / f"busy-{number}") if number % 4 == 3 else _COUNT for number in range(count)]
    processes = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


async def send_for(producer: DefaultMQProducer, seconds: float) -> list[float]:
    """When each message was acknowledged, in order."""
    times_s: list[float] = []
    end_s = time.monotonic() + seconds

    async def send() -> None:
        while time.monotonic() < end_s:
            try:
                result = await producer.send(Message("T", bytes(128)))
            except MQClientError:
                await asyncio.sleep(0.05)
            else:
                if result.status is SendStatus.SEND_OK:
                    times_s.append(time.monotonic())

    await asyncio.gather(*(send() for _ in range(_SENDERS)))
    return times_s


async def measure(group: GroupProcesses, folder: Path, levels: list[int], seconds: float) -> list[Row]:
    """A row for each level, in this order."""
    producer = DefaultMQProducer(
        group="bench", name_server_addresses=group.name_servers, poll_name_server_interval_ms=300
    )
    rows = []
    async with producer:
        await send_for(producer, _SETTLE_S)
        for busy in levels:
            term, _ = group.leadership()
            with busy_processes(busy, folder):
                await send_for(producer, _SETTLE_S)
                began_s = time.monotonic()
                times_s = [began_s, *await send_for(producer, seconds), time.monotonic()]
            await asyncio.sleep(_ELECTION_S)
            later_term, _ = group.leadership()
            gap_s = max(later - earlier for earlier, later in itertools.pairwise(times_s))
            rate = (len(times_s) - 2) / (times_s[-1] - began_s)
            rows.append(Row(busy, os.getloadavg()[0], rate, gap_s, later_term - term))
    return rows


def table(rows: list[Row], seconds: float, reasons: list[str]) -> str:
    """As Markdown, with what it says in a sentence, and why leaders have stepped down."""
    kept = [row.busy for row in rows if not any(other.elections for other in rows if other.busy <= row.busy)]
    lines = [
        f"{machine([row.load_average for row in rows])}; {seconds:g} s each.",
        "",
        "| other busy processes | load average (1 min) | acknowledged/s | longest time without | elections |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.busy} | {row.load_average:.1f} | {row.acknowledged_per_second:,.0f} | {row.longest_gap_s:.2f} s "
        f"| {row.elections} |"
        for row in rows
    ]
    verdict = f"with up to {max(kept)} other busy processes" if kept else "at none of these"
    lines += ["", f"The group kept its leader {verdict}.", *[f"- {reason}" for reason in reasons]]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Measure, print the table, write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", default=_LEVELS, help=f"busy processes, row by row (default {_LEVELS})")
    parser.add_argument("--seconds", type=float, default=15, help="for which each row is measured (default 15)")
    options = parse_with_document(parser, arguments, [_MARK])
    try:
        levels = [int(text) for text in options.levels.split(",")]
    except ValueError:
        levels = [-1]
    if not all(0 <= level <= _LEVEL_MAX for level in levels):
        parser.error(f"--levels: whole numbers from 0 to {_LEVEL_MAX}, separated by commas")
    if not 1 <= options.seconds <= 600:
        parser.error("--seconds: 1 to 600")
    with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as folder, GroupProcesses(Path(folder)) as group:
        rows = asyncio.run(measure(group, Path(folder), levels, options.seconds))
        lines = [line.strip() for process in group.processes.values() for line in list(process.stderr)]
    reasons = [line for line in lines if "no longer leads" in line]
    publish(options.write, _MARK, table(rows, options.seconds, reasons))
    return 0
