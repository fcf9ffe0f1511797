"""The replication parts of a broker: a master serves slaves, a slave follows its master, the leader of a group has its
log acknowledged by a majority (RocketMQ: part of ``BrokerController``).

A slave does not accept messages, deliver delayed ones, or check half messages. It would grant queue locks, but clients
ask masters only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from engine.broker.delivery.send_message_checks import Copies
from engine.broker.delivery.slave_synchronize import SlaveSynchronize
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_outer_api import BrokerOuterApi
from engine.broker.tables.config_table import ConfigTable
from engine.replication.ha.ha_client import HaClient
from engine.replication.ha.ha_config import HaConfig, HaRole
from engine.replication.ha.ha_service import HaService
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Runtime
from engine.store.files.config_file import ConfigFile
from engine.store.message_store import MessageStore
from engine.store.services.replica_log import ReplicaLog

if TYPE_CHECKING:
    from engine.replication.majority.majority_log import MajorityLog

#: The delay before the first synchronization of the master's tables (``BrokerController.handleSlaveSynchronize``).
FIRST_SYNCHRONIZE_MS = 3_000


class BrokerReplication:
    """The role of one broker in replication.

    :param majority: for the leader of a group (:mod:`engine.broker.group_member`); else None.
    :param ask_for_master: requests the master's address from the name servers again.
    :param refusal: the check of a slave's address, for :class:`HaConnection`; None: any address may receive the log.
    :ivar service: on a master that serves slaves; else None.
    :ivar client: on a running slave; else None.
    """

    def __init__(
        self,
        runtime: Runtime,
        config: BrokerConfig,
        store: MessageStore,
        outer_api: BrokerOuterApi,
        synchronize: SlaveSynchronize,
        majority: MajorityLog | None,
        ask_for_master: Callable[[], None],
        refusal: Callable[[str], str | None] | None,
    ) -> None:
        self.majority = majority
        self.role = config.broker_role
        self.is_slave = config.broker_role is HaRole.SLAVE
        self.is_sync_master = config.broker_role is HaRole.SYNC_MASTER
        self.synchronize = synchronize
        self.client: HaClient | None = None
        self._log: ReplicaLog
        self._runtime = runtime
        self._config = config
        self._store = store
        self._outer_api = outer_api
        self._ask_for_master = ask_for_master
        self._ha_config = HaConfig(
            config.ha_send_heartbeat_interval_ms,
            config.ha_housekeeping_interval_ms,
            config.ha_transfer_batch_size_bytes,
            config.ha_slave_fallbehind_max_bytes,
            config.slave_timeout_ms,
            config.replica_acks,
            config.replica_count,
        )
        serves = not self.is_slave and (config.ha_listen_port is not None or self.is_sync_master)
        self.service: HaService | None = None
        if serves:
            self.service = HaService(runtime, store.commit_log, self._ha_config, refusal or (lambda address: None))

    @property
    def copies(self) -> Copies | None:
        """Return the replicas that a sender waits for, or None if a sender waits for no replica."""
        return self.majority or (self.service if self.is_sync_master else None)

    async def start(
        self, tasks: BackgroundTasks, files: Iterable[ConfigFile], tables: Iterable[ConfigTable[Any]]
    ) -> None:
        """Start the role: a master serves slaves, a slave refuses messages, a leader shares ``files`` (with those of
        ``tables``).

        Raises ``AddressInUse``, ``RuntimeFault``.
        """
        if self.majority is not None:
            # Imported here: a broker outside a group does not need it.
            from engine.replication.majority.majority_entry import SHARED_PATHS
            from engine.replication.majority.majority_log import LOOK_INTERVAL_MS

            for table in tables:
                await table.end_journal()
            self.majority.begin(self._store, (file for file in files if file.path in SHARED_PATHS))
            tasks.every(LOOK_INTERVAL_MS, self.majority.look, "look at followers", 0)
        if self.service is not None:
            await self.service.start(self._config.ha_host, self._config.ha_listen_port or 0, tasks)
            self._outer_api.ha_server_address = self.service.address
        if self.is_slave:
            self._log = self._store.follow()

    def follow(self, tasks: BackgroundTasks) -> None:
        """Follow, as a slave, the master that the registration returned."""
        if self.is_slave:
            self.client = HaClient(
                self._runtime,
                self._log,
                self._ha_config,
                self._master_ha_address,
                self.synchronize.check_log,
                self._ask_for_master,
            )
            self.client.start(tasks)
            interval_ms = self._config.slave_synchronize_interval_ms
            tasks.every(interval_ms, self.synchronize.sync_all, "copy tables", min(FIRST_SYNCHRONIZE_MS, interval_ms))

    def _master_ha_address(self) -> str | None:
        known = self._outer_api.master_addresses
        return None if known is None else known[1]

    async def topics_deleted(self, topics: Iterable[str]) -> None:
        """Wait until a majority of the group has also deleted the topics. Raises ``DiskFault``."""
        if self.majority is not None:
            await self.majority.tables.topics_deleted(self._store.commit_log.max_offset, topics)

    def log_grew(self) -> None:
        """Notify the replication of appended messages."""
        if self.service is not None:
            self.service.log_grew()

    async def shutdown(self) -> None:
        """End all connections."""
        if self.client is not None:
            self.client.shutdown()
        if self.service is not None:
            await self.service.shutdown()
        if self.majority is not None:
            self.majority.tables.end()
