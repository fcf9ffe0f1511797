"""The brokers that are compared: how each is started, how long that takes, how much memory it has."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.compiled.form import BuildUnusable, usable_modules
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.installs import ClientUnavailable
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.rocketmq_jars import server_jars
from tests.interop.harness.wire import send_message

Starter = Callable[[Path], Cluster]
BROKERS = ("glassmq", "interpreted", "real")


@dataclass(frozen=True)
class Start:
    """From the start command to the first acknowledged message, and the memory once everything is started."""

    label: str
    seconds: float
    resident_mib: float


@dataclass(frozen=True)
class Memory:
    """Resident memory after all loads.

    :ivar own_mib: without the pages of files, which the kernel may take back at any time.
    """

    label: str
    resident_mib: float
    own_mib: float


def choose_starters(wanted: Sequence[str]) -> tuple[list[Starter], list[str]]:
    """How to start each of ``wanted`` (some of ``BROKERS``), and why one cannot be."""
    starters: list[Starter] = []
    reasons: list[str] = []
    is_built = _is_built(reasons)
    if "glassmq" in wanted and is_built:
        starters.append(_start_compiled)
    if "interpreted" in wanted or ("glassmq" in wanted and not is_built):
        starters.append(_start_interpreted)
    if "real" in wanted:
        try:
            server_jars()
            starters.append(start_real_rocketmq)
        except ClientUnavailable as missing:
            reasons.append(f"no real broker to compare with: {missing}")
    return starters, reasons


def _is_built(reasons: list[str]) -> bool:
    try:
        usable_modules()
    except BuildUnusable as reason:
        reasons.append(f"no compiled form: {reason}")
        return False
    return True


def _start_compiled(folder: Path) -> Cluster:
    return _labelled(start_glassmq(folder), "compiled")


def _start_interpreted(folder: Path) -> Cluster:
    return _labelled(start_glassmq(folder, options=["--interpreted"]), "interpreted")


def _labelled(cluster: Cluster, form: str) -> Cluster:
    cluster.label = f"GlassMQ, {form}"
    return cluster


def check_form(cluster: Cluster) -> None:
    """Raises ``RuntimeError`` where a started GlassMQ says that it runs in another form than its label."""
    found = re.search(r"^\s*form\s+(\w+)", cluster.processes[0].output(), re.MULTILINE)
    if cluster.label.startswith("GlassMQ") and not (found and cluster.label.endswith(found[1])):
        raise RuntimeError(f"{cluster.label}: something else was started\n{cluster.logs()}")


def measure_starts(starters: Sequence[Starter], times: int, folder: Path) -> list[Start]:
    """Each start ``times`` times, in turn."""
    return [
        _measure_start(start, new_folder(folder / f"start-{kind}-{number}"))
        for number in range(times)
        for kind, start in enumerate(starters)
    ]


def _measure_start(start: Starter, folder: Path) -> Start:
    """Start a cluster in an empty folder, send one message, look at its memory, stop it."""
    started = time.monotonic()
    cluster = start(folder)
    try:
        send_message(cluster.broker, "FirstMessage", b"hello")
        seconds = time.monotonic() - started
        cluster.wait_until_started()
        return Start(cluster.label, seconds, cluster.resident_bytes() / 2**20)
    finally:
        cluster.stop()


def measure_memory(cluster: Cluster) -> Memory:
    """As it is now."""
    return Memory(cluster.label, cluster.resident_bytes() / 2**20, cluster.own_bytes() / 2**20)


def new_folder(path: Path) -> Path:
    """Made; it must not have been there."""
    path.mkdir(parents=True)
    return path
