"""``glassmq serve`` under the soak: always on the same ports and the same folder, killed and started again."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.interop.harness.glassmq_cluster import glassmq_command
from tests.interop.harness.installs import REPOSITORY
from tests.interop.harness.ports import free_broker_port, free_port
from tests.interop.harness.process import ManagedProcess, ProcessFailed
from tests.interop.harness.waiting import wait_until
from tests.interop.harness.wire import write_queues

_START_DEADLINE_S = 120.0
_TRACEBACK = "Traceback (most recent call last)"
#: Half messages are asked about within seconds, so that transactions end while the soak still looks.
_BROKER_SETTINGS = ("transactionCheckInterval=5000", "transactionTimeOut=3000")
#: Small files: the log rolls many times in an hour.
_STORE_SETTINGS = ("mappedFileSizeCommitLog=67108864",)


class Disk:
    """A folder that can be filled: a file system of its own where that may be mounted."""

    def __init__(self, folder: Path, can_be_filled: bool) -> None:
        self.folder = folder
        self.can_be_filled = can_be_filled
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Somebody else takes all the room that is left."""
        with self._filler.open("wb") as file:
            share = 1.0
            while room := int(self._room_bytes() * share):
                try:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), room)
                except OSError:
                    share /= 2  # the broker was quicker

    def free(self) -> None:
        """And gives it back."""
        self._filler.unlink(missing_ok=True)

    def _room_bytes(self) -> int:
        room = os.statvfs(self.folder)
        return room.f_bavail * room.f_frsize

    def used_mib(self) -> float:
        """What the broker's files take; of a filler nothing."""
        filler = self._filler.stat().st_size if self._filler.exists() else 0
        if self.can_be_filled:
            room = os.statvfs(self.folder)
            return ((room.f_blocks - room.f_bfree) * room.f_frsize - filler) / 2**20
        files = (path.stat() for path in self.folder.rglob("*") if path.is_file())
        return sum(status.st_blocks * 512 for status in files) / 2**20


@contextmanager
def disk_in(folder: Path, size_mib: int) -> Iterator[Disk]:
    """A file system in memory, gone at the end; a plain folder where only root could mount one."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "glassmq-soak", str(folder)]
    try:
        is_mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    try:
        yield Disk(folder, is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)])


@dataclass
class SoakedBroker:
    """Use :meth:`start` again after :meth:`kill`."""

    disk: Disk
    logs: Path
    flush: str
    name_server_port: int = field(default_factory=free_port)
    broker_port: int = field(default_factory=free_broker_port)
    http_port: int = field(default_factory=free_port)
    lives: list[ManagedProcess] = field(default_factory=list)

    @property
    def name_server(self) -> str:
        return f"127.0.0.1:{self.name_server_port}"

    @property
    def broker(self) -> str:
        return f"127.0.0.1:{self.broker_port}"

    @property
    def page(self) -> str:
        return f"127.0.0.1:{self.http_port}"

    @property
    def process(self) -> ManagedProcess:
        return self.lives[-1]

    def start(self) -> float:
        """Start the process and wait until its route is known; how many seconds that took."""
        command = [glassmq_command(), "serve", "--data", str(self.disk.folder / "data"), "--flush", self.flush]
        command += ["--name-server-port", str(self.name_server_port), "--broker-port", str(self.broker_port)]
        command += ["--http-port", str(self.http_port), "--no-pipeline"]
        for option, settings in (("--broker-setting", _BROKER_SETTINGS), ("--store-setting", _STORE_SETTINGS)):
            command += [word for setting in settings for word in (option, setting)]
        begun = time.monotonic()
        log = self.logs / f"broker-{len(self.lives)}.log"
        process = ManagedProcess("glassmq serve", command, log, {"PYTHONUNBUFFERED": "1"}, REPOSITORY)
        self.lives.append(process)

        def serves() -> bool:
            if not process.is_running:
                raise ProcessFailed(f"glassmq serve ended ({process.exit_code})\n{process.output_end()}")
            try:
                return write_queues(self.name_server, "TBW102") > 0
            except OSError:
                return False

        wait_until(serves, "glassmq serve to hand out a route", _START_DEADLINE_S, process.output_end)
        return time.monotonic() - begun

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()

    def tracebacks(self) -> list[str]:
        """The first line of each traceback's end, from the logs of all lives."""
        found = []
        for life in self.lives:
            for piece in life.output().split(_TRACEBACK)[1:]:
                last = re.search(r"^\S.*$", piece, re.MULTILINE)
                found.append(f"{life.log_path.name}: {last[0] if last else piece[:200]}")
        return found
