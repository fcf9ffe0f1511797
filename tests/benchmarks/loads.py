"""The loads, and the three programs that can produce them, best first."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.interop.harness.clients import Clients
from tests.interop.harness.installs import ClientUnavailable
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import driver_jars, example_jars

BODY_BYTES = 128
#: Every program prints a line about the last window this often.
WINDOW_S = 10
#: RocketMQ's programs keep ten snapshots, one a second: the mean they print covers the nine seconds between these.
_OWN_PROGRAM_COVERS_S = 9


@dataclass(frozen=True)
class Load:
    """``threads`` senders, each waiting for its acknowledgement; ``batch_size`` 1 means single messages."""

    name: str
    threads: int
    batch_size: int = 1


LOADS = {
    load.name: load
    for load in (
        Load("sync-1", 1),
        Load("sync-8", 8),
        Load("sync-64", 64),
        Load("batch-16x8", 8, batch_size=16),
    )
}


@dataclass(frozen=True)
class Window:
    """What one line of a load program's output says."""

    messages_per_second: int
    failed: int


@dataclass(frozen=True)
class LoadProgram:
    """A program that sends until it is stopped and prints a line per window."""

    label: str
    covers_s: int  # how many seconds the mean in one of its lines covers
    start: Callable[[Clients, Load, str], ManagedProcess]
    windows: Callable[[ManagedProcess], list[Window]]


def best_load_program() -> tuple[LoadProgram, list[str]]:
    """The best program to be had here, and why better ones were not."""
    reasons: list[str] = []
    try:
        jars = example_jars()
        return LoadProgram(
            f"RocketMQ's benchmark programs {jars.version}", _OWN_PROGRAM_COVERS_S, _start_own, _own_windows
        ), reasons
    except ClientUnavailable as missing:
        reasons.append(str(missing))
    try:
        jars = driver_jars()
        return LoadProgram(
            f"LoadProducer on the Java client {jars.version}", WINDOW_S, _start_driver, _json_windows
        ), reasons
    except ClientUnavailable as missing:
        reasons.append(str(missing))
    return LoadProgram("GlassMQ's own Python client", WINDOW_S, _start_python, _json_windows), reasons


def _start_own(clients: Clients, load: Load, topic: str) -> ManagedProcess:
    options: list[object] = ["-n", clients.cluster.name_server, "-t", topic, "-s", BODY_BYTES, "-w", load.threads]
    if load.batch_size == 1:
        return clients.java_example("benchmark.Producer", *options)
    return clients.java_example("benchmark.BatchProducer", *options, "-b", load.batch_size)


def _own_windows(process: ManagedProcess) -> list[Window]:
    """Messages per second: ``Send MPS`` of the batch program (its TPS counts requests), else ``Send TPS``."""
    found = []
    for line in process.output().splitlines():
        rate = re.search(r"Send MPS: (\d+)", line) or re.search(r"Send TPS: (\d+)", line)
        failed = re.search(r"Send Failed: (\d+)", line)
        if line.startswith("Current Time") and rate and failed:
            found.append(Window(int(rate.group(1)), int(failed.group(1))))
    return found


def _start_driver(clients: Clients, load: Load, topic: str) -> ManagedProcess:
    return clients.java_load(topic, load.threads, BODY_BYTES, load.batch_size, WINDOW_S)


def _start_python(clients: Clients, load: Load, topic: str) -> ManagedProcess:
    program = Path(__file__).with_name("python_producer.py")
    numbers = (load.threads, BODY_BYTES, load.batch_size, WINDOW_S)
    command = [sys.executable, str(program), clients.cluster.name_server, topic, *map(str, numbers)]
    return clients.command("Python load", command)


def _json_windows(process: ManagedProcess) -> list[Window]:
    return [
        Window(int(event["messages_per_second"]), int(event["failed"]))
        for event in process.events()
        if event["event"] == "window"
    ]
