"""The processes of a search that forks (:mod:`engine.lab.run.process_tree`).

As many processes run as the tree has slots; a slot is a byte in a pipe, as in make's job server. A process that forks
takes a slot for its child if one is free and goes on next to it; else it waits until the child has ended. So there is
one chain of waiting processes per slot, each as long as the search is deep.

Results share one pipe; a byte in another one is the permission to write. All processes are of one process group, which
:meth:`ForkedProcesses.grow` kills at its end. Should the process that called it be killed, they cannot report any more
and end, each parent after its child.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import struct
import traceback
import warnings
from collections.abc import Callable, Generator
from typing import BinaryIO, NoReturn

from engine.lab.run.process_tree import TreeBranch, TreeFailed

#: Processes of one tree that run at a time, at most.
PROCESSES_MAX = 64
_LENGTH = struct.Struct("!I")


def usable_cores() -> int:
    """Return how many cores this process may use, at most :data:`PROCESSES_MAX`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(PROCESSES_MAX, cores)


def forked_processes(processes: int) -> ForkedProcesses | None:
    """Return a tree for ``processes`` at a time; None when this machine cannot fork."""
    return ForkedProcesses(processes) if hasattr(os, "fork") else None


class ForkedProcesses:
    """A :class:`~engine.lab.run.process_tree.ProcessTree`. ``processes``: how many run at a time."""

    def __init__(self, processes: int) -> None:
        assert 1 <= processes <= PROCESSES_MAX
        self._processes = processes

    def grow(self, work: Callable[[TreeBranch], None]) -> Generator[object, None, None]:
        """Fork the first process of the tree from this one."""
        pipes = _Pipes(self._processes)
        try:
            first = _fork()
            if first == 0:
                _live(pipes, work)
            # Here as well as in the child: one of the two comes first.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.setpgid(first, first)
            pipes.close_writing_end()
            try:
                yield from pipes.results()
            finally:
                # The first process exists until it is waited for, so no other process can have its number.
                os.killpg(first, signal.SIGKILL)
                pipes.discard_results()
                os.waitpid(first, 0)
        finally:
            pipes.close()


class _Pipes:
    """What the processes of a tree share."""

    def __init__(self, processes: int) -> None:
        results_out, self._results_in = os.pipe()
        self._results: BinaryIO = os.fdopen(results_out, "rb")
        self._slots_out, self._slots_in = os.pipe()
        self._turn_out, self._turn_in = os.pipe()
        os.set_blocking(self._slots_out, False)
        os.write(self._slots_in, b"s" * (processes - 1))
        os.write(self._turn_in, b"t")

    def close_writing_end(self) -> None:
        """Close the writing end here, so that the results end with the last process of the tree."""
        os.close(self._results_in)

    def close(self) -> None:
        """Close this process's ends of the pipes."""
        self._results.close()
        for descriptor in (self._slots_out, self._slots_in, self._turn_out, self._turn_in):
            os.close(descriptor)

    def results(self) -> Generator[object, None, None]:
        """Yield what is reported until every process has ended."""
        while header := self._results.read(_LENGTH.size):
            result = pickle.loads(self._results.read(_LENGTH.unpack(header)[0]))  # noqa: S301  # from our own processes
            if isinstance(result, TreeFailed):
                raise result
            if result is None:
                return
            yield result
        raise TreeFailed("a process of the search was killed")

    def discard_results(self) -> None:
        """Wait until no process of the tree can write any more."""
        while self._results.read(1 << 16):
            pass

    def report(self, result: object) -> None:
        """Write ``result`` in one piece, when this process has the permission to write."""
        body = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        content = memoryview(_LENGTH.pack(len(body)) + body)
        os.read(self._turn_out, 1)
        try:
            while content:
                content = content[os.write(self._results_in, content) :]
        finally:
            os.write(self._turn_in, b"t")  # also when there is no reader: the others must find that out

    def stop_reading(self) -> None:
        """Stop reading in the processes of the tree: only the process outside reads results, so that writing fails when
        it is gone.
        """
        self._results.close()

    def take_slot(self) -> bool:
        """Return whether another process may run next to those that do."""
        try:
            return bool(os.read(self._slots_out, 1))
        except BlockingIOError:
            return False

    def give_slot(self) -> None:
        """Let another process run."""
        os.write(self._slots_in, b"s")


class _Branch:
    """A :class:`~engine.lab.run.process_tree.TreeBranch`: the place of this process in the tree."""

    def __init__(self, pipes: _Pipes) -> None:
        self._pipes = pipes
        self._has_slot = False
        self._parallel_children: list[int] = []

    def fork(self) -> bool:
        has_slot = self._pipes.take_slot()
        child = _fork()
        if child == 0:
            self._has_slot, self._parallel_children = has_slot, []
            return True
        if has_slot:
            self._parallel_children.append(child)
        else:
            _wait_for(child)
        return False

    def report(self, result: object) -> None:
        self._pipes.report(result)

    def end(self) -> None:
        """Free the slot for others, then wait for the children that ran next to this process."""
        if self._has_slot:
            self._pipes.give_slot()
        for child in self._parallel_children:
            _wait_for(child)


def _live(pipes: _Pipes, work: Callable[[TreeBranch], None]) -> NoReturn:
    """Run the tree's first process, and each of its descendants, from fork to end."""
    status = 1
    try:
        first = os.getpid()
        os.setpgid(0, 0)
        pipes.stop_reading()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # The world is never freed, it ends with its process; a collection would copy every page.
        gc.disable()
        branch = _Branch(pipes)
        try:
            work(branch)
            branch.end()
            if os.getpid() == first:
                pipes.report(None)
            status = 0
        except (BrokenPipeError, _ChildFailed):
            pass
        except BaseException:
            pipes.report(TreeFailed(traceback.format_exc()))
    finally:
        os._exit(status)


class _ChildFailed(Exception):
    """A child ended before its work was done and reported why, or there is no reader any more."""


def _wait_for(child: int) -> None:
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise _ChildFailed


def _fork() -> int:
    with warnings.catch_warnings():
        # A search process has a second thread, which only waits for its parent's end and holds no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
