"""A server of its own for the pictures, on free ports; its data folder is removed afterwards."""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 20.0
_PAGE = re.compile(r"^\s*page\s+(http\S+?)/?\s*$")
_NAME_SERVER = re.compile(r"^\s*name server\s+(\S+)\s*$")


class ServerFailed(Exception):
    """The server did not start; the text is its output."""


@dataclass(frozen=True, slots=True)
class PicturePageServer:
    """The addresses of the server."""

    address: str
    name_server: str


@contextmanager
def own_page_server(*options: str) -> Iterator[PicturePageServer]:
    """Run a ``glassmq serve`` with ``options`` for the duration of the block. Raises :class:`ServerFailed`."""
    ports = [word for kind in ("http", "name-server", "broker") for word in (f"--{kind}-port", "0")]
    with tempfile.TemporaryDirectory(prefix="glassmq-pictures-", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "app.command_line", "serve", *ports, "--data", folder, *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(process, lines), daemon=True).start()
        try:
            yield _wait_for_start(lines)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def _wait_for_start(lines: queue.Queue[str | None]) -> PicturePageServer:
    said: list[str] = []
    page = name_server = ""
    while not (page and name_server):
        try:
            line = lines.get(timeout=START_TIMEOUT_S)
        except queue.Empty:
            line = None
        if line is None:
            raise ServerFailed(f"glassmq serve did not start: {' '.join(said).strip() or 'it printed nothing'}")
        said.append(line.strip())
        page = found[1] if (found := _PAGE.match(line)) else page
        name_server = found[1] if (found := _NAME_SERVER.match(line)) else name_server
    return PicturePageServer(page, name_server)
