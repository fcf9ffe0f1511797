"""Looks at the broker from outside while it is under load: its process, its disk, its page."""

from __future__ import annotations

import os
import re
import threading
import time
import urllib.request
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from tests.interop.harness.process import ManagedProcess
from tests.soak.soaked_broker import SoakedBroker
from tests.support.live.socket_browser import Refused, SocketBrowser

_PAGE_TIMEOUT_S = 10.0
_PAGES = ("/", "/metrics")
_DIFF = re.compile(r'^rocketmq_group_(?:retry)?diff\{group="(soak_[^"]+)".*\} (\d+)', re.MULTILINE)


@dataclass(frozen=True)
class ProcessLook:
    """What Linux says of a process: memory of its own (not the log's mapped pages), all memory, open files."""

    own_mib: float
    resident_mib: float
    fds: int

    @classmethod
    def of(cls, process: ManagedProcess, data: Path) -> ProcessLook | None:
        """None when the process is gone. Files of the store that still exist are no leak, so they are not counted."""
        folder = Path(f"/proc/{process.process_id}")
        try:
            status = (folder / "status").read_text("ascii")
            targets = [_target(link) for link in (folder / "fd").iterdir()]
        except OSError:
            return None
        sizes = {name: int(kib) / 1024 for name, kib in re.findall(r"^(RssAnon|VmRSS):\s+(\d+) kB", status, re.M)}
        if len(sizes) < 2:
            return None  # it is being taken away
        stored = sum(target.startswith(f"{data}/") and not target.endswith("(deleted)") for target in targets)
        return cls(sizes["RssAnon"], sizes["VmRSS"], len(targets) - stored)


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""  # closed meanwhile


@dataclass
class PageWatch:
    """Asks for pages once a second and follows the live stream, in two threads, as a browser would."""

    broker: SoakedBroker
    #: (monotonic second, milliseconds until the whole answer), by when it was asked for; or (second, None), by when it
    #: was known that none comes: a kill cuts off what was asked for before it.
    answers: list[tuple[float, float | None]] = field(default_factory=list)
    #: Seconds at which the live stream brought something.
    updates: array[float] = field(default_factory=lambda: array("d"))
    lag: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        for work in (self._ask, self._follow):
            threading.Thread(target=work, daemon=True, name=f"soak {work.__name__}").start()

    def stop(self) -> None:
        self._stopped.set()

    def _ask(self) -> None:
        number = 0
        while not self._stopped.wait(0.5):
            path = _PAGES[number % len(_PAGES)]
            number += 1
            begun = time.monotonic()
            try:
                with urllib.request.urlopen(f"http://{self.broker.page}{path}", timeout=_PAGE_TIMEOUT_S) as answer:
                    text = answer.read().decode()
            except OSError:
                self.answers.append((time.monotonic(), None))
                continue
            self.answers.append((begun, (time.monotonic() - begun) * 1000))
            if path == "/metrics":
                self.lag = sum(int(count) for _, count in _DIFF.findall(text))

    def _follow(self) -> None:
        while not self._stopped.is_set():
            try:
                browser = SocketBrowser(self.broker.page, timeout_s=_PAGE_TIMEOUT_S)
            except (OSError, Refused):
                self._stopped.wait(0.5)
                continue
            try:
                while not self._stopped.is_set() and (event := browser.receive()) is not None:
                    self.updates.append(time.monotonic())
                    if "sequence" in event[1]:
                        browser.send("acknowledge", {"sequence": event[1]["sequence"]})
            except OSError:
                pass  # the broker was killed
            finally:
                browser.close()
