"""``make bench``: GlassMQ beside a real RocketMQ, and Spark's reading beside other ways, on this machine.

Without options both parts. Options are those of the first part, alone; those behind the word ``spark`` of the second,
:mod:`tests.benchmarks.spark_run`: ``make bench BENCH="spark --rounds 1"``. Behind the word ``idempotence``
stand those of :mod:`tests.benchmarks.idempotence`, behind ``kafka`` those of :mod:`tests.benchmarks.kafka`, behind
``replication`` those of :mod:`tests.benchmarks.replication`, behind ``scale`` those of :mod:`tests.benchmarks.scale`;
each runs alone.

Both clusters run at once and take turns under load, in changing order, for several rounds: what disturbs the machine
disturbs both. Each measurement is the load program's last window. The result names the versions and
programs that really ran. It is a measurement, not a test: it never fails because of a number.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.compiled.form import BuildUnusable, usable_modules
from tests.benchmarks import idempotence, kafka, replication, scale, spark_run
from tests.benchmarks.loads import LOADS, Load, best_load_program
from tests.benchmarks.rounds import Measurement, run_rounds
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.installs import ClientUnavailable
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.rocketmq_jars import server_jars
from tests.interop.harness.wire import send_message


@dataclass(frozen=True)
class Start:
    """From the start command to the first acknowledged message, and the memory once everything is started."""

    label: str
    seconds: float
    resident_mib: float


def measure_start(start: Callable[[Path], Cluster], folder: Path) -> Start:
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


def table(measurements: list[Measurement], labels: list[str], loads: list[Load], rounds: int) -> str:
    """One line per load and round, and per load the median ratio (the first of ``labels`` / the last)."""
    rates = {(m.load, m.round_number, m.label): m for m in measurements}
    lines = [f"{'load':<12}{'round':>6}" + "".join(f"{label:>22}" for label in labels) + f"{'ratio':>8}{'failed':>8}"]
    for load in loads:
        ratios = []
        for number in range(1, rounds + 1):
            row = [rates[load.name, number, label] for label in labels]
            numbers = [m.messages_per_second for m in row]
            ratio = numbers[0] / numbers[-1] if len(numbers) > 1 and numbers[-1] else None
            ratios += [ratio] if ratio is not None else []
            shown = f"{ratio:>8.2f}" if ratio is not None else f"{'':>8}"
            failed = sum(m.failed for m in row)
            lines.append(
                f"{load.name:<12}{number:>6}" + "".join(f"{rate:>22,}" for rate in numbers) + f"{shown}{failed:>8}"
            )
        if ratios:
            lines.append(
                f"{load.name:<12}{'median':>6}" + " " * 22 * len(labels) + f"{statistics.median(ratios):>8.2f}"
            )
    return "\n".join(lines)


def processor_table(measurements: list[Measurement], labels: list[str], loads: list[Load]) -> str:
    """Median processor time per message, and the range of the machine's load average while measuring."""
    lines = [f"{'broker CPU per message':<24}" + "".join(f"{label:>22}" for label in labels)]
    for load in loads:
        row = [
            statistics.median(m.cpu_us_per_message for m in measurements if (m.load, m.label) == (load.name, label))
            for label in labels
        ]
        lines.append(f"{load.name:<24}" + "".join(f"{value:>19.1f} us" for value in row))
    averages = [m.load_average for m in measurements]
    lines.append(f"load average of the machine: {min(averages):.1f} to {max(averages):.1f} on {os.cpu_count()} cores")
    return "\n".join(lines)


def measure_starts(starters: list[Callable[[Path], Cluster]], times: int, folder: Path) -> list[Start]:
    """Each start ``times`` times, in turn."""
    return [
        measure_start(start, _folder(folder / f"start-{kind}-{number}"))
        for number in range(times)
        for kind, start in enumerate(starters)
    ]


