"""A watch on ledgers alongside a stream: Spark runs a micro-batch only when messages came, but banks continue to
credit.

A separate thread checks the files. When one has changed, it copies both again and reports the money again, with the
messages of the last micro-batch. It does not use Spark.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.report import ROWS_MAX
from engine.pipeline.jobs.transaction_reconciliation.ledgers import LEDGER_FILES, Ledgers

log = logging.getLogger("glassmq.pipeline")

#: How long a copy in progress is awaited at the end.
_LAST_WORD_S = 1.0


class LedgerWatch:
    """Watch the ledgers; use it in a ``with``, which ends the thread. Micro-batches and the thread take turns."""

    def __init__(self, folder: Path | None, every_ms: int, rows_max: int = ROWS_MAX) -> None:
        """Create a watch.

        :param folder: as in :class:`Ledgers`, like ``rows_max``; None: there are no ledgers, and nothing is watched.
        """
        self._folder = folder
        self._rows_max = rows_max
        self._every_s = every_ms / 1_000
        self._turn = threading.Lock()
        self._ends = threading.Event()
        self._ledgers: Ledgers | None = None
        self._report: Callable[[], None] | None = None
        self._seen: list[tuple[int, int]] = []
        self._thread = threading.Thread(target=self._watch, name="ledgers", daemon=True)

    def __enter__(self) -> LedgerWatch:
        if self._folder is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        # A micro-batch that was interrupted may still hold the copies; they are temporary files.
        if self._turn.acquire(timeout=_LAST_WORD_S):
            self._forget()
            self._turn.release()

    @contextmanager
    def look(self) -> Iterator[Ledgers | None]:
        """Yield new copies for one micro-batch; None if there are no ledgers. They are kept until the next, unless this
        one fails or the watch has ended.
        """
        with self._turn, ExitStack() as stack:
            self._forget()
            stack.callback(self._forget)
            if self._folder is not None:
                self._seen = _stamps(self._folder)
                self._ledgers = Ledgers(self._folder, self._rows_max).__enter__()
            yield self._ledgers
            if not self._ends.is_set():
                stack.pop_all()

    def report_again_by(self, report: Callable[[], None]) -> None:
        """Set the function to call when the kept ledgers were copied again; called within :meth:`look`."""
        self._report = report

    def report_if_changed(self) -> None:
        """Check for changes; called by the thread repeatedly. It does nothing during a micro-batch, which reports
        everything itself.
        """
        if not self._turn.acquire(blocking=False):
            return
        try:
            if self._folder is None or self._ledgers is None or self._report is None:
                return
            seen = _stamps(self._folder)
            if seen != self._seen:
                self._seen = seen
                self._ledgers.copy_again()
                self._report()
        except (JobFailed, OSError, sqlite3.Error) as error:
            # The next micro-batch finds it, too, and ends the job if it persists.
            log.warning("%s", error)
            self._forget()
        finally:
            self._turn.release()

    def _forget(self) -> None:
        if self._ledgers is not None:
            self._ledgers.__exit__()
        self._ledgers = self._report = None

    def _watch(self) -> None:
        while not self._ends.wait(self._every_s):
            self.report_if_changed()


def _stamps(folder: Path) -> list[tuple[int, int]]:
    """Return (modification time, bytes) of each file that SQLite writes, which differ after a bank's commit."""
    found = []
    for name in LEDGER_FILES:
        for path in (folder / name, folder / f"{name}-wal"):
            try:
                stat = path.stat()
            except OSError:
                continue
            found.append((stat.st_mtime_ns, stat.st_size))
    return found
