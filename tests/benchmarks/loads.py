"""The loads, and the two programs that can produce them, the better first.

A program warms up, measures for a while, ends what it began, and reports in lines of JSON: ``begin`` and ``end`` of the
measured part, then a ``result`` that accounts for every message.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.interop.harness.clients import Clients
from tests.interop.harness.installs import ClientUnavailable
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import driver_jars

BODY_BYTES = 128
#: Asynchronous sends that wait for their replies.
IN_FLIGHT = 1_000
#: Messages per second of :data:`LATENCY`.
PACE = 1_000


@dataclass(frozen=True)
class Load:
    """What one client does.

    :ivar mode: of ``LoadClient.java``.
    :ivar text: what a table says of it.
    :ivar threads: senders; but for ``async`` and ``latency`` each waits for its reply.
    :ivar batch_size: 1 means single messages.
    """

    name: str
    mode: str
    text: str
    threads: int
    batch_size: int = 1

    @property
    def is_drain(self) -> bool:
        """First comes the backlog, which is as large as it is however long the window."""
        return self.mode in ("drain", "orderly")

    @property
    def consumes(self) -> bool:
        return self.is_drain or self.mode in ("live", "latency")


LATENCY = Load("latency", "latency", f"{PACE:,} messages a second, consumed as they come", 1)
LOADS = {
    load.name: load
    for load in (
        Load("sync-1", "sync", "one thread, each send waits for its reply", 1),
        Load("sync-8", "sync", "8 such threads", 8),
        Load("sync-64", "sync", "64 such threads", 64),
        Load("async", "async", f"one thread, at most {IN_FLIGHT:,} replies outstanding", 1),
        Load("batch-16x8", "sync", "8 threads with batches of 16", 8, batch_size=16),
        Load("transactions-8", "transactions", "8 threads, half message and commit", 8),
        Load("live", "live", "8 threads send, a push consumer takes what is counted", 8),
        Load("drain", "drain", "a new group's push consumer takes a backlog", 8, batch_size=16),
        Load("orderly-drain", "orderly", "the same with `MessageListenerOrderly`", 8, batch_size=16),
        LATENCY,
    )
}


@dataclass(frozen=True)
class Lengths:
    """How long each measurement takes.

    :ivar backlog: messages, of the loads that drain one.
    """

    warm_up_s: float
    window_s: float
    backlog: int


@dataclass(frozen=True)
class LoadProgram:
    """:ivar modes: what it can do."""

    label: str
    modes: frozenset[str]
    start: Callable[[Clients, Load, str, Lengths], ManagedProcess]


def best_load_program() -> tuple[LoadProgram, list[str]]:
    """The better program that is to be had here, and why it is not the best."""
    try:
        version = driver_jars().version
    except ClientUnavailable as missing:
        return LoadProgram("GlassMQ's own Python client", frozenset({"sync"}), _start_python), [str(missing)]
    modes = frozenset(load.mode for load in LOADS.values())
    return LoadProgram(f"our LoadClient on RocketMQ's Java client {version}", modes, _start_java), []


def possible_loads(program: LoadProgram, names: list[str]) -> tuple[list[Load], list[str]]:
    """Those that ``program`` can produce, and a note that names the others."""
    wanted = [LOADS[name] for name in names]
    left_out = [load.name for load in wanted if load.mode not in program.modes]
    notes = [f"left out, as {program.label} does not do it: {', '.join(left_out)}"] if left_out else []
    return [load for load in wanted if load.mode in program.modes], notes


def _start_java(clients: Clients, load: Load, topic: str, lengths: Lengths) -> ManagedProcess:
    options = {
        "mode": load.mode,
        "topic": topic,
        "threads": load.threads,
        "batch": load.batch_size,
        "body": BODY_BYTES,
        "warm_up_ms": round(lengths.warm_up_s * 1_000),
        "window_ms": round(lengths.window_s * 1_000),
        "in_flight": IN_FLIGHT,
        "rate": PACE,
        "backlog": lengths.backlog,
    }
    return clients.java_load(options)


def _start_python(clients: Clients, load: Load, topic: str, lengths: Lengths) -> ManagedProcess:
    program = Path(__file__).with_name("python_producer.py")
    numbers = (load.threads, BODY_BYTES, load.batch_size, lengths.warm_up_s, lengths.window_s)
    command = [sys.executable, str(program), clients.cluster.name_server, topic, *map(str, numbers)]
    return clients.command("Python load", command)
