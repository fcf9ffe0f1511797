"""``make bench BENCH=testkit``: how long the test kit takes to start, empty and stop a broker, and for whole suites.

It is a measurement, not a test: it never fails because of a number, but it does if a broker does not start.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.client import ConsumeConcurrentlyStatus, Message
from engine.testkit import GlassMQ
from tests.benchmarks.document import machine, parse_with_document, publish
from tests.interop.harness.clients import Clients
from tests.interop.harness.glassmq_cluster import cluster_of
from tests.interop.harness.installs import ClientUnavailable
from tests.support.live.kit_clients import consuming, send
from tests.support.waiting import START_POLL_INTERVAL_S, wait_until

_MARK = "make bench testkit"
_ROOT = Path(__file__).parents[2]
_START_DEADLINE_S = 60
_SENDING_SUITE = """
import pytest
from engine.client import Message
from tests.support.live.kit_clients import send

@pytest.mark.parametrize("number", range({count}))
def test_a_message_arrives(glassmq, number):
    send(glassmq, Message("orders", b"1"))
    glassmq.assert_sent("orders", count=1)
"""
_STARTING_SUITE = """
import pytest
from engine.testkit import GlassMQ

@pytest.mark.parametrize("number", range({count}))
def test_a_broker_starts(number):
    with GlassMQ() as glassmq:
        glassmq.create_topic("orders")
"""


def seconds(act: Callable[[], object]) -> float:
    """How long ``act`` takes."""
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def life_cycle(times: int) -> dict[str, float]:
    """Medians of start, reset and stop of a broker that has a message."""
    found: dict[str, list[float]] = {"start in the process of the tests": [], "`reset()`": [], "stop": []}
    for _ in range(times):
        glassmq = GlassMQ()
        starts, resets, stops = found.values()
        starts.append(seconds(glassmq.start))
        send(glassmq, Message("orders", b"1"))
        resets.append(seconds(glassmq.reset))
        stops.append(seconds(glassmq.stop))
    return {name: statistics.median(values) for name, values in found.items()}


def ephemeral_start(folder: Path, times: int) -> float:
    """The median time until ``glassmq serve --ephemeral`` has written its ready file."""
    found = []
    for number in range(times):
        ready = folder / f"ready-{number}.json"
        options = ("serve", "--ephemeral", "--ready-file", str(ready))
        with subprocess.Popen(
            [sys.executable, "-m", "app.command_line", *options], cwd=_ROOT, stdout=subprocess.DEVNULL
        ) as process:
            wait = (ready.exists, "the ready file", _START_DEADLINE_S)
            found.append(seconds(lambda wait=wait: wait_until(*wait, poll_interval_s=START_POLL_INTERVAL_S)))  # type: ignore[misc]
            process.send_signal(signal.SIGTERM)
    return statistics.median(found)


def sixteen_retries() -> float:
    """How long a message takes to its dead letter, with a client of ours."""

    async def work(glassmq: GlassMQ) -> None:
        async def fails(_messages: object, _context: object) -> ConsumeConcurrentlyStatus:
            return ConsumeConcurrentlyStatus.RECONSUME_LATER

        async with consuming(glassmq, "orders", fails):
            await asyncio.to_thread(glassmq.wait_for, "SCHEDULE_TOPIC_XXXX")
            await asyncio.to_thread(glassmq.advance, hours=5)
            await asyncio.to_thread(glassmq.assert_dead_letter, "billing", timeout=30)

    with GlassMQ() as glassmq:
        send(glassmq, Message("orders", b"1"))
        return seconds(lambda: asyncio.run(work(glassmq)))


def sixteen_retries_of(language: str, folder: Path) -> float | None:
    """The same with an unmodified client, once its first call has failed; None where it cannot be had."""
    with GlassMQ() as glassmq:
        send(glassmq, Message("orders", b"1"))
        clients = Clients(cluster_of(glassmq), folder)
        try:
            clients.failing(language, "billing", "orders")
            glassmq.wait_for("SCHEDULE_TOPIC_XXXX", timeout=_START_DEADLINE_S)

            def die() -> None:
                glassmq.advance(hours=5)
                glassmq.assert_dead_letter("billing", timeout=30)

            return seconds(die)
        except ClientUnavailable as missing:
            print(missing, file=sys.stderr)
            return None
        finally:
            clients.stop_all()


def suite(folder: Path, source: str, *options: str) -> float:
    """How long pytest runs a file. Raises if one of its tests fails."""
    (folder / "test_suite.py").write_text(source, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_glassmq", *options]
    command += ["-c", os.devnull, f"--rootdir={folder}", str(folder)]
    return seconds(lambda: subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL))


def main(arguments: list[str]) -> int:
    """Measure all, and print the table."""
    parser = argparse.ArgumentParser(prog=_MARK, description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="starts of which the median is taken (default 20)")
    parser.add_argument("--starts", type=int, default=1_000, help="starts under xdist (default 1,000)")
    parser.add_argument("--workers", type=int, default=8, help="workers of xdist (default 8)")
    options = parse_with_document(parser, arguments, [_MARK])
    with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as name:
        folder = Path(name)
        found = life_cycle(options.rounds)
        found["`glassmq serve --ephemeral`, until its ready file"] = ephemeral_start(folder, 5)
        found["200 tests with a message each, with pytest's own start"] = suite(
            folder, _SENDING_SUITE.format(count=200)
        )
        found["sixteen retries and the dead letter"] = sixteen_retries()
        for language, name in (("cpp", "C++"), ("java", "Java")):
            if (took_s := sixteen_retries_of(language, folder / language)) is not None:
                found[f"the same with the unmodified {name} client"] = took_s
        found[f"{options.starts:,} starts on {options.workers} workers of xdist, no failure"] = suite(
            folder, _STARTING_SUITE.format(count=options.starts), "-p", "xdist", "-n", str(options.workers)
        )
    rows = [f"| {what} | {_shown(took_s)} |" for what, took_s in found.items()]
    table = "\n".join(["| test kit | time |", "|---|---|", *rows, "", f"{machine()}."])
    publish(options.write, _MARK, f"{table}\n")
    return 0


def _shown(took_s: float) -> str:
    return f"{took_s * 1_000:.0f} ms" if took_s < 1 else f"{took_s:.1f} s"
