"""The two nodes of the live engine, name server and broker: started, shut down, killed and started again in place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import BrokerConfigRefused
from engine.faults.errors import FaultRefused
from engine.name_server.name_server_config import NameServerConfig
from engine.replication.majority.errors import NotOfThisGroup
from engine.runtime.live.live_flushed_file import DiskCondition
from engine.runtime.live.live_tls import ServerTls, TlsUnusable, own_client_tls
from engine.runtime.port import AddressInUse, DiskFault, DiskFull, FolderLocked, RuntimeFault
from engine.runtime.started_parts import Ending, end_all
from engine.store.files.store_config import MessageStoreConfig

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.broker.group_member import GroupMember
    from engine.faults.fault_injector import FaultInjector
    from engine.name_server.name_server import NameServer
    from engine.replication.majority.group_config import GroupConfig
    from engine.runtime.live.live_runtime import LiveRuntime


class StartFailed(Exception):
    """The engine could not start. The message is one line that names what to change."""


@dataclass(frozen=True, slots=True)
class LiveHostSettings:
    """The settings of the live nodes and their folders. The broker's name-server address is filled in by the host.

    :ivar slave_of: the address of the broker to follow, ``"host:port"``; None: the broker is a master.
    :ivar also_register: further name servers to register with, those of other processes.
    :ivar group: the group of brokers to which this one belongs; None without a group.
    """

    data_folder: Path
    name_server: NameServerConfig = field(default_factory=NameServerConfig)
    broker: BrokerConfig = field(default_factory=BrokerConfig)
    store: MessageStoreConfig = field(default_factory=MessageStoreConfig)
    #: TLS of the connections to name server and broker; the page has none.
    tls: ServerTls = field(default_factory=ServerTls)
    #: Whether faults may be injected into the running broker.
    allow_faults: bool = False
    slave_of: str | None = None
    also_register: tuple[str, ...] = ()
    group: GroupConfig | None = None


class LiveMachines:
    """The name server and the broker. All methods run in the engine's thread.

    :param injector: applies faults to the broker's frames; None: no faults are allowed.
    :param nodes_changed: called when another broker or name server runs, or no broker.
    :ivar broker_runs: false while it is killed, and in a member of a group while another member leads.
    :ivar member: the member of a group, until its process is killed.
    :ivar name_server_addresses: the name servers with which the broker registers, the own one first.
    :ivar broker_disk: the faults of the broker's disk; they outlive its process, as those of a machine do.
    """

    def __init__(
        self,
        settings: LiveHostSettings,
        injector: FaultInjector | None,
        nodes_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._injector = injector
        self._nodes_changed = nodes_changed
        self.broker_name = settings.broker.broker_name
        self.broker_disk = DiskCondition()
        self.ahead_ms = 0
        self.broker_runs = False
        self.name_server_runs = False
        self.name_server_addresses: tuple[str, ...] = ()
        self.name_server: NameServer
        self.broker: Broker
        self.member: GroupMember | None = None
        self.name_server_runtime: LiveRuntime
        self.broker_runtime: LiveRuntime
        self._name_server_config = settings.name_server
        self._broker_config = settings.broker

    async def start(self) -> None:
        """Start both; they listen when this returns. Raises :class:`StartFailed`."""
        await self._start_name_server()
        try:
            await self._start_broker()
        except BaseException:
            await self.name_server.shutdown()
            await self.name_server_runtime.close()
            raise

    async def shutdown(self) -> None:
        """Shut down gracefully: offsets are written and the log is flushed, whatever faults were active."""
        self.broker_disk.mend()
        endings: list[Ending] = []
        if self._has_broker_process:
            endings += [(self.member or self.broker).shutdown, self.broker_runtime.close]
        if self.name_server_runs:
            # First the broker, which unregisters from it.
            endings += [self.name_server.shutdown, self.name_server_runtime.close]
        await end_all(endings, "the engine")

    # --- name server --------------------------------------------------------------------------------------------------

    async def _start_name_server(self) -> None:
        # Imported here, in the engine's thread: --help must not pay for it.
        from engine.name_server.name_server import NameServer
        from engine.runtime.live.live_runtime import LiveRuntime

        async with _explained("the name server", "--name-server-port"):
            folder = self._settings.data_folder / "name-server"
            self.name_server_runtime = LiveRuntime("name-server", folder, server_tls=self._settings.tls)
            self.name_server = NameServer(self.name_server_runtime, self._name_server_config)
            try:
                await self.name_server.start()
            except BaseException:
                await self.name_server_runtime.close()
                raise
        self._name_server_config = replace(self._name_server_config, port=_port(self.name_server.address))
        self.name_server_runs = True

    async def crash_name_server(self) -> None:
        """Kill the name server. Raises :class:`FaultRefused` when it does not run."""
        if not self.name_server_runs:
            raise FaultRefused("refusal.is_crashed", name="name-server")
        self.name_server_runs = False
        # Everything is in memory except its key-value table, which is written at each change.
        await self.name_server.shutdown()
        await self.name_server_runtime.close()

    async def restart_name_server(self) -> None:
        """Start a new name server at the same address.

        Raises :class:`FaultRefused` when one runs, or the start fails.
        """
        if self.name_server_runs:
            raise FaultRefused("refusal.runs_already", name="name-server")
        await self._again("name-server", self._start_name_server)
        if self.broker_runs:
            self._nodes_changed()

    # --- broker -------------------------------------------------------------------------------------------------------

    async def _start_broker(self) -> None:
        from engine.broker.broker import Broker
        from engine.runtime.live.live_runtime import LiveRuntime

        tls = self._settings.tls
        async with _explained("the broker", "--broker-port"):
            runtime = LiveRuntime(
                self.broker_name, self._settings.data_folder, server_tls=tls, client_tls=own_client_tls(tls)
            )
            try:
                config, store_config = await self._configured(runtime)
                runtime.clock.ahead_ms = self.ahead_ms
                runtime.disk.condition = self.broker_disk
                if self._injector is not None:
                    from engine.faults.faulty_network import FaultyNetwork

                    runtime.network = FaultyNetwork(runtime.network, self._injector)
                self.broker_runtime = runtime
                if self._settings.group is not None:
                    await self._start_member(self._settings.group, runtime, config, store_config)
                    return
                self.broker = Broker(runtime, config, store_config)
                await self.broker.start()
            except BaseException:
                await runtime.close()
                raise
        self._broker_config = replace(self._broker_config, port=_port(self.broker.address))
        self.broker_runs = True
        self._nodes_changed()

    async def _start_member(
        self, group: GroupConfig, runtime: LiveRuntime, config: BrokerConfig, store_config: MessageStoreConfig
    ) -> None:
        from engine.broker.group_member import GroupMember

        member = GroupMember(runtime, group, config, store_config, self._leader_changed)
        await member.start()
        self.member = member
        self._leader_changed()

    def _leader_changed(self) -> None:
        """Start or stop the broker when this member of a group becomes the leader or is no longer."""
        broker = None if self.member is None else self.member.broker
        self.broker_runs = broker is not None
        if broker is not None:
            self.broker = broker
        self._nodes_changed()

    @property
    def _has_broker_process(self) -> bool:
        """Return whether there is a process to end: it runs a broker, or follows in a group."""
        return self.broker_runs or self.member is not None

    async def _configured(self, runtime: LiveRuntime) -> tuple[BrokerConfig, MessageStoreConfig]:
        """Return the settings, with what a slave must share with its master. Raises :class:`StartFailed`."""
        own = tuple(dict.fromkeys((self.name_server.address, *self._settings.also_register)))
        self.name_server_addresses = own
        slave_of, store_config = self._settings.slave_of, self._settings.store
        if slave_of is None:
            return replace(self._broker_config, name_server_addresses=own), store_config
        from engine.live.master_look import MasterUnknown, look_at_master

        try:
            master = await look_at_master(runtime, slave_of)
        except MasterUnknown as error:
            raise StartFailed(f"the broker cannot start: {error}; see --slave-of") from error
        self.broker_name = master.broker_name
        self.name_server_addresses = tuple(dict.fromkeys((*own, *master.name_servers)))
        config = replace(
            self._broker_config,
            broker_name=master.broker_name,
            cluster_name=master.cluster_name,
            name_server_addresses=self.name_server_addresses,
        )
        return config, replace(store_config, mapped_file_size_commit_log=master.commit_log_file_bytes)

    async def crash_broker(self) -> None:
        """Kill the broker: what was in memory is gone, its files are as they are. Raises :class:`FaultRefused`."""
        member, self.member = self.member, None
        if not self.broker_runs and member is None:
            raise FaultRefused("refusal.is_crashed", name=self.broker_name)
        self.broker_runs = False
        self._nodes_changed()
        await (self.broker if member is None else member).abandon()
        await self.broker_runtime.close()

    async def restart_broker(self) -> None:
        """Start a new broker on these files, at the same address. Raises :class:`FaultRefused`."""
        if self._has_broker_process:
            raise FaultRefused("refusal.runs_already", name=self.broker_name)
        await self._again(self.broker_name, self._start_broker)

    async def _again(self, name: str, start: Callable[[], Awaitable[None]]) -> None:
        try:
            await start()
        except StartFailed as failure:
            raise FaultRefused("refusal.does_not_start", name=name, problem=str(failure)) from failure

    def advance(self, ms: int, *, liveness: bool = True) -> None:
        """Set the broker's clock ahead; its periodic work is due this much earlier.

        :param liveness: False: no client looks silent because of it.
        """
        self.ahead_ms += ms
        if self._has_broker_process:
            self.broker_runtime.clock.ahead_ms = self.ahead_ms
        if self.broker_runs:
            self.broker.advance(ms, liveness=liveness)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


@asynccontextmanager
async def _explained(part: str, port_option: str) -> AsyncIterator[None]:
    """Turn the errors of starting ``part`` into one line that names the option to change."""
    try:
        yield
    except AddressInUse as error:
        raise StartFailed(f"{part} cannot start: {error}; choose another port with {port_option}") from error
    except FolderLocked as error:
        raise StartFailed(f"{part} cannot start: {error}; choose another folder with --data") from error
    except DiskFull as error:
        raise StartFailed(
            f"{part} cannot use its data: {error}; free some room there, or choose another folder with --data"
        ) from error
    except (DiskFault, NotOfThisGroup) as error:
        raise StartFailed(f"{part} cannot use its data: {error}; choose another folder with --data") from error
    except BrokerConfigRefused as error:
        raise StartFailed(f"{part} cannot start: {error}") from error
    except TlsUnusable as error:
        raise StartFailed(f"{part} cannot start: {error}; see --tls-cert, --tls-key and --tls-client-ca") from error
    except RuntimeFault as error:
        raise StartFailed(f"{part} cannot start: {error}; see --host and {port_option}") from error
