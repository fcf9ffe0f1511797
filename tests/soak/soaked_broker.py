"""``glassmq serve`` under the soak: always on the same ports and the same folder, killed and started again."""

from __future__ import annotations

import os
import re
import shutil
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
from tests.interop.harness.wire import write_queues
from tests.support.waiting import wait_until

_START_DEADLINE_S = 120.0
_TRACEBACK = "Traceback (most recent call last)"
#: Half messages are asked about within seconds, so that transactions end while the soak still looks.
_BROKER_SETTINGS = ("transactionCheckInterval=5000", "transactionTimeOut=3000")
#: Small files: the log rolls many times in an hour.
_STORE_SETTINGS = ("mappedFileSizeCommitLog=67108864",)


class Disk:
    """A folder that can be full: a file system of its own, in memory, where that may be mounted."""

    def __init__(self, folder: Path, size_bytes: int, can_be_filled: bool) -> None:
        self.folder = folder
        self.can_be_filled = can_be_filled
        self._size_bytes = size_bytes

    def fill(self) -> None:
        """Leave no byte: the file system becomes as small as its contents."""
        self._resize(self.used_bytes())

    def free(self) -> None:
        """There is as much room again as there was."""
        self._resize(self._size_bytes)

    def used_bytes(self) -> int:
        if self.can_be_filled:
            room = os.statvfs(self.folder)
            return (room.f_blocks - room.f_bfree) * room.f_frsize
        return sum(path.stat().st_blocks * 512 for path in self.folder.rglob("*") if path.is_file())

    def _resize(self, size_bytes: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size_bytes}", str(self.folder)], check=True)


@contextmanager
def disk_in(folder: Path, size_mib: int) -> Iterator[Disk]:
    """A file system in memory, gone at the end; a plain folder where only root could mount one."""
    folder.mkdir(parents=True)
    size_bytes = size_mib << 20
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "glassmq-soak", str(folder)]
    try:
        is_mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    try:
        yield Disk(folder, size_bytes, is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


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
