"""The live engine of the page server: a name server and a broker in one background thread, observed from there."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.foundation.json_types import JsonObject, JsonValue
from app.foundation.live_source import MemberWithoutBroker, ResendRequest
from app.observation.recent_log import RecentLog
from app.watch import thresholds
from app.watch.thresholds import Thresholds
from app.watch.watcher import Watcher
from engine.live.live_machines import LiveHostSettings, LiveMachines
from engine.runtime.live.engine_thread import CALL_TIMEOUT_S, EngineThread, EngineUnavailable

if TYPE_CHECKING:
    from app.foundation.operator_requests import OperatorRequest
    from app.live.client_questions import ClientQuestions
    from app.live.fault_service import FaultService
    from app.live.idempotence_tally import IdempotenceTally
    from app.live.live_faults import LiveFaults
    from app.live.operator_service import OperatorService
    from app.metrics.exposition import MetricFamily
    from app.observation.live_state import LiveState
    from engine.broker.broker import Broker
    from engine.broker.foundation.vip_channel import VipChannel
    from engine.broker.transactions.half_message_lookup import HalfMessageAction
log = logging.getLogger("glassmq.host")

#: Seconds for a start. Recovery of a large log may take long; beyond this something is wrong.
START_TIMEOUT_S = 600.0
#: Seconds between two samples of the broker for history and verdict; a late sample still fills this many seconds of the
#: history; the rest after a sample is at least this much longer than the sample.
WATCH_INTERVAL_S = 1.0
WATCH_CATCHES_UP_S = 30
WATCH_REST_FACTOR = 50
#: Seconds for a graceful shutdown, which writes offsets and flushes; after this the process ends anyway.
SHUTDOWN_TIMEOUT_S = 20.0


class LiveHost:
    """Runs the engine from ``start`` to ``stop`` and answers the page server: a ``LiveSource``."""

    def __init__(self, settings: LiveHostSettings, recent_log: RecentLog | None = None) -> None:
        self.settings = settings
        self._recent_log = recent_log or RecentLog()
        self._thread: EngineThread | None = None
        self._state: LiveState | None = None
        self._watcher = Watcher(Thresholds())
        self._watching: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[None] | None = None
        self._faults: FaultService | None = None
        self._service: OperatorService | None = None
        self._questions: ClientQuestions
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
            self._faults = FaultService(self._machines, injector, self._thread.pause)
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
        from app.live.client_questions import ClientQuestions
        from app.live.idempotence_tally import IdempotenceTally
        from app.metrics.broker_metrics import BrokerMetrics
        from app.observation.live_state import LiveState

        self._stop_watching()
        service, self._service = self._service, None
        if self._state is not None:
            self._state = None
            self._closing = asyncio.create_task(_close(service, self._questions))
        machines = self._machines
        if not machines.broker_runs:
            return
        self._tally = IdempotenceTally(machines.broker)
        self._state = LiveState(
            name_server=machines.name_server,
            broker=machines.broker,
            data_folder=str(self.settings.data_folder),
            recent_log=self._recent_log,
        )
        numbers = self._state.numbers
        self._metrics = BrokerMetrics(machines.broker, self._watcher.verdict.rules_said, lambda: numbers.view)
        self._questions = ClientQuestions(machines.broker)
        self._watcher.verdict.thresholds = Thresholds(self.settings.data_folder / thresholds.FILE_NAME)
        self._watching = [
            asyncio.create_task(work)
            for work in (self._watch(self._state), self._state.numbers.follow(), self._tally.follow())
        ]

    def _stop_watching(self) -> None:
        for task in self._watching:
            task.cancel()
        self._watching = []

    async def _watch(self, state: LiveState) -> None:
        """Sample the broker every second; where a sample takes long, less often, so that sampling takes one part in 50
        of the time.
        """
        clock = self._machines.broker_runtime.clock
        while True:
            started_us = clock.monotonic_us()
            try:
                self._watcher.look(self._brief(state), state.last_seconds(WATCH_CATCHES_UP_S))
            except Exception:
                log.exception("the broker could not be sampled; the next sample follows")
            took_s = (clock.monotonic_us() - started_us) / 1_000_000
            await asyncio.sleep(max(WATCH_INTERVAL_S, WATCH_REST_FACTOR * took_s))

    def _brief(self, state: LiveState) -> JsonObject:
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
        if self._state is not None:
            await _close(self._service, self._questions)
        await self._machines.shutdown()

    # -------------------------------------------------------------------------------------- for the page server

    def state(self) -> JsonObject:
        thread, state = self._engine()
        return thread.call(lambda: {**state.build(), **self._watcher.state_parts()})

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

    def history(self) -> JsonObject:
        thread, state = self._engine()
        return thread.call(lambda: self._with_backlog(state.history()))

    def _with_backlog(self, history: JsonObject) -> JsonObject:
        return {**history, "backlog": self._watcher.backlogs(history["seconds"])}

    def history_between(self, first: int, last: int) -> JsonObject:
        thread, _ = self._engine()
        # A copy costs the engine a millisecond; rendering a day of it may take twenty of them.
        history = thread.call(lambda: copy.deepcopy(self._watcher.history))
        return history.between(first, last)

    def verdict(self) -> JsonObject:
        thread, _ = self._engine()
        return thread.call(self._watcher.as_json)

    def set_thresholds(self, wanted: Mapping[str, JsonValue]) -> JsonObject:
        thread, state = self._engine()

        def change() -> JsonObject:
            self._watcher.change_thresholds(wanted)
            self._watcher.look(self._brief(state), ())
            return self._watcher.as_json()

        return thread.call(change)

    def find_by_key(self, topic: str, key: str, limit: int) -> list[JsonObject]:
        thread, state = self._engine()
        return thread.call(lambda: state.search.by_key(topic, key, limit))

    def find_by_unique_id(self, unique_id: str, topic: str | None, limit: int) -> list[JsonObject]:
        thread, state = self._engine()
        return thread.call(lambda: state.search.by_unique_id(unique_id, topic, limit))

    def record_at(self, offset: int) -> bytes | None:
        thread, state = self._engine()
        return thread.call(lambda: state.search.record_at(offset))

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int) -> list[tuple[int, int, int]] | None:
        thread, state = self._engine()
        return thread.call(lambda: state.search.queue_entries(topic, queue_id, start, count))

    def act_on_half_message(self, action: HalfMessageAction, name: str) -> JsonObject:
        from app.observation.transactions_view import common_view

        thread, _ = self._engine()
        administrator = self._broker.half_message_administrator
        acted_on = common_view(thread.run(administrator.act(action, name), CALL_TIMEOUT_S))
        return {part: acted_on[part] for part in ("id", "key", "topic", "queue_id", "group")}

    def operate(self, request: OperatorRequest) -> JsonObject:
        from app.live.operator_service import OperatorService  # in the page's thread: it imports our whole client

        thread, _ = self._engine()

        async def carry_out() -> JsonObject:
            if not self._machines.broker_runs:
                raise _why_no_broker(self._machines)
            if self._service is None:
                self._service = OperatorService(self._machines.broker, self._machines.name_server)
            return await self._service.carry_out(request)

        return thread.run(carry_out(), CALL_TIMEOUT_S)

    def topics_with(self, text: str) -> JsonObject:
        thread, state = self._engine()
        return thread.call(lambda: state.topics.find(text))

    def clients(self, group: str) -> JsonObject:
        """Return what the members of a group report.

        Answers are decoded in the caller's thread, because many of them take time.
        """
        from app.live.client_answers import look_view

        thread, _ = self._engine()
        return look_view(group, thread.run(self._questions.look(group), CALL_TIMEOUT_S))

    def message_trails(self, name: str, topic: str | None) -> list[JsonObject]:
        thread, state = self._engine()
        return thread.call(lambda: state.trail.trails(name, topic))

    def dead_letter_groups(self) -> list[JsonObject]:
        thread, state = self._engine()
        return thread.call(state.dead_letters.groups)

    def dead_letters(self, group: str, start: int | None, count: int) -> JsonObject | None:
        thread, state = self._engine()
        return thread.call(lambda: state.dead_letters.page(group, start, count))

    def resend_dead_letters(self, group: str, request: ResendRequest) -> JsonObject | None:
        thread, state = self._engine()
        return thread.run(state.dead_letters.resend(group, request), CALL_TIMEOUT_S)

    def _engine(self) -> tuple[EngineThread, LiveState]:
        if self._thread is None:
            raise EngineUnavailable("the engine is stopped")
        if self._state is None:
            raise _why_no_broker(self._machines)
        return self._thread, self._state

    # ------------------------------------------------------------------------------------------------- faults

    @property
    def _broker(self) -> Broker:
        return self._machines.broker

    def _client_at(self, remote_address: str) -> str:
        return self._broker.client_id_at(remote_address) if self._machines.broker_runs else ""

    @property
    def faults(self) -> LiveFaults | None:
        """Return the faults of the running engine; None where they are not allowed."""
        from app.live.live_faults import LiveFaults

        if self._faults is None or self._thread is None:
            return None
        return LiveFaults(self._thread, self._faults)


async def _close(service: OperatorService | None, questions: ClientQuestions) -> None:
    """Close what belongs to a broker that ran; the next one has its own."""
    if service is not None:
        await service.close()
    await questions.close()


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
