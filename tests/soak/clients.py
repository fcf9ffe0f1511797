"""Starts the soak's clients, each a process that reports on standard output, and reads what they say as it comes."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.interop.harness.clients import DRIVERS
from tests.interop.harness.installs import REPOSITORY, ClientUnavailable, cpp_client_python, tool
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import driver_jars
from tests.soak.streams import CPP, JAVA, PYTHON, Stream

_JAVA_HEAP = ("-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1")
#: A send that a killed broker never answers must not hold its stream for long.
_CPP_SEND_TIMEOUT_MS = 3_000


def languages_to_be_had() -> tuple[set[str], list[str]]:
    """Whose clients can run here, and why others cannot."""
    found, reasons = {PYTHON}, []
    for language, get in ((CPP, cpp_client_python), (JAVA, driver_jars)):
        try:
            get()
            found.add(language)
        except ClientUnavailable as missing:
            reasons.append(f"{language}: {missing}")
    return found, reasons


class SoakClient:
    """One process. ``stream``: whose events it reports without saying so."""

    def __init__(self, process: ManagedProcess, stream: str = "", ends_by_terminating: bool = False) -> None:
        self.process = process
        self.stream = stream
        self._ends_by_terminating = ends_by_terminating
        self._read_bytes = 0

    def new_events(self) -> Iterator[dict[str, Any]]:
        """What was reported since the last call; an hour's lines are never held together."""
        with self.process.log_path.open("rb") as log:
            log.seek(self._read_bytes)
            lines, end, _ = log.read().rpartition(b"\n")
        self._read_bytes += len(lines) + len(end)
        for line in lines.splitlines():
            if line.startswith(b"{") and line.endswith(b"}"):
                try:
                    yield {"stream": self.stream, **json.loads(line)}
                except json.JSONDecodeError:
                    continue  # a native library printed in the middle of a line

    def end_sending(self) -> None:
        """No further sends; what is under way ends in order, and who answers check-backs goes on."""
        number = signal.SIGTERM if self._ends_by_terminating else signal.SIGUSR1
        if self.process.is_running:
            os.kill(self.process.process_id, number)


class SoakClients:
    """All processes of one soak."""

    def __init__(self, name_server: str, broker: str, folder: Path) -> None:
        self._name_server = name_server
        self._broker = broker
        self._folder = folder
        self.consumers: list[SoakClient] = []
        self.senders: list[SoakClient] = []
        self.slow_reader: SoakClient | None = None

    @property
    def everyone(self) -> list[SoakClient]:
        return self.consumers + self.senders + ([self.slow_reader] if self.slow_reader else [])

    def start(self, streams: list[Stream], flood_messages: int, flood_every_s: float, slow_readers: int) -> None:
        """Consumers first, so that nothing waits for its group."""
        for stream in streams:
            if stream.consumer == CPP:
                options = ["--orderly"] if stream.kind == "orderly" else []
                self.consumers.append(self._cpp("consume", stream.group, stream, *options))
        self.consumers += self._of_language(streams, "consume")
        for stream in streams:
            if stream.sender == CPP:
                mode = "selected" if stream.kind == "orderly" else "sync"
                options = ["--mode", mode, "--count", "0", "--enduring", "--timeout-ms", str(_CPP_SEND_TIMEOUT_MS)]
                self.senders.append(self._cpp("send", f"{stream.group}_sender", stream, *options))
        self.senders += self._of_language(streams, "send")
        self.senders.append(self._python("flood", "tests.soak.flood", self._broker, flood_messages, flood_every_s))
        self.slow_reader = self._python(
            "slow-reader", "tests.soak.slow_reader", self._name_server, self._broker, slow_readers
        )

    def ended_early(self) -> list[str]:
        """Return clients that ended by themselves, with their last words. A C++ sender is stopped before the others."""
        return [
            f"{client.process.name} ({client.process.exit_code}): {client.process.output_end(300)}"
            for client in self.everyone
            if client.process.exit_code not in (None, 0)
        ]

    def stop(self) -> None:
        for client in self.everyone:
            client.process.stop(grace_s=1.0)

    def _of_language(self, streams: list[Stream], part: str) -> list[SoakClient]:
        """One process of our client and one Java for all their streams of this part."""
        of = {
            language: [s for s in streams if (s.sender if part == "send" else s.consumer) == language]
            for language in (PYTHON, JAVA)
        }
        found = []
        if of[PYTHON]:
            names = ",".join(stream.name for stream in of[PYTHON])
            name = f"python-{part}"
            found.append(self._python(name, "tests.soak.glass_client", self._name_server, f"--{part}", names))
        if of[JAVA]:
            works = [f"{part}:{s.name}:{s.kind}:{s.topic}:{s.group}" for s in of[JAVA]]
            home = self._home(f"java-{part}")
            settings = ("-Dfile.encoding=UTF-8", f"-Duser.home={home}")
            java = [tool("java"), *_JAVA_HEAP, *settings, "-cp", driver_jars().class_path, "SoakClient"]
            found.append(SoakClient(self._start(f"java-{part}", [*java, self._name_server, *works])))
        return found

    def _cpp(self, action: str, group: str, stream: Stream, *options: str) -> SoakClient:
        command = [str(cpp_client_python()), str(DRIVERS / "cpp_client.py"), action, "--name-server", self._name_server]
        process = self._start(
            f"cpp-{action}-{stream.name}", [*command, "--group", group, "--topic", stream.topic, *options]
        )
        return SoakClient(process, stream.name, ends_by_terminating=True)

    def _python(self, name: str, module: str, *arguments: object) -> SoakClient:
        return SoakClient(self._start(name, [sys.executable, "-m", module, *map(str, arguments)]))

    def _start(self, name: str, command: list[str]) -> ManagedProcess:
        home = self._home(name)
        environment = {"HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
        return ManagedProcess(name, command, home / "output.log", environment, home)

    def _home(self, name: str) -> Path:
        home = self._folder / name
        home.mkdir(parents=True, exist_ok=True)
        return home
