"""A name server and a broker in a thread of the test's process: started, emptied and stopped within milliseconds.

The nodes, the thread and the fault injector are those of ``glassmq serve``. Two of these brokers share nothing.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.store_lookups import dispatcher_done
from engine.faults.errors import FaultRefused
from engine.faults.fault_injector import FaultInjector
from engine.faults.state_record import StateRecord
from engine.live.engine_settings import BadSetting, apply_settings
from engine.live.live_machines import LiveHostSettings, LiveMachines, StartFailed
from engine.name_server.name_server_config import NameServerConfig
from engine.runtime.live.engine_thread import CALL_TIMEOUT_S, EngineThread, EngineUnavailable
from engine.runtime.live.live_runtime import LiveClock
from engine.store.files.store_config import MessageStoreConfig
from engine.testkit.broker_state import BrokerState
from engine.testkit.errors import TestKitError
from engine.testkit.held_port import HeldPort
from engine.texts import Text

_T = TypeVar("_T")

#: Seconds for a start, a stop or a restart: each takes milliseconds, but a loaded machine may stall.
LIFE_CYCLE_TIMEOUT_S = 60.0
#: Seconds between two checks of what is waited for, and after the time for it until the wait itself is given up.
_POLL_INTERVAL_S = 0.002
_GRACE_S = 5.0
#: Linux's file system in memory, and the room that it must have; a container often has 64 MiB.
_MEMORY_FOLDER = "/dev/shm"
_MEMORY_ROOM_BYTES = 1 << 30
#: Settings that are decided elsewhere -> by what.
_DECIDED = {
    "host": "the parameter host",
    "port": "the kit itself, to a free port",
    "name_server_addresses": "the kit itself, to its own name server",
}


class BrokerParameters(TypedDict, total=False):
    """The parameters of :class:`EmbeddedBroker`."""

    host: str
    broker_settings: Mapping[str, object] | None
    store_settings: Mapping[str, object] | None
    data_folder: Path | str | None
    records_frames: bool


class EmbeddedBroker:
    """A name server and a broker on free ports, from ``start`` to ``stop``; also a context manager.

    :param host: the address to listen on.
    :param broker_settings: settings of the broker, in RocketMQ's names or ours: ``{"autoCreateTopicEnable": False}``.
    :param store_settings: settings of its store.
    :param data_folder: an empty or missing folder for its files; None: a temporary one. It is removed by ``stop``.
    :param records_frames: whether all frames are recorded from the start and from each ``reset`` on.

    Raises :class:`TestKitError` for unknown settings, and for a folder with content.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        broker_settings: Mapping[str, object] | None = None,
        store_settings: Mapping[str, object] | None = None,
        data_folder: Path | str | None = None,
        records_frames: bool = False,
    ) -> None:
        folder = None if data_folder is None else Path(data_folder)
        if folder is not None and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise TestKitError(
                f"{folder} is not an empty folder; allowed is an empty or a missing one, as stop() removes it"
            )
        self._host = host
        # A VIP channel has no port of its own: two below the broker's, which may be any other program's.
        self._broker_config = _configured(
            BrokerConfig(host=host, port=0, vip_channel_enable=False), broker_settings, "broker_settings"
        )
        self._store_config = _configured(MessageStoreConfig(), store_settings, "store_settings")
        self._wanted_folder = folder
        self._records_frames = records_frames
        self._thread: EngineThread | None = None
        self._pid: int
        self._ports: tuple[HeldPort, ...] = ()
        self._addresses: tuple[str, str]
        self._injector: FaultInjector
        self._machines: LiveMachines
        self._settings: LiveHostSettings

    # --- life cycle ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start name server and broker; both listen when this returns. Raises :class:`TestKitError`."""
        if self._thread is not None:
            raise TestKitError("this broker runs already; for a second one make another GlassMQ")
        try:
            self._ports = (HeldPort(self._host), HeldPort(self._host))
        except OSError as error:
            raise TestKitError(f"cannot listen on host {self._host!r}: {error}") from error
        folder = self._wanted_folder or _temporary_folder()
        self._settings = LiveHostSettings(
            data_folder=folder,
            # Without the setting, a group's first retry waits until its consumers ask for routes again: 30 s.
            name_server=NameServerConfig(host=self._host, port=self._ports[0].number, route_missing_retry_topics=True),
            broker=replace(self._broker_config, port=self._ports[1].number),
            store=self._store_config,
        )
        self._pid = os.getpid()
        self._thread = EngineThread("glassmq")
        # It also runs when the process ends without a stop: files in memory would stay there, and the thread would go
        # on while Python takes down what it uses.
        self._end_thread = weakref.finalize(self, _end, self._thread, folder, self._pid)
        try:
            self._thread.run(self._start_nodes(), LIFE_CYCLE_TIMEOUT_S)
        except BaseException:
            self._release()
            raise

    async def _start_nodes(self) -> None:
        # A clock of its own: how long a rule lasts does not depend on whether the broker's clock is set ahead.
        self._injector = FaultInjector(LiveClock(), self._client_id_at, hold_lease_ms=None)
        if self._records_frames:
            states = StateRecord(BrokerState(lambda: self._machines))
            self._injector.record("", with_bodies=True, states=states)
        self._machines = LiveMachines(self._settings, self._injector)
        self._machines.broker_disk.is_durable = False
        try:
            await self._machines.start()
        except StartFailed as error:
            raise TestKitError(str(error)) from error
        # Further starts use the same addresses.
        name_server_port, broker_port = map(_port, (self._machines.name_server.address, self._machines.broker.address))
        self._settings = replace(
            self._settings,
            name_server=replace(self._settings.name_server, port=name_server_port),
            broker=replace(self._settings.broker, port=broker_port),
        )
        self._addresses = self._machines.name_server.address, self._machines.broker.address

    async def _end_nodes(self) -> None:
        """End both as a kill would, as nothing of what they hold is needed any more."""
        self._injector.clear()
        self._machines.broker_disk.mend()
        # The name server first: it would log that it loses its broker, in the report of each failed test.
        if self._machines.name_server_runs:
            await self._machines.crash_name_server()
        if self._machines.broker_runs:
            await self._machines.crash_broker()
        shutil.rmtree(self._settings.data_folder, ignore_errors=True)

    def reset(self) -> None:
        """Replace the broker by an empty one at the same addresses, without faults and with the real time.

        Connections are closed; clients that are still there connect again.
        """
        thread = self._running()
        thread.resume()

        async def replace_nodes() -> None:
            await self._end_nodes()
            await self._start_nodes()

        thread.run(replace_nodes(), LIFE_CYCLE_TIMEOUT_S)

    def stop(self) -> None:
        """End the broker and remove its files. A stopped broker may be started again, on other ports."""
        if self._thread is None or os.getpid() != self._pid:
            return
        self._thread.resume()
        try:
            if self._thread.is_running:
                self._thread.run(self._end_nodes(), LIFE_CYCLE_TIMEOUT_S)
        finally:
            self._release()

    @property
    def name_server_address(self) -> str:
        """Return ``"host:port"`` of the name server, for the clients under test."""
        self._started()
        return self._addresses[0]

    @property
    def broker_address(self) -> str:
        """Return ``"host:port"`` of the broker; clients learn it from the name server."""
        self._started()
        return self._addresses[1]

    @property
    def is_running(self) -> bool:
        """Return True between ``start`` and ``stop``, even while the broker is crashed."""
        return self._thread is not None

    def _release(self) -> None:
        self._thread = None
        self._end_thread()
        for port in self._ports:
            port.release()

    def _started(self) -> EngineThread:
        if self._thread is None:
            raise TestKitError(Text("testkit.stopped"))
        return self._thread

    def _running(self) -> EngineThread:
        thread = self._started()
        if os.getpid() != self._pid:
            raise TestKitError(
                f"the broker runs in process {self._pid}, of which this is a fork without its threads: "
                "only the addresses are of use here; start a broker in this process, or ask in that one"
            )
        return thread

    # --- access to the engine -----------------------------------------------------------------------------------------

    def _call(self, function: Callable[[], _T]) -> _T:
        """Run ``function`` in the engine's thread, between two of its steps. Raises :class:`TestKitError`."""
        try:
            return self._running().call(function)
        except FaultRefused as refusal:
            raise TestKitError(refusal.text) from refusal
        except EngineUnavailable as error:
            raise TestKitError(str(error)) from error

    def ask(self, question: Callable[[Broker], _T]) -> _T:
        """Return the answer to a question about the broker. Raises :class:`TestKitError` while it is crashed."""

        async def in_engine() -> _T:
            # What was acknowledged to a client is found.
            await dispatcher_done(self._broker().store)
            return question(self._broker())

        return self._run(in_engine(), CALL_TIMEOUT_S)

    def _broker(self) -> Broker:
        if not self._machines.broker_runs:
            raise TestKitError(Text("testkit.crashed"))
        return self._machines.broker

    def until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait in the engine's loop for ``condition``; return whether it came true in time."""

        async def wait() -> bool:
            loop = asyncio.get_running_loop()
            ends_s = loop.time() + timeout_s
            machines = self._machines
            while not condition():
                if self._machines is not machines:
                    raise TestKitError(Text("testkit.reset_meanwhile"))
                if loop.time() >= ends_s:
                    return False
                await asyncio.sleep(_POLL_INTERVAL_S)
            return True

        return self._run(wait(), timeout_s + _GRACE_S)

    def _run(self, coroutine: Coroutine[Any, Any, _T], timeout_s: float) -> _T:
        """Run ``coroutine`` in the engine's loop and return its result. Raises :class:`TestKitError`."""
        try:
            thread = self._running()
        except TestKitError:
            coroutine.close()
            raise
        try:
            return thread.run(coroutine, timeout_s)
        except EngineUnavailable as error:
            self._running()  # stopped meanwhile
            raise TestKitError(str(error)) from error

    # --- access for faults --------------------------------------------------------------------------------------------

    def at_gate(self, act: Callable[[FaultInjector], _T]) -> _T:
        """Return what ``act`` returns about the fault injector."""
        return self._call(lambda: act(self._injector))

    def until_gate(self, condition: Callable[[FaultInjector], bool], timeout_s: float) -> bool:
        """Wait for a condition of the fault injector; return whether it came true in time."""
        return self.until(lambda: condition(self._injector), timeout_s)

    def carry_out(self, action: Callable[[LiveMachines], Coroutine[Any, Any, None]]) -> None:
        """Crash or restart a node. Raises :class:`TestKitError` where that is not possible now."""
        self._running()
        try:
            self._run(action(self._machines), LIFE_CYCLE_TIMEOUT_S)
        except FaultRefused as refusal:
            raise TestKitError(refusal.text) from refusal

    @property
    def has_broker(self) -> bool:
        """Return False while the broker is crashed."""
        return self._thread is None or self._machines.broker_runs

    def set_disk(self, name: str, value: object) -> None:
        """Set a field of the ``DiskCondition`` of the broker's disk. It notices at once whether its disk is full."""

        def change() -> None:
            setattr(self._machines.broker_disk, name, value)
            if self._machines.broker_runs:
                self._machines.broker.store.clean_service.check_disk_space()

        self._call(change)

    def pause(self, ms: int) -> None:
        """Stop the engine's thread for this long, in a moment."""
        thread = self._running()
        self._call(lambda: thread.pause(ms))

    def resume(self) -> None:
        """End a pause."""
        self._running().resume()

    def mend(self) -> None:
        """End all faults but a crash."""
        thread = self._running()
        thread.resume()

        def mend() -> None:
            self._injector.clear()
            self._injector.delayed.pass_all()
            if self._injector.is_recording and not self._records_frames:
                self._injector.stop_recording()
            self._machines.broker_disk.mend()

        thread.call(mend)

    def _client_id_at(self, address: str) -> str:
        return self._machines.broker.client_id_at(address) if self._machines.broker_runs else ""


def _end(thread: EngineThread, folder: Path, pid: int) -> None:
    """End the thread, and remove the files that it uses no more; not at the end of a fork, which has neither."""
    if os.getpid() == pid:
        thread.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _temporary_folder() -> Path:
    """Create a folder, in memory where there is room: to remove one from a busy disk takes longer than a test."""
    try:
        status = os.statvfs(_MEMORY_FOLDER)
        has_room = status.f_bavail * status.f_frsize >= _MEMORY_ROOM_BYTES and os.access(_MEMORY_FOLDER, os.W_OK)
    except OSError:
        has_room = False
    return Path(tempfile.mkdtemp(prefix="glassmq-", dir=_MEMORY_FOLDER if has_room else None))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _configured(config: _T, settings: Mapping[str, object] | None, parameter: str) -> _T:
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (settings or {}).items()
    }
    try:
        return apply_settings(config, [f"{name}={text}" for name, text in texts.items()], _DECIDED)
    except BadSetting as error:
        raise TestKitError(f"{parameter}: {error}") from None
