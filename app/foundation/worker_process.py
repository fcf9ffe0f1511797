"""A process of the server for work that would keep a page waiting. It is a fresh interpreter (spawn) at low priority,
and ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

from engine.lab.run.spread import silence_logging

#: The nice(1) value of the process.
NICENESS = 10
#: How long an ended process may take to disappear, in seconds.
_JOIN_S = 5.0


class WorkerProcess:
    """A process that runs ``function(sender, *arguments)`` from the start.

    :ivar receiver: yields what the function sends; raises EOFError when the process is gone.
    """

    def __init__(self, name: str, function: Callable[..., object], *arguments: object) -> None:
        context = multiprocessing.get_context("spawn")
        self.receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(function, sender, *arguments), name=name, daemon=True)
        self.process.start()
        sender.close()

    def terminate(self) -> None:
        """Terminate the process; its receiver sees the end."""
        self.process.terminate()

    def close(self) -> None:
        """End the process, wait until it is gone, and free what it used."""
        self.receiver.close()
        self.process.terminate()
        self.process.join(_JOIN_S)


def live_with_parent() -> None:
    """End this process as soon as its parent ends, and not by Ctrl-C; for a process that multiprocessing has
    started.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Ctrl-C goes to the whole process group; the first process ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with_parent() -> None:
    """End this process with its parent: a killed parent notifies nobody, and its workers would run or wait forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "workers have one"
    parent.join()
    os._exit(1)


def _work(function: Callable[..., object], sender: Connection, *arguments: object) -> None:
    live_with_parent()
    os.nice(NICENESS)
    silence_logging()
    with sender, contextlib.suppress(BrokenPipeError):
        function(sender, *arguments)
