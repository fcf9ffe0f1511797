"""A process of the server's own for what would keep a page waiting: a fresh interpreter (spawn) that gives way to
everything else on the machine, and ends with whoever started it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

from engine.lab.run.spread import be_quiet

#: How much it gives way (as nice(1)).
NICENESS = 10
#: How long an ended process may take to go.
_JOIN_S = 5.0


class WorkerProcess:
    """``function(sender, *arguments)`` at work, from the start.

    :ivar receiver: brings what the function sends; EOFError when the process is gone.
    """

    def __init__(self, name: str, function: Callable[..., object], *arguments: object) -> None:
        context = multiprocessing.get_context("spawn")
        self.receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(function, sender, *arguments), name=name, daemon=True)
        self.process.start()
        sender.close()

    def terminate(self) -> None:
        """Whoever receives sees the end."""
        self.process.terminate()

    def close(self) -> None:
        """End it, wait until it is gone, and free what it used."""
        self.receiver.close()
        self.process.terminate()
        self.process.join(_JOIN_S)


def live_with_parent() -> None:
    """For a process that multiprocessing has started: it ends as soon as its parent does, and not by Ctrl-C."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Ctrl-C goes to the whole group; the first process ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with_parent() -> None:
    """A first process that was killed tells nobody; its workers would go on, or wait for work, for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "workers have one"
    parent.join()
    os._exit(1)


def _work(function: Callable[..., object], sender: Connection, *arguments: object) -> None:
    live_with_parent()
    os.nice(NICENESS)
    be_quiet()
    with sender, contextlib.suppress(BrokenPipeError):
        function(sender, *arguments)
