"""What a test may ask of a running cluster, whichever broker it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.wire import create_topic

NO_SETTINGS: Mapping[str, str] = {}


@dataclass
class Cluster:
    """A name server and one broker on loopback.

    ``label`` says what runs, version included, for tables and skip reasons.
    """

    label: str
    name_server_port: int
    broker_port: int
    broker_name: str
    cluster_name: str
    processes: list[ManagedProcess]
    #: What its processes print once everything they start is started (a regular expression).
    ready_pattern: str = ""
    start_seconds: float = 0.0
    topics: dict[str, int] = field(default_factory=dict)

    @property
    def name_server(self) -> str:
        return f"127.0.0.1:{self.name_server_port}"

    @property
    def broker(self) -> str:
        return f"127.0.0.1:{self.broker_port}"

    def create_topic(self, topic: str, queues: int = 8) -> str:
        """Create ``topic`` by admin request and return once the name server knows all its queues."""
        create_topic(self.name_server, self.broker, topic, queues)
        self.topics[topic] = queues
        return topic

    def wait_until_started(self) -> None:
        """Wait for what comes after the broker, such as GlassMQ's page: it counts as memory too."""
        for process in self.processes:
            process.wait_for_output(self.ready_pattern)

    def resident_bytes(self) -> int:
        """Resident memory of all its processes."""
        return sum(process.resident_bytes() for process in self.processes)

    def own_bytes(self) -> int:
        """The same without pages of files: a log that has grown is mapped, and counts as resident."""
        return sum(process.own_bytes() for process in self.processes)

    def cpu_seconds(self) -> float:
        """Processor time that all its processes used so far."""
        return sum(process.cpu_seconds() for process in self.processes)

    def logs(self, characters: int = 3000) -> str:
        return "\n".join(f"== {process.name}\n{process.output_end(characters)}" for process in self.processes)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop(grace_s=3.0)
