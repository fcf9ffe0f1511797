"""Loads on clusters, in turns: what disturbs the machine disturbs all."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.loads import WINDOW_S, Load, LoadProgram
from tests.interop.harness.clients import Clients
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.waiting import wait_until
from tests.interop.harness.wire import max_offsets

QUEUES = 8
_START_OF_LOAD_DEADLINE_S = 60


@dataclass(frozen=True)
class Measurement:
    """One load on one broker in one round.

    ``cpu_us_per_message``: processor time of the broker's processes over the whole run, per message stored. On a busy
    machine it says more than the rate, which depends on the share of the processor that the broker got.
    """

    round_number: int
    load: str
    label: str
    messages_per_second: int
    failed: int
    stored: int
    cpu_us_per_message: float
    load_average: float


def measure_load(
    cluster: Cluster, program: LoadProgram, load: Load, round_number: int, windows: int, folder: Path
) -> Measurement:
    """Run ``load`` until ``windows`` windows were printed; take the last.

    Raises ``RuntimeError`` if the broker stored fewer messages than the program says were acknowledged in that window:
    such a rate would be a lie.
    """
    topic = cluster.create_topic(f"Bench_{load.name}_{round_number}", QUEUES)
    clients = Clients(cluster, folder)
    cpu_before = cluster.cpu_seconds()
    process = program.start(clients, load, topic)
    try:
        wait_until(
            lambda: len(program.windows(process)) >= windows or not process.is_running,
            f"{windows} windows of {load.name} on {cluster.label}",
            windows * WINDOW_S + _START_OF_LOAD_DEADLINE_S,
            process.output_end,
        )
        printed = program.windows(process)
        if len(printed) < windows:
            raise RuntimeError(f"{process.name} ended early on {cluster.label}:\n{process.output_end()}")
    finally:
        process.kill()
    last = printed[windows - 1]
    stored = sum(max_offsets(cluster.broker, topic, QUEUES))
    if stored < last.messages_per_second * program.covers_s * 0.99:
        raise RuntimeError(f"{cluster.label} acknowledged more than the {stored} messages that it stored")
    return Measurement(
        round_number=round_number,
        load=load.name,
        label=cluster.label,
        messages_per_second=last.messages_per_second,
        failed=last.failed,
        stored=stored,
        cpu_us_per_message=(cluster.cpu_seconds() - cpu_before) * 1e6 / stored,
        load_average=os.getloadavg()[0],
    )


def run_rounds(
    clusters: list[Cluster], program: LoadProgram, loads: list[Load], rounds: int, windows: int, folder: Path
) -> list[Measurement]:
    """Every load on every cluster, ``rounds`` times; the order of the clusters turns round every time."""
    found = []
    for number in range(1, rounds + 1):
        order = clusters if number % 2 else clusters[::-1]
        for load in loads:
            for cluster in order:
                clients_folder = folder / f"{number}-{load.name}-{cluster.broker_port}"
                measurement = measure_load(cluster, program, load, number, windows, clients_folder)
                found.append(measurement)
                rate = measurement.messages_per_second
                print(f"  round {number}  {load.name:<11} {cluster.label:<22} {rate:>8,} msg/s", file=sys.stderr)
    return found
