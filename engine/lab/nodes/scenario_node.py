"""One node of a scenario: a machine with one process of the engine on it; and the environment of such nodes.

The role outlives crashes, as a machine does; its engine objects live from one start of the process to its end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from itertools import islice
from typing import Any, ClassVar, TypeVar

from engine.idempotence.foundation.record import RecordKey
from engine.lab.nodes.history import LabHistory, NodeChanged, PagesFetched
from engine.lab.scenario.kinds.node_spec import DiskNodeSpec, MemberSpec, NodeSpec, SettingValue, System
from engine.lab.scenario.scenario import Scenario, TopicSpec
from engine.lab.scenario.settings import of_class
from engine.runtime.lab.lab_actor import LabNode
from engine.runtime.lab.lab_page_cache import LabPageCache
from engine.runtime.lab.lab_runtime import LabMachines, LabRuntime
from engine.runtime.lab.lab_storage import LabStorage

_Role = TypeVar("_Role", bound="ScenarioNode")
_Spec = TypeVar("_Spec", bound=NodeSpec)
_Config = TypeVar("_Config")

_log = logging.getLogger("glassmq.lab")


class WorldContext:
    """The context that the nodes of one world share; :class:`engine.lab.world.world.ScenarioWorld` provides it.

    :ivar lab: network, disks, journal, and the ``loop`` that runs all events.
    :ivar history: what the clients saw.
    :ivar switched_off: switches that are off on every node, also on those that join later; see
        :mod:`engine.lab.scenario.switches`.
    :ivar nodes: by name, in the order of the scenario, then those that joined.
    """

    #: Address of the name server for every broker and client.
    name_server_address: str

    def __init__(self, scenario: Scenario, lab: LabMachines) -> None:
        self.scenario = scenario
        self.lab = lab
        self.loop = lab.loop
        self.history = LabHistory()
        self.switched_off: dict[str, None] = dict.fromkeys(scenario.switched_off)
        self.nodes: dict[str, ScenarioNode] = {}

    def roles(self, kind: type[_Role], first: int = 0) -> list[_Role]:
        """Return all nodes of one kind, in the order of ``nodes``, from the one with this position on."""
        return [role for role in islice(self.nodes.values(), first, None) if isinstance(role, kind)]

    def find(self, kind: type[_Role], name: str) -> _Role | None:
        """Return the node with this name; None if it is of another kind or does not exist."""
        role = self.nodes.get(name)
        return role if isinstance(role, kind) else None

    def topics(self, *, of_kafka: bool) -> list[TopicSpec]:
        """Return the topics on Kafka brokers, which Kafka clients name, or those on RocketMQ brokers, which others
        do.
        """

        def is_named(topic: TopicSpec, *, by_kafka: bool) -> bool:
            nodes = [spec for spec in self.scenario.nodes if (spec.system is System.KAFKA) == by_kafka]
            return any(topic.name in spec.topics for spec in nodes)

        of_both = self.scenario.topics
        if of_kafka:
            return [topic for topic in of_both if is_named(topic, by_kafka=True)]
        return [topic for topic in of_both if is_named(topic, by_kafka=False) or not is_named(topic, by_kafka=True)]

    @property
    def event_number(self) -> int:
        """Return the number of the event that is running, or ran last."""
        return self.loop.event_number

    @property
    def now_us(self) -> int:
        """Return the virtual time in microseconds."""
        return self.loop.now_us

    def disk_of(self, node: str) -> LabStorage:
        """Return the machine's disk, which outlives the process."""
        return self.lab.storages[node]

    def spec_of(self, kind: type[_Spec], name: str) -> _Spec:
        """Return the specification of a node that is known to be of this kind."""
        spec = self.nodes[name].spec
        assert isinstance(spec, kind), f"{name} is a {spec.role}"
        return spec

    def spawn(self, work: Coroutine[Any, Any, None], name: str, node: LabNode) -> None:
        """Run ``work`` on ``node``, as an event like any other."""
        self.loop.create_task(work, name=name, node=node)


