"""``glassmq serve`` in a process of its own, for tests that kill it as ``kill -9`` does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.testkit.errors import TestKitError

#: Seconds for a start; one takes half a second, but a loaded machine may stall.
START_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 30.0
#: The folder of the packages app and engine: first on the path, as tests often have an app of their own.
_PACKAGES = Path(__file__).parents[2]
_ADDRESS = re.compile(r"  (name server|broker) +(\S+)")


class GlassMQProcess:
    """A broker on ``data_folder`` whose process may be killed and started again at the same addresses.

    ``with GlassMQProcess(folder) as process:`` starts it; it is gone when the block ends.

    :ivar name_server_address: ``"host:port"``, for the clients under test.
    """

    def __init__(
        self,
        data_folder: Path,
        *,
        host: str = "127.0.0.1",
        broker_settings: Mapping[str, object] | None = None,
        store_settings: Mapping[str, object] | None = None,
    ) -> None:
        self._settings = [
            *_options("--broker-setting", broker_settings or {}),
            *_options("--store-setting", store_settings or {}),
        ]
        self._data_folder = data_folder
        self._host = host
        self._process: subprocess.Popen[str] | None = None
        self.name_server_address = f"{host}:0"
        self.broker_address = f"{host}:0"

    def __enter__(self) -> GlassMQProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int | None:
        """Return the process id; None while there is no process, as after an ``os.kill`` of the test itself."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def start(self) -> None:
        """Start the process; it listens when this returns. Raises :class:`TestKitError` with what it printed."""
        if self.pid is not None:
            raise TestKitError(f"process {self.pid} runs already; kill() or stop() it before")
        self.kill()  # one that has ended by itself
        command = [
            # -P: not the current folder first, which may have an app of its own.
            *(sys.executable, "-P", "-m", "app.command_line", "serve", "--no-page", "--data", str(self._data_folder)),
            *("--host", self._host, "--name-server-port", _port(self.name_server_address)),
            *("--broker-port", _port(self.broker_address), *self._settings),
        ]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            watchdog = threading.Timer(START_TIMEOUT_S, process.kill)
            watchdog.start()
            addresses: dict[str, str] = {}
            try:
                addresses = _read_addresses(process)
            finally:
                watchdog.cancel()
                if len(addresses) < 2:  # also when the wait was interrupted
                    process.kill()
                    process.wait(_END_TIMEOUT_S)
                    _close_output(process)
            if len(addresses) < 2:
                errors.seek(0)
                raise TestKitError(f"glassmq serve did not start: {errors.read().strip()}")
        self._process = process
        self.name_server_address, self.broker_address = addresses["name server"], addresses["broker"]

    def kill(self) -> None:
        """End the process as ``kill -9`` does; nothing happens if it has ended."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process gracefully: offsets are written, the log is flushed. Nothing happens if it has ended."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            try:
                process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(_END_TIMEOUT_S)
            _close_output(process)


def write_frame_pages(files: Sequence[Path]) -> None:
    """Replace files of frames by pages that need no server. Files whose pages cannot be written stay."""
    command = [sys.executable, "-P", "-m", "app.command_line", "faults", "page", "--replace", *map(str, files)]
    subprocess.run(command, env=_environment(), stdout=subprocess.DEVNULL, check=False)


def _environment() -> dict[str, str]:
    """Return the environment of a command of GlassMQ: its own packages come first."""
    path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def _read_addresses(process: subprocess.Popen[str]) -> dict[str, str]:
    """Return what the process prints once it listens, or less if it ends before."""
    addresses: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        if found := _ADDRESS.match(line):
            addresses[found[1]] = found[2]
        if line.startswith("Ctrl-C"):
            break
    return addresses


def _close_output(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    process.stdout.close()


def _port(address: str) -> str:
    return address.rpartition(":")[2]


def _options(option: str, settings: Mapping[str, object]) -> list[str]:
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}
    return [part for name, text in texts.items() for part in (option, f"{name}={text}")]
