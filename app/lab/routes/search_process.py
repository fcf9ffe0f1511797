"""A search in a process of its own, so that no page waits for one.

The process is a fresh interpreter (spawn) at low priority. It reports its progress about five times a second, and a
thread here passes that on. A search that is no longer polled is ended, and so is one that takes too long.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from app.foundation.forked_processes import forked_processes, usable_cores
from app.foundation.worker_process import WorkerProcess
from app.lab.routes.search_order import ENDS, NoteState, SearchOrder, search

#: A search ends when it has not been polled for the first time, and in any case after the second: all schedules of
#: three-locks with up to two stalls, some 30,000, take about ten minutes of one core.
ABANDONED_S = 30.0
TIME_MAX_S = 1_200.0
#: Seconds that an ended search may take to exit.
_JOIN_S = 5.0


class SearchProcess:
    """One search and its process. ``clock``: monotonic seconds."""

    def __init__(self, order: SearchOrder, note: NoteState, clock: Callable[[], float] = time.monotonic) -> None:
        self.worker = WorkerProcess("glassmq explorer", search_in_process, order)
        self._note = note
        self._clock = clock
        self._started_s = self._asked_s = clock()
        self.thread = threading.Thread(target=self._listen, name="explorer listener", daemon=True)
        try:
            self.thread.start()
        except BaseException:
            self.worker.close()
            raise

    def asked(self) -> None:
        """Note that a page has polled the search."""
        self._asked_s = self._clock()

    def end(self) -> None:
        """Terminate the process, and wait until it is gone."""
        self.worker.terminate()
        self.thread.join(_JOIN_S)

    def _listen(self) -> None:
        """Pass on what the process reports until its end."""
        try:
            while self._clock() - self._asked_s <= ABANDONED_S and self._clock() - self._started_s <= TIME_MAX_S:
                if self.worker.receiver.poll(0.5):
                    state = self.worker.receiver.recv()
                    self._note(state)
                    if state["phase"] in ENDS:
                        return
            self._note({"phase": "cancelled"})
        except (EOFError, OSError):
            self._note({"phase": "failed"})
        finally:
            self.worker.close()


def search_in_process(sender: Connection, order: SearchOrder) -> None:
    """Search in a process of its own, and send each state."""
    states = search(order, forked_processes(usable_cores()))
    # What is imported by now stays: the collector need not examine it after every world.
    gc.collect()
    gc.freeze()
    for state in states:
        sender.send(state)