class ScenarioNode:
    """The common base of all roles. A subclass defines how its process starts, and how it stops if that takes more than
    shutting its engine object down.

    :cvar engine_name: name of the attribute with the engine object of the process, which is None while none runs.
    :ivar runtime: the current incarnation.
    :ivar settings: settings of the scenario and of commands; they take effect at the next start of the process.
    :ivar switched_off: names of :data:`engine.lab.scenario.switches.SWITCHES`; they take effect immediately.
    :ivar failure: why the last start failed; empty if it did not.
    """

    engine_name: ClassVar[str]

    def __init__(self, world: WorldContext, spec: NodeSpec) -> None:
        self.world = world
        self.spec = spec
        self.settings: dict[str, SettingValue] = dict(spec.settings)
        self.switched_off: dict[str, None] = dict(world.switched_off) | dict.fromkeys(spec.begins_off)
        self.runtime: LabRuntime = world.lab.node(spec.name)
        self.failure = ""
        self._is_running = False
        #: Whether its process has ever run: one that is off was then stopped, or has not started yet.
        self.has_run = False
        #: Whether it was started again and its process does not run yet, which is an event of its own.
        self.is_starting = False

    # --- state -------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Return the node's name."""
        return self.spec.name

    @property
    def role(self) -> str:
        """Return the name of the node's kind."""
        return self.spec.role

    @property
    def status(self) -> str:
        """Return ``off`` (not started yet, or stopped), ``running``, ``paused`` or ``crashed``."""
        if self.failure or not self.runtime.node.alive:
            return "crashed"
        if self.runtime.node.paused:
            return "paused"
        return "running" if self._is_running else "off"

    @property
    def incarnation(self) -> int:
        """Return how often the process was started again."""
        return self.runtime.node.incarnation

    def is_moving(self, key: str) -> bool:
        """Return whether this node is working on the transfer with this key, so that its outcome is undecided."""
        return False

    def locked_since_us(self, key: str, known_us: int | None) -> int | None:
        """Return since when its account has been locked for this transfer, if it is; ``known_us``: the last answer."""
        return None

    def free_record(self, key: RecordKey) -> bool:
        """Delete a record of idempotence, as an administrator does; return whether it is stored here."""
        return False

    def sends_in_transactions(self, topic: str) -> bool:
        """Return whether this node sends half messages to ``topic``."""
        return False

    def apply_switches(self) -> None:
        """Let :attr:`switched_off` take effect in the running process, if its kind has switches."""

    # --- life cycle --------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """Schedule the start of the process at the time that the scenario sets."""
        self.spawn(self._live(self.spec.life_ms[0]), "boot")

    def restart(self) -> None:
        """Start the process again, on the files of its predecessor."""
        skew_ms = self.runtime.clock.skew_ms
        self.runtime = self.world.lab.restart(self.name)
        # The clock belongs to the machine, not to the process.
        self.runtime.clock.skew_ms = skew_ms
        self.failure = ""
        self._is_running = False
        self.is_starting = True
        self._note("restarted")
        self.spawn(self._live(0), "boot")

    def stop(self) -> None:
        """Stop the process cleanly."""
        self.spawn(self._shut_down(), "shutdown")

    def crashed(self) -> None:
        """Handle a crash: nothing of the process may be used any more."""
        self._is_running = self.is_starting = False
        self._note("crashed")
        self._forget()

    def config(self, kind: type[_Config], **fixed: Any) -> _Config:
        """Return the engine's settings of one class, with those of the node, and with those that are ``fixed`` here."""
        return kind(**fixed, **of_class(kind, self.settings))

    @property
    def here_and_now(self) -> tuple[int, int, str]:
        """Return the first fields of a history entry: event, virtual time, node."""
        return self.world.event_number, self.world.now_us, self.name

    def _note(self, status: str) -> None:
        self.world.history.nodes_changed.append(NodeChanged(*self.here_and_now, status))

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run ``work`` on the node, as an event like any other."""
        self.world.spawn(work, name, self.runtime.node)

    async def _live(self, start_ms: int) -> None:
        await self.until(start_ms)
        self._is_running = self.has_run = True
        self.is_starting = False
        try:
            await self._start()
        except Exception as error:
            # A full disk, a port in use: the process ends and logs why.
            _log.warning("%s could not start: %s", self.name, error)
            self.failure = f"{type(error).__name__}: {error}"
            self._is_running = False
            self._note("crashed")
            self._forget()
            return
        _, stop_ms = self.spec.life_ms
        if stop_ms is not None and self.world.now_us < stop_ms * 1_000:
            self.spawn(self._stop_at(stop_ms), "waits for its end")

    async def _stop_at(self, time_ms: int) -> None:
        await self.until(time_ms)
        await self._shut_down()

    async def _shut_down(self) -> None:
        if self._is_running:
            await self._stop()
            self._is_running = False
            self._forget()

    async def until(self, time_ms: int) -> None:
        """Wait until this virtual time."""
        await self.pause_between(0, time_ms)

    async def pause_between(self, begun_us: int, every_ms: int) -> None:
        """Wait until the next of several actions, of which the last one began at ``begun_us``."""
        remaining_us = begun_us + every_ms * 1_000 - self.world.now_us
        if remaining_us > 0:
            await asyncio.sleep(remaining_us / 1_000_000)

    async def _start(self) -> None:
        raise NotImplementedError

    async def _stop(self) -> None:
        engine = getattr(self, self.engine_name)
        if engine is not None:
            await engine.shutdown()

    def _forget(self) -> None:
        setattr(self, self.engine_name, None)


class ScenarioDiskNode(ScenarioNode):
    """A node whose disk takes as long as the scenario says."""

    spec: DiskNodeSpec

    @property
    def storage(self) -> LabStorage:
        """Return the disk, as :meth:`WorldContext.disk_of` does."""
        return self.world.disk_of(self.name)

    def boot(self) -> None:
        storage, disk = self.storage, self.spec.disk
        storage.flush_us = disk.fsync_ms * 1_000
        if disk.page_cache is not None:
            storage.page_cache = LabPageCache(disk.page_cache, storage.files, lambda: self.world.now_us)
            storage.page_cache.on_fetch = self._note_fetch
        super().boot()

    def _note_fetch(self, path: str, pages: int) -> None:
        self.world.history.pages_fetched.append(PagesFetched(*self.here_and_now, path, pages))


class MemberNode(ScenarioNode):
    """A node whose client is a member of a group."""

    spec: MemberSpec
