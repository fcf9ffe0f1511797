"""A real Kafka (Java) of one node, broker and controller in one, and its own judge of a partition's files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from engine.kafka.wire.cluster import MetadataRequest, MetadataResponse
from engine.runtime.port import RuntimeFault
from tests.interop.harness.cluster import NO_SETTINGS
from tests.interop.harness.installs import maven_class_path, tool
from tests.interop.harness.ports import free_port
from tests.interop.harness.process import ManagedProcess
from tests.support.kafka.asking import ask_over_tcp
from tests.support.waiting import wait_until

_BOOT_DEADLINE_S = 120.0
_HEAP = ("-Xms128m", "-Xmx300m")
_VALID_BATCH = re.compile(r"^baseOffset: .* count: (\d+) .* isvalid: true$", re.MULTILINE)
#: As ``DumpLogSegments``, ``TimeIndexDumpErrors`` and ``sanityCheck`` word it.
_COMPLAINT = re.compile(r"isvalid: false|mismatch|out of order|non-consecutive|invalid bytes|corrupt", re.IGNORECASE)
#: 16 bytes in base 64, as ``StorageTool`` wants it.
_CLUSTER_ID = "Z2xhc3NtcS1pbnRlcm9wAA"


class RealKafka:
    """Use: ``start()``, ``stop()``, and again over the same files.

    :ivar address: where clients find it.
    :ivar log_folder: holds a folder for each partition.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] = NO_SETTINGS) -> None:
        """``settings``: further lines of ``server.properties``.

        Raises :class:`ClientUnavailable` where there is no Java or no jars.
        """
        self._folder = folder
        self.log_folder = folder / "kafka-logs"
        port, controller_port = free_port(), free_port()
        self.address = f"127.0.0.1:{port}"
        self._properties = folder / "server.properties"
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.log_folder),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "true",
            **settings,
        }
        folder.mkdir(parents=True, exist_ok=True)
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), "utf-8")
        run_kafka(folder, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._properties))
        self._process: ManagedProcess | None = None

    def start(self) -> None:
        """Return when it tells clients of itself."""
        command = _command("kafka.Kafka", str(self._properties))
        process = self._process = ManagedProcess("real Kafka", command, self._folder / "kafka.log")

        def is_there() -> bool:
            assert process.is_running, process.output_end()
            try:
                answer = ask_over_tcp(self.address, MetadataRequest(()))
            except RuntimeFault:
                return False
            return isinstance(answer, MetadataResponse) and bool(answer.brokers)

        try:
            wait_until(is_there, f"a real Kafka at {self.address}", _BOOT_DEADLINE_S, process.output_end)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """In order, so that it opens its files as clean ones next time."""
        if self._process is not None:
            self._process.stop(grace_s=60)
            self._process = None


class SegmentsDump(NamedTuple):
    """What ``DumpLogSegments`` says.

    :ivar records: those in valid batches.
    :ivar complaints: every line with which it finds fault.
    """

    records: int
    complaints: list[str]


def dump_log_segments(folder: Path, paths: Iterable[Path], *options: str) -> SegmentsDump:
    """Check logs, indexes and snapshots, all of them in order below ``folder``, which also gets the output.

    Raises :class:`ClientUnavailable`, and ``ProcessFailed`` where it cannot go through a batch.
    """
    output = run_kafka(folder, "kafka.tools.DumpLogSegments", "--files", ",".join(map(str, paths)), *options)
    records = sum(int(count) for count in _VALID_BATCH.findall(output))
    return SegmentsDump(records, [line for line in output.splitlines() if _COMPLAINT.search(line)])


def run_kafka(folder: Path, main_class: str, *arguments: str, deadline_s: float = 300.0) -> str:
    """What one of Kafka's programs prints, or a Java source file over Kafka's jars.

    Raises :class:`ClientUnavailable`, ``ProcessFailed``.
    """
    name = main_class.rpartition(".")[2]
    with ManagedProcess(name, _command(main_class, *arguments), folder / f"{name}.log") as process:
        return process.wait_for_success(deadline_s)


def _command(main_class: str, *arguments: str) -> Sequence[str]:
    return [tool("java"), *_HEAP, "-cp", maven_class_path("kafka.xml"), main_class, *arguments]
