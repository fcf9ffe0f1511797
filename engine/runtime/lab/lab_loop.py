"""The lab's asyncio event loop: virtual time, one step at a time, the same order of events in every run.

It runs ordinary asyncio code. Differences from the live loop:

* Time is an integer number of microseconds and moves only when nothing else can run: an hour of timers takes
  as long as the callbacks in it.
* Every callback belongs to an actor, every actor to a node incarnation (``lab_actor``). Nodes can be paused
  and crashed, actors held, and a scheduler (``lab_schedule``) may choose which actor runs next.
* Threads do not exist: ``run_in_executor`` and ``call_soon_threadsafe`` raise.

Only asyncio's public names are used; ``_set_running_loop`` is exported for authors of event loops.
``asyncio.as_completed`` must not be used by code that runs here: it iterates over a set of coroutines.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import warnings
from asyncio import events
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, NoReturn, Self, cast

from engine.runtime.lab.lab_actor import LabActor, LabNode, LabTask, current_actor, lab_step
from engine.runtime.lab.lab_event import LabEvent
from engine.runtime.lab.lab_failures import LabFailures
from engine.runtime.lab.lab_schedule import LabSchedule
from engine.runtime.step import step_hook

_ExceptionHandler = Callable[[Any, dict[str, Any]], object]
_EMPTY_CONTEXT = contextvars.Context()
_log = logging.getLogger("glassmq.lab")


class LabDeadlock(Exception):
    """The awaited result cannot happen: no event is ready and no timer runs."""


class LabLoop(asyncio.AbstractEventLoop):
    """The event loop of one lab world. ``schedule`` decides which events can run when."""

    def __init__(self) -> None:
        self.schedule = LabSchedule()
        #: Number of the last event that ran; the first is 1.
        self.event_number = 0
        #: The event that runs now.
        self.current: LabEvent | None = None
        #: Callbacks after each event.
        self.on_event: Callable[[LabEvent], None] | None = None
        #: Exceptions that engine code did not catch.
        self.failures = LabFailures()
        self._exception_handler: _ExceptionHandler | None = None
        self.nodes: dict[str, LabNode] = {}
        #: Unfinished tasks of crashed nodes, kept so that none of their ``finally`` blocks runs.
        self.graveyard: list[LabTask[object]] = []
        self._task_count = 0
        self._actor_count = 0
        self._closed = False
        self._stopping = False
        # Empty at first: no state of the thread that steps this world may leak into it.
        self._base_context = contextvars.Context()
        self._base_context.run(step_hook.set, lab_step)
        #: The actor of everything from outside the world (the test, the host).
        self.root = self.new_actor("driver", self.start_node("world"))
        self._base_context.run(current_actor.set, self.root)
        #: The actor whose event runs now, or ran last.
        self.last_actor = self.root

    @classmethod
    def new(cls) -> Self:
        """Create a loop. (Type checkers consider the class abstract, because it has no sockets, pipes and signals.)"""
        return cls()

    # ------------------------------------------------------------------------------ nodes and actors

    def start_node(self, name: str) -> LabNode:
        """Start a new incarnation of the node ``name``. Its previous one must have crashed."""
        previous = self.nodes.get(name)
        assert previous is None or not previous.alive, f"node {name} is running"
        node = LabNode(name, previous.incarnation + 1 if previous is not None else 0)
        self.nodes[name] = node
        return node

    def new_actor(self, name: str, node: LabNode) -> LabActor:
        """Create an actor that is not a task, such as a link. Give it work with ``post``."""
        self._actor_count += 1
        return LabActor(self._actor_count, name, node)

    def context_of(self, actor: LabActor) -> contextvars.Context:
        """Return a context in which callbacks run as ``actor``."""
        context = self._base_context.copy()
        context.run(current_actor.set, actor)
        return context

    def crash(self, node: LabNode) -> None:
        """Crash a node: nothing of this incarnation runs from now on, no ``except`` and no ``finally`` either."""
        node.alive = False
        self.graveyard.extend(task for task in node.tasks if not task.done())
        node.tasks.clear()
        self.schedule.drop_node(node)

    def pause(self, node: LabNode) -> None:
        """Pause a node like a long garbage collection: its events wait, and its timers accumulate."""
        node.paused = node.stands_still = True

    def resume(self, node: LabNode) -> None:
        """End a pause; the accumulated events are ready immediately."""
        node.paused = False
        self._go_on(node)

    def stall(self, node: LabNode, until_us: int, actor: LabActor, context: contextvars.Context) -> None:
        """Run nothing of the node before ``until_us``: it waits for its disk, whose event ends that."""
        if until_us > max(node.stalled_until_us, self.schedule.now_us):
            node.stalled_until_us, node.stands_still = until_us, True
            self._add_timer(until_us, self._end_stall, (node, until_us), context, actor, "the disk is done")

    def _end_stall(self, node: LabNode, until_us: int) -> None:
        # Only the last one ends it, unless its time was made to come earlier.
        if node.stalled_until_us == until_us:
            node.stalled_until_us = 0
        self._go_on(node)

    def _go_on(self, node: LabNode) -> None:
        node.stands_still = node.paused or node.stalled_until_us > self.schedule.now_us
        self.schedule.unpark()

    def hold(self, actor: LabActor, duration_us: int) -> None:
        """Run no events of this one actor for some virtual time (at least 1 us)."""
        actor.held_until_us = self.schedule.now_us + max(1, duration_us)
        self._add_timer(actor.held_until_us, self._end_hold, (actor,), self._base_context, self.root, "hold ends")

    def release(self, actor: LabActor) -> None:
        """End a hold early. Nothing happens if the actor is not held."""
        actor.held_until_us = 0
        self.schedule.unpark()

    def _end_hold(self, actor: LabActor) -> None:
        # A later, longer hold may have replaced the one of this timer.
        if 0 < actor.held_until_us <= self.schedule.now_us:
            self.release(actor)

    # ------------------------------------------------------------------------------ scheduling callbacks

    @property
    def now_us(self) -> int:
        """Return the virtual time in microseconds; the world began at 0."""
        return self.schedule.now_us

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.schedule.now_us / 1_000_000

    def call_soon(  # type: ignore[override]  # LabEvent has what asyncio uses of a Handle
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> LabEvent:
        """Schedule ``callback(*args)`` as an event of the actor that ``context`` belongs to."""
        if context is None:
            context = self._inherited_context()
        actor = context.get(current_actor) or self.root
        label = actor.next_label
        if label:
            actor.next_label = ""
        schedule = self.schedule
        cause = self.event_number if self.current is not None else 0
        event = LabEvent(schedule.now_us, callback, args, context, actor, cause, label)
        if self._closed or not actor.node.alive:
            event.cancel()
        else:
            schedule.ready.append(event)
        return event

    def call_later(  # type: ignore[override]  # as call_soon
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> LabEvent:
        """Schedule ``callback(*args)`` after ``delay`` seconds of virtual time."""
        if context is None:
            context = self._inherited_context()
        actor = context.get(current_actor) or self.root
        due_us = self.schedule.now_us + round(delay * 1_000_000)
        return self._add_timer(due_us, callback, args, context, actor, "timer")

    def call_at(  # type: ignore[override]  # as call_soon
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> LabEvent:
        """Schedule ``callback(*args)`` at ``when``, in seconds of virtual time."""
        if context is None:
            context = self._inherited_context()
        actor = context.get(current_actor) or self.root
        return self._add_timer(round(when * 1_000_000), callback, args, context, actor, "timer")

    def post(
        self,
        actor: LabActor,
        context: contextvars.Context,
        label: str,
        delay_us: int,
        callback: Callable[..., object],
        *args: object,
    ) -> LabEvent:
        """Schedule ``callback(*args)`` after ``delay_us`` as an event of ``actor``, in its ``context_of``."""
        return self._add_timer(self.schedule.now_us + delay_us, callback, args, context, actor, label)

    def _add_timer(
        self,
        due_us: int,
        callback: Callable[..., object],
        arguments: tuple[object, ...],
        context: contextvars.Context,
        actor: LabActor,
        label: str,
    ) -> LabEvent:
        cause = self.event_number if self.current is not None else 0
        event = LabEvent(due_us, callback, arguments, context, actor, cause, label)
        if self._closed or not actor.node.alive:
            event.cancel()
        elif due_us <= self.schedule.now_us:
            # After all that is ready, but before later events of an actor that continues without letting time pass.
            self.schedule.ready.append(event)
        else:
            self.schedule.add_timer(event)
        return event

    def _inherited_context(self) -> contextvars.Context:
        return contextvars.copy_context() if self.current is not None else self._base_context

    # ------------------------------------------------------------------------------ tasks and futures

    def create_future(self) -> asyncio.Future[Any]:
        """Create a plain future."""
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        eager_start: bool | None = None,
        node: LabNode | None = None,
    ) -> LabTask[Any]:
        """Create a task that is a new actor, on ``node`` or on the node of the actor that creates it."""
        if eager_start:
            raise NotImplementedError("an eager task would run outside of the lab's scheduler")
        if context is None:
            context = contextvars.copy_context() if self.current is not None else self._base_context.copy()
        if node is None:
            node = (context.get(current_actor) or self.root).node
        if name is None:
            # asyncio's own "Task-17" counts all tasks of the process, so it differs from run to run.
            function = getattr(coro, "__qualname__", type(coro).__name__)
            count = node.task_counts[function] = node.task_counts.get(function, 0) + 1
            name = f"{function}-{count}"
        actor = self.new_actor(f"{node.name}/{name}", node)
        actor.next_label = "starts"
        context.run(current_actor.set, actor)
        self._task_count += 1
        task: LabTask[Any] = LabTask(self._task_count, coro, self, name, context, actor)
        if not node.alive:
            self.graveyard.append(task)
        elif not self._closed:
            node.add_task(task)
        return task

    def get_task_factory(self) -> None:
        """Return ``None`` always: tasks here must be :class:`LabTask`."""

    def set_task_factory(self, factory: object) -> None:
        """Accept only ``None``."""
        if factory is not None:
            raise NotImplementedError("tasks of a lab loop are made by the lab loop")

    def call_soon_threadsafe(self, callback: object, *args: object, context: object = None) -> NoReturn:
        """Raise an error: a callback from another thread would arrive at a different moment in every run."""
        raise NotImplementedError("a lab world has no threads; pass commands to the code that steps the world")

    def run_in_executor(self, executor: Executor | None, func: object, *args: object) -> NoReturn:
        """Raise an error: a thread would finish at a different moment in every run."""
        raise NotImplementedError("a lab world has no threads")

    # ------------------------------------------------------------------------------ running

    def run_events(
        self,
        limit: int = 1,
        until_us: int | None = None,
        stop: Callable[[], object] | None = None,
    ) -> int:
        """Run up to ``limit`` events that are due no later than virtual time ``until_us``.

        ``stop`` is called after each event. Returns how many ran. If fewer than ``limit`` ran because nothing more
        could, the clock is at ``until_us`` afterwards.
        """
        if events._get_running_loop() is not None:
            raise RuntimeError("another event loop runs in this thread")
        schedule = self.schedule
        schedule.stopped_by_gate = False
        next_event = schedule.next_event
        first = self.event_number
        last = first + limit
        events._set_running_loop(self)
        try:
            while self.event_number < last:
                self.current = event = next_event(until_us)
                if event is None:
                    break
                self.event_number += 1
                self.last_actor = actor = event.actor
                actor.steps += 1
                try:
                    event.context.run(event.callback, *event.arguments)
                except (SystemExit, KeyboardInterrupt):
                    self.current = None
                    raise
                except BaseException as exception:
                    # As in asyncio, one failing callback does not end the loop.
                    self.call_exception_handler({"message": "exception in a callback", "exception": exception})
                self.current = None
                if self.on_event is not None:
                    self.on_event(event)
                if stop is not None and stop():
                    return self.event_number - first
            else:
                return limit
            if until_us is not None and not schedule.stopped_by_gate:
                schedule.now_us = max(schedule.now_us, until_us)
            return self.event_number - first
        finally:
            events._set_running_loop(None)

    def run_on_after_fork(self) -> None:
        """Continue the current event in a forked child process: asyncio only knows the loop of one process."""
        events._set_running_loop(self)

    def run_until_complete(self, future: Any) -> Any:
        """Run until ``future`` (or the task of a coroutine) is done and return its result. Raises
        :class:`LabDeadlock`.
        """
        if asyncio.isfuture(future):
            waited_for: asyncio.Future[Any] = future
        else:
            waited_for = self.create_task(cast("Coroutine[Any, Any, Any]", future))
        while not waited_for.done():
            ran = self.run_events(1_000_000, stop=waited_for.done)
            if not waited_for.done() and (ran == 0 or self.schedule.stopped_by_gate):
                raise LabDeadlock(f"{waited_for!r} cannot finish: nothing can run at {self.schedule.now_us} us")
        return waited_for.result()

    def run_forever(self) -> None:
        """Run until ``stop`` is called, or nothing can run any more."""
        self._stopping = False
        while not self._stopping and self.run_events(1_000_000, stop=lambda: self._stopping):
            pass

    def stop(self) -> None:
        """End ``run_forever`` after the current event."""
        self._stopping = True

    def is_running(self) -> bool:
        """Return whether this loop is running in this thread."""
        return events._get_running_loop() is self

    # ------------------------------------------------------------------------------ failures and the end

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep an uncaught exception (:class:`LabFailures`)."""
        if self._closed:
            return
        if self._exception_handler is not None:
            self._exception_handler(self, context)
        else:
            self.failures.report(context, self.event_number, self.current.actor.name if self.current else None)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Handle an exception as ``call_exception_handler`` does."""
        self.call_exception_handler(context)

    def get_exception_handler(self) -> _ExceptionHandler | None:
        """Return the handler that ``set_exception_handler`` set."""
        return self._exception_handler

    def set_exception_handler(self, handler: _ExceptionHandler | None) -> None:
        """Pass uncaught exceptions to ``handler(loop, context)`` instead of ``failures``."""
        self._exception_handler = handler

    def get_debug(self) -> bool:
        """Return False always: asyncio's debug mode measures real time."""
        return False

    def set_debug(self, enabled: bool) -> None:
        """Do nothing (``get_debug``)."""

    async def shutdown_asyncgens(self) -> None:
        """Do nothing: the loop does not track generators."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Do nothing: there is no executor."""

    def is_closed(self) -> bool:
        """Return whether ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """Free the world: unfinished coroutines are closed, oldest first; events that they schedule are ignored."""
        if self._closed:
            return
        assert self.current is None, "a world cannot be closed from inside"
        self._closed = True
        self.on_event = self._exception_handler = None
        self.schedule.clear()
        victims = [*self.graveyard]
        for node in self.nodes.values():
            victims += [task for task in node.tasks if not task.done()]
            node.tasks.clear()
        self.graveyard.clear()
        for task in victims:
            coroutine = task.get_coro()
            try:
                if coroutine is not None:
                    with warnings.catch_warnings():
                        # A task that never began has awaited none of its arguments.
                        warnings.simplefilter("ignore", RuntimeWarning)
                        coroutine.close()
            except BaseException as exception:
                _log.debug("%s while a world was freed: %r", task.get_name(), exception)
            # Frees the cycle of task and awaited future; nothing runs any more.
            task.cancel()
            # It need not be reported while it waits, because its world is over. (asyncio's own way to mark that.)
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio.gather sets it too
        self._base_context = _EMPTY_CONTEXT.copy()