def start_table(starts: list[Start]) -> str:
    """Median and worst time to the first message, and the memory after it."""
    lines = [f"{'start to first accepted message':<34}{'median':>9}{'worst':>9}{'memory after':>15}"]
    for label in dict.fromkeys(start.label for start in starts):
        own = [start for start in starts if start.label == label]
        seconds = [start.seconds for start in own]
        memory = statistics.median(start.resident_mib for start in own)
        lines.append(f"{label:<34}{statistics.median(seconds):>7.2f} s{max(seconds):>7.2f} s{memory:>11.0f} MiB")
    return "\n".join(lines)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The options that shorten a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="times every load runs on every broker (default 3)")
    parser.add_argument(
        "--windows", type=int, default=3, help="windows of 10 s per measurement, the last counts (default 3)"
    )
    parser.add_argument("--loads", default=",".join(LOADS), help=f"default {','.join(LOADS)}")
    parser.add_argument(
        "--brokers",
        default="glassmq,interpreted,real",
        help="some of them; glassmq is the compiled form where make fast has built it (default all)",
    )
    parser.add_argument("--starts", type=int, default=3, help="times each broker is started for its start time")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    options = parser.parse_args(arguments)
    for name, allowed in (("loads", set(LOADS)), ("brokers", {"glassmq", "interpreted", "real"})):
        unknown = sorted(set(getattr(options, name).split(",")) - allowed)
        if unknown:
            parser.error(f"--{name}: no {', '.join(unknown)}; allowed: {', '.join(sorted(allowed))}")
    if min(options.rounds, options.windows) < 1:
        parser.error("--rounds and --windows: at least 1")
    return options


def _is_built(reasons: list[str]) -> bool:
    try:
        usable_modules()
    except BuildUnusable as reason:
        reasons.append(f"no compiled form: {reason}")
        return False
    return True


def _start_compiled(folder: Path) -> Cluster:
    return _labelled(start_glassmq(folder), "GlassMQ, compiled")


def _start_interpreted(folder: Path) -> Cluster:
    return _labelled(start_glassmq(folder, options=["--interpreted"]), "GlassMQ, interpreted")


def _labelled(cluster: Cluster, label: str) -> Cluster:
    cluster.label = label
    return cluster


def choose_starters(wanted: list[str]) -> tuple[list[Callable[[Path], Cluster]], list[str]]:
    """How to start each wanted broker, and why one cannot be."""
    starters: list[Callable[[Path], Cluster]] = []
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


def main(arguments: list[str]) -> int:
    """Both parts with what they usually measure; with options only the part that they belong to."""
    if arguments[:1] == ["idempotence"]:
        return idempotence.main(arguments[1:])
    if arguments[:1] == ["kafka"]:
        return kafka.main(arguments[1:])
    if arguments[:1] == ["replication"]:
        return replication.main(arguments[1:])
    if arguments[:1] == ["scale"]:
        return scale.main(arguments[1:])
    if arguments[:1] == ["spark"]:
        return spark_run.main(arguments[1:])
    code = measure_brokers(arguments)
    return code if arguments else code or spark_run.main([])


def measure_brokers(arguments: list[str]) -> int:
    """Measure, print the tables, write the JSON file."""
    options = parse_arguments(arguments)
    loads = [LOADS[name] for name in options.loads.split(",")]
    program, notes = best_load_program()
    starters, missing = choose_starters(options.brokers.split(","))
    notes += missing
    with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as name:
        folder = Path(name)
        starts = measure_starts(starters, options.starts, folder)
        clusters: list[Cluster] = []
        try:
            clusters += [start(_folder(folder / f"cluster-{kind}")) for kind, start in enumerate(starters)]
            measurements = run_rounds(clusters, program, loads, options.rounds, options.windows, folder)
        finally:
            for cluster in clusters:
                cluster.stop()
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.release()}"
    labels = [cluster.label for cluster in clusters]
    print(f"load program: {program.label}; {machine}")
    print("".join(f"note: {note}\n" for note in notes), end="")
    print("\n" + table(measurements, labels, loads, options.rounds))
    print("\n" + processor_table(measurements, labels, loads))
    print("\n" + start_table(starts))
    if options.json:
        result = {
            "machine": machine,
            "load_program": program.label,
            "notes": notes,
            "measurements": [asdict(measurement) for measurement in measurements],
            "starts": [asdict(start) for start in starts],
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return 0


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
