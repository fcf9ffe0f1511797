"""Ledgers beside a stream: Spark hands out a micro-batch only when messages came, but banks go on crediting.

A thread of its own looks at the files, and when one has changed since, copies both anew and tells the money again, with
what the messages of the last micro-batch said. It asks nothing of Spark.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.transaction_reconciliation.ledgers import PAYING_FILE, RECEIVING_FILE, Ledgers

log = logging.getLogger("glassmq.pipeline")

#: Patience at the end with a copy that is being made.
_LAST_WORD_S = 1.0


class LedgerWatch:
    """Use in a ``with``, which ends the thread. Micro-batches and the thread take turns."""

    def __init__(self, folder: Path | None, every_ms: int) -> None:
        """:param folder: see :class:`Ledgers`; None: there are no ledgers, and nothing is watched."""
        self._folder = folder
        self._every_s = every_ms / 1_000
        self._turn = threading.Lock()
        self._ends = threading.Event()
        self._kept = ExitStack()
        self._ledgers: Ledgers | None = None
        self._tell: Callable[[], None] | None = None
        self._seen: list[tuple[int, int]] = []
        self._thread = threading.Thread(target=self._watch, name="ledgers", daemon=True)

    def __enter__(self) -> LedgerWatch:
        if self._folder is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        # A micro-batch that was cut off may still hold the copies; they are temporary files.
        if self._turn.acquire(timeout=_LAST_WORD_S):
            self._forget()
            self._turn.release()

    @contextmanager
    def look(self) -> Iterator[Ledgers | None]:
        """New copies for one micro-batch; None: there are no ledgers. They are kept until the next."""
        with self._turn:
            self._forget()
            if self._folder is None:
                yield None
                return
            with ExitStack() as stack:
                seen = _stamps(self._folder)
                ledgers = stack.enter_context(Ledgers(self._folder))
                yield ledgers
                self._ledgers, self._seen = ledgers, seen
                self._kept = stack.pop_all()

    def tell_again_by(self, tell: Callable[[], None]) -> None:
        """What shall be done with the kept ledgers when they were copied anew; called within :meth:`look`."""
        self._tell = tell

    def tell_if_changed(self) -> None:
        """What the thread does again and again; nothing while a micro-batch is at work, which tells it all itself."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            if self._folder is None or self._ledgers is None or self._tell is None:
                return
            seen = _stamps(self._folder)
            if seen != self._seen:
                self._seen = seen
                self._ledgers.copy_again()
                self._tell()
        except (JobFailed, OSError, sqlite3.Error) as error:
            # The next micro-batch finds it too, and ends the job if it is still so.
            log.warning("%s", error)
            self._forget()
        finally:
            self._turn.release()

    def _watch(self) -> None:
        while not self._ends.wait(self._every_s):
            self.tell_if_changed()

    def _forget(self) -> None:
        self._ledgers = self._tell = None
        self._kept.close()


def _stamps(folder: Path) -> list[tuple[int, int]]:
    """They differ when a bank has committed: (time of change, bytes) of each file that SQLite writes."""
    found = []
    for name in (PAYING_FILE, RECEIVING_FILE):
        for path in (folder / name, folder / f"{name}-wal"):
            try:
                stat = path.stat()
            except OSError:
                continue
            found.append((stat.st_mtime_ns, stat.st_size))
    return found
