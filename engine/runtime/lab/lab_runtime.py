"""One lab world, and the runtimes of its nodes: the port's ``Runtime`` in virtual time.

    world = LabMachines(seed=1)
    broker_runtime = world.node("broker-a")
    world.run(start_everything(), node="broker-a")
    world.crash("broker-a")

The behaviour of a world is a function of the code in it, its seed and the calls from outside.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Callable, Coroutine, MutableMapping
from functools import lru_cache
from typing import Any, TypeVar

from engine.runtime.lab.lab_actor import LabActor, LabNode, LabTask
from engine.runtime.lab.lab_clock import LabClock
from engine.runtime.lab.lab_disk import LabDisk
from engine.runtime.lab.lab_event import LabEvent
from engine.runtime.lab.lab_journal import JOURNAL_LIMIT, LabJournal
from engine.runtime.lab.lab_link_fault import Parcel
from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.lab.lab_network import DEFAULT_LATENCY_US, LabNetwork, LabNodeNetwork
from engine.runtime.lab.lab_storage import LabStorage
from engine.runtime.port import Network, NodeIdentity

_T = TypeVar("_T")

#: Virtual time after which ``run`` and ``run_until`` give up by default: one hour.
DEFAULT_LIMIT_MS = 3_600_000

_SLICE_EVENTS = 1_000_000


class LabTimeLimit(Exception):
    """The awaited condition did not occur within its limit of virtual time."""


class LabNodeFailed(Exception):
    """An exception left a callback of the engine: a bug. The original is its cause."""


class LabRuntime:
    """The runtime of one node incarnation."""

    def __init__(self, world: LabMachines, node: LabNode, storage: LabStorage, identity: NodeIdentity) -> None:
        self.node = node
        self.node_name = node.name
        self.identity = identity
        self.clock = LabClock(world.loop)
        #: May be replaced by a wrapper, before the node starts.
        self.network: Network = LabNodeNetwork(world.network, node)
        self.disk = LabDisk(storage, node, self.clock, world.loop)
        #: The names of this incarnation: a node of the lab is a process.
        self.process_names: MutableMapping[str, object] = {}
        self._world = world
        self._randoms: dict[str, random.Random] = {}

    def random_for(self, purpose: str) -> random.Random:
        """Return the random generator of a purpose, always the same object."""
        if purpose not in self._randoms:
            incarnation = f"#{self.node.incarnation}" if self.node.incarnation else ""
            seed = f"{self._world.seed}:{self.node_name}{incarnation}:{purpose}"
            self._randoms[purpose] = random.Random(seed)
        return self._randoms[purpose]

    async def call_listener(self, listener: Callable[..., Any], *arguments: Any) -> Any:
        """Call a listener. A plain one is called directly: it takes no virtual time."""
        result = listener(*arguments)
        return await result if inspect.isawaitable(result) else result

    def spawn(self, coroutine: Coroutine[Any, Any, _T], name: str) -> asyncio.Task[_T]:
        """Run ``coroutine`` as a task of this node. All tasks that it creates also belong to the node."""
        return self._world.spawn(coroutine, name, self.node)

    def run(self, work: Coroutine[Any, Any, _T] | asyncio.Future[_T], *, limit_ms: int = DEFAULT_LIMIT_MS) -> _T:
        """Run ``work`` as this node until it is done and return its result. The whole world continues meanwhile."""
        return self._world.run(work, node=self.node_name, limit_ms=limit_ms)


class LabMachines:
    """Nodes, links and disks under one virtual clock."""

    def __init__(
        self,
        seed: int = 1,
        *,
        latency_us: int = DEFAULT_LATENCY_US,
        jitter_us: int = 0,
        bytes_per_s: int | None = None,
        journal_limit: int = JOURNAL_LIMIT,
        raise_failures: bool = True,
    ) -> None:
        self.seed = seed
        #: Whether ``run...`` raise :class:`LabNodeFailed` at the event in which engine code failed. A page shows
        #: ``loop.failures`` instead.
        self.raise_failures = raise_failures
        self.loop = LabLoop.new()
        self.journal = LabJournal(journal_limit)
        self.network = LabNetwork(self.loop, seed, latency_us, jitter_us, bytes_per_s)
        self.storages: dict[str, LabStorage] = {}
        self._runtimes: dict[str, LabRuntime] = {}
        self._spawned: list[LabTask[Any]] = []
        self.loop.on_event = self._write_journal
        self.network.parcel_watchers.append(self._hash_parcel)

    # ------------------------------------------------------------------------------ nodes

    def node(self, name: str) -> LabRuntime:
        """Return the node's runtime; the node is created at first use. A crashed one must be restarted first."""
        if name not in self._runtimes:
            return self._start(name)
        assert self._runtimes[name].node.alive, f"node {name} has crashed: restart it first"
        return self._runtimes[name]

    def restart(self, name: str) -> LabRuntime:
        """Start a new incarnation with the files of the last one; it crashes first if it still runs."""
        if self._runtimes[name].node.alive:
            self.crash(name)
        return self._start(name)

    def crash(self, name: str, keep_page_cache: bool = True, *, silent: bool = False, torn: bool = False) -> None:
        """Crash a node immediately: no ``finally`` runs.

        ``keep_page_cache``: the process was killed, so written data survives; otherwise the power was cut, and only
        flushed data survives (with ``torn``, random parts of the rest, too). ``silent``: peers are not notified.
        """
        runtime = self._runtimes[name]
        assert runtime.node.alive, f"node {name} has crashed already"
        self.loop.crash(runtime.node)
        self.network.node_crashed(runtime.node, silent=silent)
        if not keep_page_cache:
            chance = random.Random(f"{self.seed}:{name}:{self.loop.event_number}:torn") if torn else None
            self.storages[name].cut_power(chance)

    def pause(self, name: str) -> None:
        """Pause a node until ``resume``; its timers accumulate."""
        self.loop.pause(self._runtimes[name].node)

    def resume(self, name: str) -> None:
        """End a pause."""
        self.loop.resume(self._runtimes[name].node)

    def actors(self) -> list[LabActor]:
        """Return everything that runs callbacks now: unfinished tasks, then links; in the order of their creation."""
        tasks = [task.actor for node in self.loop.nodes.values() for task in node.tasks if not task.done()]
        return tasks + self.network.link_actors()

    def _start(self, name: str) -> LabRuntime:
        node = self.loop.start_node(name)
        ip = self.network.attach(node)
        storage = self.storages.setdefault(name, LabStorage())
        number = list(self.storages).index(name) + 1
        instance_hash = _instance_hash(self.seed, name, node.incarnation)
        identity = NodeIdentity(ip, 1_000 * number + node.incarnation, instance_hash)
        runtime = self._runtimes[name] = LabRuntime(self, node, storage, identity)
        return runtime

    # ------------------------------------------------------------------------------ running

    def spawn(self, coroutine: Coroutine[Any, Any, _T], name: str, node: LabNode) -> asyncio.Task[_T]:
        """Run ``coroutine`` as a task of ``node``."""
        task: LabTask[_T] = self.loop.create_task(coroutine, name=name, node=node)
        self._spawned = [known for known in self._spawned if not known.done() or _failure_of(known)]
        self._spawned.append(task)
        return task

    def run(
        self,
        work: Coroutine[Any, Any, _T] | asyncio.Future[_T],
        *,
        node: str | None = None,
        limit_ms: int = DEFAULT_LIMIT_MS,
    ) -> _T:
        """Run until ``work`` is done and return its result.

        A coroutine runs on ``node``; without one it runs outside the world, and so do the tasks that it creates
        directly: tasks that must crash with a node have to be started on it.
        """
        if asyncio.isfuture(work):
            task: asyncio.Future[_T] = work
        else:
            owner = self._runtimes[node].node if node is not None else None
            task = self.loop.create_task(work, name="run", node=owner)
        self.run_until(task.done, limit_ms)
        return task.result()

    def run_for(self, duration_ms: int) -> None:
        """Let ``duration_ms`` of virtual time pass."""
        end_us = self.loop.now_us + duration_ms * 1_000
        while self.loop.run_events(_SLICE_EVENTS, end_us, self._failed) == _SLICE_EVENTS:
            self._raise_failure()
        self._raise_failure()

    def run_until(self, predicate: Callable[[], object], limit_ms: int = DEFAULT_LIMIT_MS) -> None:
        """Run until ``predicate()`` is true; it is called after each event. Raises :class:`LabTimeLimit`."""
        end_us = self.loop.now_us + limit_ms * 1_000
        while not predicate():
            ran = self.loop.run_events(_SLICE_EVENTS, end_us, lambda: predicate() or self._failed())
            self._raise_failure()
            if ran < _SLICE_EVENTS and not predicate():
                failed = {task.get_name(): _failure_of(task) for task in self._spawned if _failure_of(task)}
                raise LabTimeLimit(
                    f"not reached within {limit_ms} ms of virtual time "
                    f"(now {self.loop.now_us / 1_000:.3f} ms, {self.loop.event_number} events); "
                    f"failed tasks: {failed or 'none'}; last events: {self.journal.entries[-5:]}"
                )

    def stop_journal(self) -> None:
        """Stop the journal, for worlds that run by the thousand."""
        self.loop.on_event = None
        self.network.parcel_watchers.remove(self._hash_parcel)

    def close(self) -> None:
        """Free the world, and close its unfinished coroutines."""
        self.loop.close()
        self.network.parcel_watchers.clear()
        self.network.cut_watchers.clear()
        self.network.faults.clear()
        self._spawned.clear()

    def __enter__(self) -> LabMachines:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _failed(self) -> bool:
        return self.raise_failures and bool(self.loop.failures.failures)

    def _raise_failure(self) -> None:
        if self._failed():
            failure = self.loop.failures.failures.pop(0)
            raise LabNodeFailed(
                f"event {failure.event_number}, {failure.actor}: {failure.message}: {failure.exception!r}"
            ) from failure.exception

    def _write_journal(self, event: LabEvent) -> None:
        loop = self.loop
        label = event.label or "goes on"
        self.journal.append(loop.event_number, loop.schedule.now_us, event.actor.name, label, event.cause)

    def _hash_parcel(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        self.journal.mix(parcel.data)


@lru_cache(maxsize=1_000)
def _instance_hash(seed: int, name: str, incarnation: int) -> int:
    """Return the instance hash. Cached, because seeding a generator is slow and searches recreate the same
    world often.
    """
    return random.Random(f"{seed}:{name}:{incarnation}:instance").getrandbits(31)


def _failure_of(task: asyncio.Task[Any]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None
