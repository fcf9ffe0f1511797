"""``make bench BENCH=replication``: what one slave costs its master's senders, here and with a real pair.

Six clusters run at once and take turns under the same load: a broker alone, one with a slave that is not waited for
(ASYNC_MASTER), and one with a slave that is (SYNC_MASTER), each of ours and of RocketMQ's. Ratios are of the same
round. After each load the slave must have all that its master has. It is a measurement, not a test: it never fails
because of a number.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.benchmarks.document import machine, parse_with_document, publish
from tests.benchmarks.loads import LOADS, Lengths, Load, best_load_program
from tests.benchmarks.rounds import QUEUES, Measurement, run_rounds
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import glassmq_command, start_glassmq
from tests.interop.harness.installs import REPOSITORY
from tests.interop.harness.ports import free_broker_port, free_port
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.real_rocketmq import start_real_broker, start_real_rocketmq
from tests.interop.harness.wire import RequestRefused, max_offsets, send_message
from tests.support.waiting import wait_until

_MARK = "make bench replication"
_COPIED_DEADLINE_S = 120
#: Other loads do not wait for the slave.
_SENDS = [name for name, load in LOADS.items() if load.mode == "sync"]
_ALONE, _ASYNC, _SYNC = "alone", "ASYNC_MASTER", "SYNC_MASTER"


@dataclass
class Pair:
    """:ivar slave: address of the second broker; None without one."""

    cluster: Cluster
    slave: str | None

    def wait_until_copied(self, topics: Iterable[str]) -> None:
        """The slave has all messages of ``topics``."""
        master, slave = self.cluster.broker, self.slave
        if slave is None:
            return
        for topic in topics:
            wait_until(
                partial(_is_copied, master, slave, topic),
                f"the slave of {self.cluster.label} to have all of {topic}",
                _COPIED_DEADLINE_S,
                self.cluster.logs,
            )


def _is_copied(master: str, slave: str, topic: str) -> bool:
    return max_offsets(slave, topic, QUEUES) == max_offsets(master, topic, QUEUES)


def _is_confirmed(broker: str) -> bool:
    try:
        send_message(broker, "First", b"hello")
    except RequestRefused:  # SLAVE_NOT_AVAILABLE
        return False
    return True


def start_ours(folder: Path, role: str) -> Pair:
    """GlassMQ, with a slave unless ``alone``."""
    cluster = start_glassmq(folder, settings={} if role == _ALONE else {"brokerRole": role})
    cluster.label = f"GlassMQ {role}"
    if role == _ALONE:
        return Pair(cluster, None)
    port = free_broker_port()
    command = [glassmq_command(), "serve", "--data", str(folder / "slave"), "--slave-of", cluster.broker, "--no-page"]
    command += ["--name-server-port", str(free_port()), "--broker-port", str(port)]
    slave = ManagedProcess("glassmq slave", command, folder / "slave.log", {"PYTHONUNBUFFERED": "1"}, REPOSITORY)
    return _started(cluster, slave, port, "Ctrl-C stops it")


def start_real(folder: Path, role: str) -> Pair:
    """RocketMQ, likewise."""
    cluster = start_real_rocketmq(folder, settings={} if role == _ALONE else {"brokerRole": role})
    cluster.label = f"RocketMQ {role}"
    if role == _ALONE:
        return Pair(cluster, None)
    port, second = free_broker_port(), folder / "second"
    second.mkdir()
    slave = start_real_broker(second, cluster.name_server, port, {"brokerRole": "SLAVE", "brokerId": "1"})
    return _started(cluster, slave, port, "boot success")


def _started(cluster: Cluster, slave: ManagedProcess, port: int, ready: str) -> Pair:
    cluster.processes.append(slave)
    try:
        slave.wait_for_output(ready)
        pair = Pair(cluster, f"127.0.0.1:{port}")
        wait_until(partial(_is_confirmed, cluster.broker), f"{cluster.label} to have its slave", 60, cluster.logs)
        pair.wait_until_copied(["First"])
    except BaseException:
        cluster.stop()
        raise
    return pair


def table(measurements: list[Measurement], loads: list[Load]) -> str:
    """Medians; a ratio is of the same round, processor time that of master and slave together."""
    rates = {(one.load, one.label, one.round_number): one.messages_per_second for one in measurements}
    times = {(one.load, one.label, one.round_number): one.cpu_us_per_message for one in measurements}
    rounds = sorted({one.round_number for one in measurements})

    def ratio(load: str, label: str, other: str) -> str:
        found = sorted(rates[load, label, number] / rates[load, other, number] for number in rounds)
        return f"{statistics.median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})"

    heads = [f"{maker}, messages/s | to it alone | µs each" for maker in ("GlassMQ", "RocketMQ")]
    lines = [f"| load | | {' | '.join(heads)} | GlassMQ to RocketMQ |", "|---|---|" + "---:|" * 7]
    for load in loads:
        for role in (_ALONE, _ASYNC, _SYNC):
            cells = [load.name, role]
            for maker in ("GlassMQ", "RocketMQ"):
                middle = statistics.median(rates[load.name, f"{maker} {role}", number] for number in rounds)
                spent = statistics.median(times[load.name, f"{maker} {role}", number] for number in rounds)
                cells += [f"{middle:,.0f}", ratio(load.name, f"{maker} {role}", f"{maker} {_ALONE}"), f"{spent:.0f}"]
            cells.append(ratio(load.name, f"GlassMQ {role}", f"RocketMQ {role}"))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Measure and print; ``--write`` writes the same into a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="(default 3)")
    parser.add_argument("--warm-up", type=float, default=5, help="seconds before a load is measured (default 5)")
    parser.add_argument("--seconds", type=float, default=10, help="for which a load is measured (default 10)")
    parser.add_argument("--loads", default="sync-8,sync-64", help="(default sync-8,sync-64)")
    options = parse_with_document(parser, arguments, [_MARK])
    if options.rounds < 1 or min(options.warm_up, options.seconds) <= 0:
        parser.error("--rounds: at least 1; --warm-up and --seconds: more than 0")
    if not set(options.loads.split(",")) <= set(_SENDS):
        parser.error(f"--loads: some of {', '.join(_SENDS)}")
    loads = [LOADS[name] for name in options.loads.split(",")]
    program, _ = best_load_program()
    makers: tuple[Callable[[Path, str], Pair], ...] = (start_ours, start_real)
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as name:
        try:
            for role in (_ALONE, _ASYNC, _SYNC):
                for start in makers:
                    folder = Path(name) / f"{start.__name__}-{role}"
                    folder.mkdir()
                    pairs.append(start(folder, role))
            clusters = [pair.cluster for pair in pairs]
            lengths = Lengths(options.warm_up, options.seconds, backlog=0)
            found = run_rounds(clusters, program, loads, options.rounds, lengths, Path(name))
            for pair in pairs:
                pair.wait_until_copied(pair.cluster.topics)
        finally:
            for pair in pairs:
                pair.cluster.stop()
    head = (
        f"{machine([one.load_average for one in found])}; {program.label}; {options.rounds} rounds; "
        f"failed sends: {sum(one.account.failed for one in found)}."
    )
    publish(options.write, _MARK, f"{head}\n\n{table(found, loads)}\n")
    return 0
