"""``glassmq serve`` as a process of its own on free ports: for tests that kill it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: A start on a loaded machine; a healthy one takes under a second.
START_TIMEOUT_S = 60


class GlassProcess:
    """Use in a ``with``: listens when entered, is gone when left."""

    def __init__(self, data_folder, *options, page=False):
        self.command = [
            *(sys.executable, "-m", "app.command_line", "serve", "--data", str(data_folder)),
            *("--name-server-port", "0", "--broker-port", "0", "--log-level", "info"),
            *(("--http-port", "0") if page else ("--no-page",)),
            *options,
        ]
        #: Of the source tree that it runs.
        self.folder = ROOT
        self.addresses = {}
        self.lines = []
        self.stderr = []

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()
        watchdog = threading.Timer(START_TIMEOUT_S, self.process.kill)
        watchdog.start()
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.match(r"  (name server|broker|VIP channel|data|form|page) +(\S+)", line):
                self.addresses[found[1]] = found[2]
            if line.startswith("Ctrl-C"):
                break
        watchdog.cancel()
        if "broker" not in self.addresses:
            self.process.wait(10)
            raise AssertionError(f"glassmq serve did not start: {self.errors}")
        return self

    def _read_stderr(self):
        for line in self.process.stderr:
            self.stderr.append(line)

    @property
    def errors(self):
        return "".join(self.stderr)

    @property
    def name_server(self):
        return self.addresses["name server"]

    @property
    def broker(self):
        return self.addresses["broker"]

    def kill(self):
        """SIGKILL: nothing is written, no goodbye is said."""
        self.process.kill()
        self.process.wait(10)

    def stop(self, number=signal.SIGTERM):
        """A graceful end; the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(30)
        self._reader.join(10)
        return code

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self._reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()
