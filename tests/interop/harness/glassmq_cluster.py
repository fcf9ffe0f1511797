"""Starts ``glassmq serve`` as a user does: a process of its own, on free ports, with an empty data folder."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.testkit import GlassMQ
from tests.interop.harness.cluster import NO_SETTINGS, Cluster
from tests.interop.harness.installs import REPOSITORY
from tests.interop.harness.ports import free_broker_port, free_port
from tests.interop.harness.process import ManagedProcess, ProcessFailed
from tests.interop.harness.wire import write_queues
from tests.support.waiting import START_POLL_INTERVAL_S, wait_until

BROKER_NAME = "broker-a"
CLUSTER_NAME = "DefaultCluster"
_START_DEADLINE_S = 60.0


def glassmq_command() -> str:
    """Return the console script next to this interpreter."""
    return str(Path(sys.executable).parent / "glassmq")


def cluster_of(glassmq: GlassMQ) -> Cluster:
    """Describe a broker of the test kit to the clients of a test."""
    addresses = glassmq.name_server_address, glassmq.broker_address
    name_server_port, broker_port = (int(address.rpartition(":")[2]) for address in addresses)
    return Cluster("GlassMQ", name_server_port, broker_port, BROKER_NAME, CLUSTER_NAME, [])


def start_glassmq(
    folder: Path,
    name_server_port: int | None = None,
    broker_port: int | None = None,
    flush: str = "async",
    settings: Mapping[str, str] = NO_SETTINGS,
    options: Sequence[str | Path] = (),
) -> Cluster:
    """Start name server, broker and page in one process; return when the broker's route is known.

    ``settings`` are further broker settings in RocketMQ's names, ``options`` further options of ``serve``.
    """
    name_server_port = name_server_port or free_port()
    broker_port = broker_port or free_broker_port()
    ports = {"name-server": name_server_port, "broker": broker_port, "http": free_port()}
    command = [glassmq_command(), "serve", "--data", str(folder / "data"), "--flush", flush]
    for part, port in ports.items():
        command += [f"--{part}-port", str(port)]
    for name, value in settings.items():
        command += ["--broker-setting", f"{name}={value}"]
    command += map(str, options)
    started = time.monotonic()
    environment = {"PYTHONUNBUFFERED": "1", "PATH": os.environ.get("PATH", "")}
    process = ManagedProcess("glassmq serve", command, folder / "glassmq.log", environment, REPOSITORY)
    cluster = Cluster(
        label="GlassMQ",
        name_server_port=name_server_port,
        broker_port=broker_port,
        broker_name=BROKER_NAME,
        cluster_name=CLUSTER_NAME,
        processes=[process],
        ready_pattern=r"^\s*page\s+http",
    )

    def ready() -> bool:
        if not process.is_running:
            raise ProcessFailed(f"glassmq serve ended with exit code {process.exit_code}\n{process.output_end()}")
        if "enforcing" in options:  # plain questions are not answered
            return re.search(cluster.ready_pattern, process.output(), re.MULTILINE) is not None
        try:
            return write_queues(cluster.name_server, "TBW102") > 0
        except OSError:
            return False

    try:
        what = "glassmq serve to hand out a route"
        wait_until(ready, what, _START_DEADLINE_S, cluster.logs, START_POLL_INTERVAL_S)
    except BaseException:
        cluster.stop()
        raise
    cluster.start_seconds = time.monotonic() - started
    return cluster
