"""The live engine of the page server: a name server and a broker in one background thread, observed from there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from app.observation import client_names
from app.observation.client_names import ClientNames
from app.observation.recent_log import RecentLog
from app.watch import thresholds
from app.watch.thresholds import Thresholds
from app.watch.watcher import Watcher, sample_forever
from app.web.live_source import MemberWithoutBroker
from engine.live.live_machines import LiveHostSettings, LiveMachines
from engine.runtime.live.engine_thread import CALL_TIMEOUT_S, EngineThread, EngineUnavailable

if TYPE_CHECKING:
    from app.live.broker_watch import BrokerWatch
    from app.live.fault_service import FaultService
    from app.live.idempotence_tally import IdempotenceTally
    from app.live.live_faults import LiveFaults
    from app.live.observed_engine import ObservedEngine
    from app.metrics.exposition import MetricFamily
    from app.observation.live_state import LiveState
    from app.picture.live.brokers import BrokersReport
    from app.picture.live_state import HealthFacts, WatchedState
    from app.picture.rates import SecondLists
    from app.watch.events import EventKind
    from app.web.live_source import LiveEngine
    from engine.broker.broker import Broker
    from engine.broker.foundation.vip_channel import VipChannel

_T = TypeVar("_T")

log = logging.getLogger("glassmq.host")

#: Seconds for a start. Recovery of a large log may take long; beyond this something is wrong.
START_TIMEOUT_S = 600.0
#: A late sample still fills this many seconds of the history.
WATCH_CATCHES_UP_S = 30
#: Seconds between two times at which new names of clients are written to their file.
SAVE_NAMES_INTERVAL_S = 10.0
#: Seconds for a graceful shutdown, which writes offsets and flushes; after this the process ends anyway.
SHUTDOWN_TIMEOUT_S = 20.0


class LiveHost:
    """Runs the engine from ``start`` to ``stop`` and answers the page server: a ``LiveSource``."""

    def __init__(self, settings: LiveHostSettings, recent_log: RecentLog | None = None) -> None:
        self.settings = settings
        self._recent_log = recent_log or RecentLog()
        self._thread: EngineThread | None = None
        self._live: ObservedEngine | None = None
        self._names = ClientNames(settings.data_folder / client_names.FILE_NAME)
        self._watcher = Watcher(Thresholds())
        self._watching: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[None] | None = None
        self._faults: FaultService | None = None
        self._broker_watch: BrokerWatch | None = None
        self._noted_broker: Broker | None = None
        self._tally: IdempotenceTally
        self.name_server_address = ""
        self.broker_address = ""
        self.ha_address = ""
        self.vip_channel: VipChannel | None = None

    # --------------------------------------------------------------------------------------------- life cycle

    def start(self) -> None:
        """Start name server and broker; both listen when this returns. Raises :class:`StartFailed`."""
        assert self._thread is None
        self._thread = EngineThread()
        try:
            self._thread.run(self._start(), START_TIMEOUT_S)
        except BaseException:
            self._thread.stop()
            self._thread = None
            raise

    async def _start(self) -> None:
        injector = None
        if self.settings.allow_faults:
            from engine.faults.fault_injector import FaultInjector
            from engine.runtime.live.live_runtime import LiveClock

            # A clock of its own: how long a rule lasts does not depend on whether the broker's clock is set ahead.
            injector = FaultInjector(LiveClock(), self._client_at)
        self._machines = LiveMachines(self.settings, injector, self._nodes_changed)
        await self._machines.start()
        if injector is not None:
            from app.live.fault_service import FaultService

            assert self._thread is not None
            self._faults = FaultService(self._machines, injector, self._names, self._thread.pause, self._see_faults)
        self.name_server_address = self._machines.name_server.address
        if self.settings.group is not None:
            self.broker_address = f"{self.settings.broker.host}:{self.settings.broker.port}"
            return
        self.broker_address = self._machines.broker.address
        self.vip_channel = self._machines.broker.vip_channel
        service = self._machines.broker.replication.service
        self.ha_address = "" if service is None else service.address

    def _nodes_changed(self) -> None:
        """Build the views for another broker or name server, or for none. What was watched stays."""
        # Imported here, in the engine's thread: --help must not pay for it.
        from app.live.idempotence_tally import IdempotenceTally
        from app.live.observed_engine import ObservedEngine
        from app.metrics.broker_metrics import BrokerMetrics
        from app.observation.live_state import LiveState

        self._stop_watching()
        if self._live is not None:
            self._closing = asyncio.create_task(self._live.close())
            self._live = None
        machines = self._machines
        self._note_broker()
        if not machines.broker_runs:
            return
        self._tally = IdempotenceTally(machines.broker)
        state = LiveState(
            name_server=machines.name_server,
            broker=machines.broker,
            data_folder=str(self.settings.data_folder),
            recent_log=self._recent_log,
            client_names=self._names,
        )
        numbers = state.numbers
        self._metrics = BrokerMetrics(machines.broker, self._watcher.verdict.rules_said, lambda: numbers.view)
        self._watcher.verdict.thresholds = Thresholds(self.settings.data_folder / thresholds.FILE_NAME)
        self._live = ObservedEngine(machines, state, self._watcher, lambda: self._watcher.look(self._brief(state), ()))
        self._watching = [
            asyncio.create_task(work)
            for work in (
                sample_forever(lambda: self._sample(state)),
                state.numbers.follow(),
                self._tally.follow(),
                self._save_names(),
            )
        ]

    def _note_broker(self) -> None:
        """Note that a broker has started or stopped; with another name server it still runs."""
        machines = self._machines
        broker = machines.broker if machines.broker_runs else None
        if broker is not self._noted_broker:
            self._noted_broker = broker
            kind: EventKind = "stop" if broker is None else "start"
            self._watcher.events.note(machines.broker_runtime.clock.now_ms(), kind)

    def _stop_watching(self) -> None:
        for task in self._watching:
            task.cancel()
        self._watching = []

    def _sample(self, state: LiveState) -> None:
        self._see_faults()
        self._watcher.look(self._brief(state), state.last_seconds(WATCH_CATCHES_UP_S))

    async def _save_names(self) -> None:
        while True:
            await asyncio.sleep(SAVE_NAMES_INTERVAL_S)
            self._names.save()

    def _see_faults(self) -> None:
        """Note the faults that have begun or ended: after each command, and with each sample, as some end by time."""
        if self._faults is not None:
            now_ms = self._machines.broker_runtime.clock.now_ms()
            self._watcher.events.see_faults(now_ms, self._faults.active())

    def _brief(self, state: LiveState) -> HealthFacts:
        return {**state.brief(), "idempotence": self._tally.view()}

    @property
    def is_running(self) -> bool:
        """Return True while the engine's thread lives."""
        return self._thread is not None and self._thread.is_running

    def stop(self) -> None:
        """Shut broker and name server down gracefully: offsets are written, the log is flushed."""
        thread, self._thread = self._thread, None
        if thread is None or not thread.is_running:
            return
        thread.resume()
        try:
            thread.run(self._shutdown(), SHUTDOWN_TIMEOUT_S)
        except EngineUnavailable as error:
            log.error("the shutdown was not clean: %s", error)
        finally:
            thread.stop()

    async def _shutdown(self) -> None:
        self._stop_watching()
        self._names.save()
        if self._broker_watch is not None:
            await self._broker_watch.close()
        if self._live is not None:
            await self._live.close()
        await self._machines.shutdown()

    # -------------------------------------------------------------------------------------- for the page server

    def state(self) -> WatchedState:
        thread, state = self._engine()
        return thread.call(lambda: self._picture(state))

    def _picture(self, state: LiveState) -> WatchedState:
        return {**state.build(), **self._watcher.state_parts()}

    def metrics(self) -> list[MetricFamily]:
        """Return all metrics for Prometheus. Raises :class:`EngineUnavailable`."""
        from app.metrics.idempotence_metrics import idempotence_families

        thread, _ = self._engine()
        service = self._faults
        return thread.call(
            lambda: [
                *self._metrics.collect(),
                *idempotence_families(self._tally.view()),
                *(service.metrics() if service is not None else ()),
            ]
        )

    def history(self) -> SecondLists:
        thread, state = self._engine()
        return thread.call(lambda: self._with_backlog(state.history()))

    def _with_backlog(self, history: dict[str, list[int]]) -> SecondLists:
        backlog = self._watcher.backlogs(history["begin_us"])
        return {**{name: [*values] for name, values in history.items()}, "backlog": backlog}

    def brokers(self) -> BrokersReport:
        from app.live.broker_watch import BrokerWatch

        async def in_engine() -> BrokersReport:
            if self._broker_watch is None:
                self._broker_watch = BrokerWatch(self._machines, self.settings.tls)
            return await self._broker_watch.look()

        return self._running_thread().run(in_engine(), CALL_TIMEOUT_S)

    @overload
    def ask(self, function: Callable[[LiveEngine], Coroutine[Any, Any, _T]]) -> _T: ...

    @overload
    def ask(self, function: Callable[[LiveEngine], _T]) -> _T: ...

    def ask(self, function: Callable[[LiveEngine], object]) -> object:
        """Run ``function`` in the engine's thread; what takes longer than five seconds is cancelled."""
        import app.remote.operator_service  # noqa: F401  here, in the page's thread: it imports our whole client

        thread, _ = self._engine()

        async def in_engine() -> object:
            if self._live is None:
                raise _why_no_broker(self._machines)
            answer = function(self._live)
            return await answer if isawaitable(answer) else answer

        return thread.run(in_engine(), CALL_TIMEOUT_S)

    def _running_thread(self) -> EngineThread:
        if self._thread is None:
            raise EngineUnavailable("the engine is stopped")
        return self._thread

    def _engine(self) -> tuple[EngineThread, LiveState]:
        thread = self._running_thread()
        if self._live is None:
            raise _why_no_broker(self._machines)
        return thread, self._live.state

    # ------------------------------------------------------------------------------------------------- faults

    def _client_at(self, remote_address: str) -> str:
        return self._machines.broker.client_id_at(remote_address) if self._machines.broker_runs else ""

    @property
    def faults(self) -> LiveFaults | None:
        """Return the faults of the running engine; None where they are not allowed."""
        from app.live.live_faults import LiveFaults

        if self._faults is None or self._thread is None:
            return None
        return LiveFaults(self._thread, self._faults)


def _why_no_broker(machines: LiveMachines) -> EngineUnavailable:
    """Return the exception for requests to the page of a process whose broker does not run."""
    member = machines.member
    if member is None:
        return EngineUnavailable("a fault has killed the broker; restart it on the live page, or with glassmq faults")
    name = member.group.name
    if member.failure:
        return MemberWithoutBroker(name, member.standing, "", 0, member.why)
    core = member.peer.core
    # Just elected: it has no broker yet.
    leader = "" if core.leader == name else core.leader
    return MemberWithoutBroker(name, member.standing, leader, core.term, member.why)
