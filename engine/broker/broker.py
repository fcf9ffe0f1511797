"""The broker, assembled from its parts (RocketMQ: ``BrokerController``).

The start reads the configuration files, loads the store (which repairs the effects of a crash), listens, begins to
dispatch, flush and deliver, and registers with the name servers. The shutdown is the reverse, and writes every table
once more.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from engine.acl.errors import BadAccessConfig
from engine.broker.broker_replication import BrokerReplication
from engine.broker.delivery.broker_to_client import BrokerToClient
from engine.broker.delivery.dead_letter_administrator import DeadLetterAdministrator
from engine.broker.delivery.pull_message_checks import PullMessageChecks
from engine.broker.delivery.pull_request_hold_service import HeldPullRequest, PullRequestHoldService
from engine.broker.delivery.schedule_message_service import ScheduleMessageService
from engine.broker.delivery.send_message_checks import SendParts
from engine.broker.delivery.send_rate_limit import make_send_rate_limit
from engine.broker.delivery.slave_synchronize import SlaveSynchronize
from engine.broker.delivery.topic_deletion import TopicDeletion
from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.filters.filter_bit_map import FilterBitMap
from engine.broker.filters.filter_statistics import FilterStatistics
from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_outer_api import BrokerOuterApi
from engine.broker.foundation.broker_registration import BrokerRegistration
from engine.broker.foundation.broker_stats_manager import BrokerStatsManager
from engine.broker.foundation.errors import BrokerConfigRefused, ConfigNotSaved
from engine.broker.foundation.traffic_samples import SAMPLE_INTERVAL_MS
from engine.broker.foundation.vip_channel import VipChannel
from engine.broker.own_runtime_info import OwnRuntimeInfo
from engine.broker.processors.access_guard import AccessGuard
from engine.broker.processors.acl_admin_processor import AclAdminProcessor
from engine.broker.processors.broker_admin_processor import BrokerAdminProcessor
from engine.broker.processors.client_admin_processor import ClientAdminProcessor
from engine.broker.processors.client_manage_processor import ClientManageProcessor
from engine.broker.processors.consumer_manage_processor import ConsumerManageProcessor
from engine.broker.processors.group_admin_processor import GroupAdminProcessor
from engine.broker.processors.offset_admin_processor import OffsetAdminProcessor
from engine.broker.processors.pull_message_processor import PullMessageProcessor
from engine.broker.processors.query_message_processor import QueryMessageProcessor
from engine.broker.processors.reply_message_processor import ReplyMessageProcessor
from engine.broker.processors.send_message_back_processor import SendMessageBackProcessor
from engine.broker.processors.send_message_processor import SendMessageProcessor
from engine.broker.processors.store_admin_processor import StoreAdminProcessor
from engine.broker.processors.topic_admin_processor import TopicAdminProcessor
from engine.broker.tables.broker_configuration import BrokerConfiguration
from engine.broker.tables.client_housekeeping_service import ClientHousekeepingService
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.producer_manager import ProducerManager
from engine.broker.tables.rebalance_lock_manager import RebalanceLockManager
from engine.broker.tables.settled_replies import SettledReplies
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.broker.tables.unread_deletions import UnreadDeletions
from engine.broker.transactions.end_transaction_processor import EndTransactionProcessor
from engine.broker.transactions.half_message_administrator import HalfMessageAdministrator
from engine.broker.transactions.transactional_message_service import TransactionalMessageService
from engine.filter.bloom_filter import BloomFilter
from engine.protocol.errors import ProtocolError
from engine.protocol.names import SCHEDULE_TOPIC, validate_topic
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault, Runtime
from engine.runtime.started_parts import StartedParts
from engine.store.files.config_file import ConfigFile
from engine.store.files.store_config import MessageStoreConfig
from engine.store.message_store import MessageStore
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.recovery.recovery_report import RecoveryReport
from engine.store.recovery.store_recovery import KnownBounds

if TYPE_CHECKING:
    from engine.acl.plain_permission_manager import PlainPermissionManager
    from engine.broker.tables.client_channel_info import ClientChannelInfo
    from engine.remoting.channel import Channel
    from engine.replication.majority.majority_log import MajorityLog

logger = logging.getLogger("glassmq.broker")

CONFIG_FOLDER = "config"
#: How often the access rules' file is checked (RocketMQ: ``AclFileWatchService.WATCH_INTERVAL``).
ACL_WATCH_INTERVAL_MS = 5_000


class Broker:
    """A broker that serves from ``start`` to ``shutdown``.

    :param runtime: the node it runs on.
    :param config: names, address, permissions and limits.
    :param store_config: settings of files and flushing.
    :param majority: the group's log, if the broker leads a group; None: it is in no group.

    Raises :class:`BrokerConfigRefused` for invalid names.
    """

    def __init__(
        self,
        runtime: Runtime,
        config: BrokerConfig | None = None,
        store_config: MessageStoreConfig | None = None,
        majority: MajorityLog | None = None,
    ) -> None:
        self.runtime = runtime
        self._config_files: list[ConfigFile] = []
        # Copies: tools may change them while the broker runs.
        self.config = dataclasses.replace(config) if config is not None else BrokerConfig()
        self.store_config = dataclasses.replace(store_config) if store_config is not None else MessageStoreConfig()
        for name in (self.config.broker_name, self.config.cluster_name):
            try:
                validate_topic(name)  # both become topics
            except ProtocolError as error:
                raise BrokerConfigRefused(f"as a broker's or cluster's name, {error}") from error
        self.where = BrokerAddress()
        self.recovery_report: RecoveryReport | None = None
        self._tasks = BackgroundTasks(self.config.broker_name)
        self._parts = StartedParts(self.config.broker_name)
        self.broker_outer_api = BrokerOuterApi(runtime, self.config)
        self.registration = BrokerRegistration(self.config, self._register_broker)
        self._make_tables()
        self._make_services()
        self._load_rules_code()
        self._make_replication(majority)
        self.server = RemotingServer(runtime, self.config.broker_name)
        self.server.on_connection_closed(self.client_housekeeping_service.channel_closed)
        self.vip_channel = VipChannel()
        self._make_processors()

    def _make_tables(self) -> None:
        """Create the tables. A table does not depend on any service."""
        config, clock = self.config, self.runtime.clock
        self.stats = BrokerStatsManager(clock.now_ms(), config.max_consumer_offset_entries)
        #: None: no limit is set.
        self.send_rate_limit = make_send_rate_limit(config, clock.monotonic_us)
        self.store = store = MessageStore(self.runtime, self.store_config)
        self.topic_config_manager = TopicConfigManager(
            config,
            self._config_file("topics.json"),
            clock,
            len(self.store_config.delay_levels_ms) - 1,
            self.registration.topics_changed,
        )
        self.subscription_group_manager = SubscriptionGroupManager(
            config, self._config_file("subscriptionGroup.json"), clock
        )
        self._config_tables = (self.topic_config_manager.table, self.subscription_group_manager.table)
        self.consumer_offset_manager = ConsumerOffsetManager(
            self._config_file("consumerOffset.json"), clock, config.max_consumer_offset_entries
        )
        try:
            bloom_filter = BloomFilter(config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter)
        except ValueError as error:
            raise BrokerConfigRefused(f"maxErrorRateOfBloomFilter, expectConsumerNumUseFilter: {error}") from error
        filter_file = self._config_file("consumerFilter.json")
        self.consumer_filter_manager = ConsumerFilterManager(
            clock, filter_file, bloom_filter, lambda: store.commit_log.last_store_timestamp, config
        )
        self.filter_statistics = FilterStatistics(config.max_consumer_offset_entries)
        self.consumer_manager = ConsumerManager(self._group_changed, config, self.consumer_filter_manager.unregister)
        self.producer_manager = ProducerManager(config.max_online_groups, config.max_group_members)
        self.rebalance_lock_manager = RebalanceLockManager(
            clock, config.rebalance_lock_max_live_time_ms, config.max_rebalance_locks
        )

    def _make_services(self) -> None:
        """Create the services, which run in the background or serve several processors."""
        config, clock, store = self.config, self.runtime.clock, self.store
        topics, offsets = self.topic_config_manager, self.consumer_offset_manager
        self.configuration = BrokerConfiguration(
            config, self.store_config, self._config_file("brokerConfig.json"), self.where, topics, clock
        )
        self.schedule_message_service = ScheduleMessageService(
            clock, store, self._config_file("delayOffset.json"), self.store_config.delay_levels_ms
        )
        self.transactional_message_service = TransactionalMessageService(
            config, self.where, clock, store, topics, offsets, self.producer_manager
        )
        self.pull_request_hold_service = PullRequestHoldService(
            clock, store.max_offset, self._pull_woken, store.commit_log.read_record, config.max_held_pull_requests
        )
        self.client_housekeeping_service = ClientHousekeepingService(
            clock, self.consumer_manager, self.producer_manager, config.channel_expired_timeout_ms
        )
        self.broker_to_client = BrokerToClient(config, store, topics, offsets, self.consumer_manager)

    def _make_replication(self, majority: MajorityLog | None) -> None:
        """Create the parts that make the broker a master, a slave or the leader of others with its name."""
        store, outer_api = self.store, self.broker_outer_api
        synchronize = SlaveSynchronize(
            outer_api,
            store,
            self.topic_config_manager,
            self.subscription_group_manager,
            self.consumer_offset_manager,
            self.schedule_message_service,
        )
        self.replication = BrokerReplication(
            self.runtime,
            self.config,
            store,
            outer_api,
            synchronize,
            majority,
            self.registration.renew,
            None if self.access_guard is None else self.access_guard.refusal_of_slave,
        )

    def _make_processors(self) -> None:
        """Create the request processors (RocketMQ: ``BrokerController.registerProcessor``) and the guard before
        them.
        """
        config, where, runtime, store, stats = self.config, self.where, self.runtime, self.store, self.stats
        clock, chance = runtime.clock, runtime.random_for
        topics, offsets = self.topic_config_manager, self.consumer_offset_manager
        groups, locks = self.subscription_group_manager, self.rebalance_lock_manager
        consumers, producers, filters = self.consumer_manager, self.producer_manager, self.consumer_filter_manager
        schedule, transactions = self.schedule_message_service, self.transactional_message_service
        held_pulls, to_client, registration = self.pull_request_hold_service, self.broker_to_client, self.registration
        own_info = OwnRuntimeInfo(self.replication, consumers, producers, held_pulls)
        sending = SendParts(config, where, clock, store, topics, groups, stats, self.send_rate_limit)
        sending.copies = self.replication.copies
        checks = PullMessageChecks(config, topics, groups, consumers, filters)
        self.pull_message_processor = PullMessageProcessor(
            checks, config, where, clock, store, offsets, consumers, held_pulls, stats, self.filter_statistics
        )
        self.broker_admin_processor = BrokerAdminProcessor(
            runtime, config, where, self.configuration, store, schedule, stats, own_info.table
        )
        deleted = self.replication.topics_deleted
        deletion = TopicDeletion(store, topics, offsets, locks, consumers, held_pulls, stats, registration, deleted)
        self.server.processors.register_methods(
            SendMessageProcessor(sending, chance("send message"), registration, schedule, transactions),
            ReplyMessageProcessor(sending, chance("reply message"), producers),
            SendMessageBackProcessor(sending, chance("send message back"), schedule),
            EndTransactionProcessor(where, store, transactions),
            self.pull_message_processor,
            ClientManageProcessor(config, clock, topics, groups, consumers, producers, filters, registration),
            ConsumerManageProcessor(store, topics, offsets, consumers, locks),
            QueryMessageProcessor(config, store),
            TopicAdminProcessor(config, store, topics, offsets, consumers, registration, deletion),
            GroupAdminProcessor(config, where, clock, store, topics, groups, offsets, consumers, stats),
            OffsetAdminProcessor(store, topics, offsets, consumers, schedule, to_client),
            self.broker_admin_processor,
            StoreAdminProcessor(store, topics, consumers, filters),
            ClientAdminProcessor(config, store, consumers, producers, to_client),
            AclAdminProcessor(config, where, self.permission_manager),
        )
        if self.replication.majority is not None:
            self.server.processors.settle(SettledReplies(self._config_tables).settle)
        if self.access_guard is not None:
            self.server.processors.guard(self.access_guard.check)
        self.dead_letter_administrator = DeadLetterAdministrator(clock, where, store, topics, self.server)
        self.half_message_administrator = HalfMessageAdministrator(store, self.server)

    def _load_rules_code(self) -> None:
        """Install the check of every request before its processor, if ``aclEnable`` is set."""
        self.permission_manager: PlainPermissionManager | None = None
        self.access_guard: AccessGuard | None = None
        if self.config.acl_enable:
            # Imported here: without access rules YAML is not needed.
            from engine.acl.plain_permission_manager import PlainPermissionManager

            disk, clock = self.runtime.disk, self.runtime.clock
            self.permission_manager = PlainPermissionManager(disk, f"{CONFIG_FOLDER}/plain_acl.yml", clock)
            self.access_guard = AccessGuard(self.permission_manager, clock.monotonic_us)

    def _config_file(self, name: str) -> ConfigFile:
        file = ConfigFile(self.runtime.disk, f"{CONFIG_FOLDER}/{name}")
        self._config_files.append(file)
        return file

    @property
    def address(self) -> str:
        """Return the ``"ip:port"`` that clients connect to; empty until the broker listens."""
        return self.where.text

    # ------------------------------------------------------------------------ life cycle

    async def start(self, known: KnownBounds | None = None) -> RecoveryReport:
        """Start to serve. Repairs are listed in the report and the log.

        :param known: the bounds of the log if another source has reported them; else None.

        Raises ``FolderLocked`` (another broker has the data), ``AddressInUse``, ``DiskFault``; then, or if it is
        cancelled, all resources are released.
        """
        async with self._parts.starting():
            self.where.started_ms = self.runtime.clock.now_ms()
            self._parts.add(self.store.shutdown)
            self.recovery_report = report = await self._load(known)
            self._load_tables(report)
            self._write_tables_last()
            self._parts.add(self.server.shutdown)
            await self.server.start(self.config.host, self.config.port, self.config.max_unsent_bytes)
            self.where.take(self.server.address, self.config, self.runtime.identity.host_ip)
            self._parts.add(self.replication.shutdown)
            self._parts.add(self.broker_outer_api.shutdown)
            self._parts.add(partial(self.broker_outer_api.unregister_broker_all, self.address))
            self._parts.add(self._tasks.stop)
            await self.replication.start(self._tasks, self._config_files, self._config_tables)
            if self.config.vip_channel_enable:
                # The last of all ports, because configured ports take precedence.
                await self.vip_channel.open(self.server)
            self._begin_services()
            await self.registration.start(self._tasks)
            self.replication.follow(self._tasks)
        return report

    def _write_tables_last(self) -> None:
        """Write every table once more after the store has ended."""
        for write in (
            self.topic_config_manager.table.close,
            self.subscription_group_manager.table.close,
            self.consumer_offset_manager.persist,
            self.consumer_filter_manager.persist,
            self.schedule_message_service.persist,
        ):
            self._parts.add(partial(self._write_table, write), is_last=True)

    async def _write_table(self, write: Callable[[], Awaitable[object] | None]) -> None:
        try:
            writing = write()
            if writing is not None:
                await writing
        except (DiskFault, ConfigNotSaved) as fault:
            logger.error("a table could not be written: %s", fault)

    async def _load(self, known: KnownBounds | None) -> RecoveryReport:
        # The leader of a group must send heartbeats meanwhile.
        store = self.store
        return store.load() if known is None else await self.runtime.disk.off_loop(lambda: store.load(known))

    def _begin_services(self) -> None:
        self.store.dispatcher.on_messages_arrived = self._messages_arrived
        self.store.before_recovery_point = self._settle_before_recovery_point
        delay_offsets = self.schedule_message_service.offset_table
        unread = UnreadDeletions(self.consumer_offset_manager, delay_offsets)
        self.store.clean_service.on_deleted = unread.messages_deleted
        if self.config.enable_calc_filter_bit_map:
            bit_maps = FilterBitMap(self.consumer_filter_manager, self.store.commit_log.read_record)
            self.store.dispatcher.bit_map_of = bit_maps.bit_map_of
        self.store.start()
        if not self.replication.is_slave:
            self.schedule_message_service.start(self._tasks)
            self.transactional_message_service.start(self._tasks)
        every, config = self._tasks.every, self.config
        every(config.hold_check_interval_ms, self.pull_request_hold_service.check_hold_request, "hold service")
        scan = self.client_housekeeping_service.scan_exception_channel
        every(config.channel_scan_interval_ms, scan, "scan channels")
        every(config.flush_consumer_offset_interval_ms, self.consumer_offset_manager.persist, "persist offsets")
        persist_delay_offsets = self.schedule_message_service.persist_when_flushed
        every(config.flush_delay_offset_interval_ms, persist_delay_offsets, "persist delay offsets")
        every(SAMPLE_INTERVAL_MS, self.stats.sample, "sample groups")
        if config.enable_property_filter:
            every(config.flush_consumer_filter_interval_ms, self.consumer_filter_manager.persist, "persist filters")
        if self.permission_manager is not None:
            every(ACL_WATCH_INTERVAL_MS, self.permission_manager.reload, "watch rules")

    def _load_tables(self, report: RecoveryReport) -> None:
        self.configuration.load()
        if self.permission_manager is not None:
            try:
                self.permission_manager.load()
            except BadAccessConfig as error:
                raise BrokerConfigRefused(f"{error} (docs/security.md shows how rules are written)") from error
        self.topic_config_manager.load()
        self.subscription_group_manager.load()
        self.consumer_offset_manager.load()
        self.consumer_filter_manager.load()
        self.schedule_message_service.load()
        queue_counts: dict[str, int] = {}
        for topic, queue_id, _ in self.store.consume_queues():
            queue_counts[topic] = max(queue_counts.get(topic, 0), queue_id + 1)
        self.topic_config_manager.restore_topics(queue_counts)
        for topic in report.unfinished_deletions:
            self.consumer_offset_manager.remove_topic(topic)
        self.consumer_offset_manager.forget_unknown_topics(self.topic_config_manager.topic_config_table)
        if not report.was_clean or report.shortened_queues:
            self.consumer_offset_manager.cut_offsets(self.store.max_offset)
        self.schedule_message_service.skip_delivered(report)
        self.transactional_message_service.load(report)

    async def _register_broker(self, name_server: str, in_full: bool) -> bool:
        topics = self.topic_config_manager.registration()
        return await self.broker_outer_api.register_broker(name_server, self.address, topics, in_full=in_full)

    async def shutdown(self) -> None:
        """Unregister, stop serving, and write every table."""
        await self._parts.end()

    async def abandon(self) -> None:
        """End like a killed process: memory is lost, files stay as they are, and no peer is notified."""
        shutdowns = (self._tasks.stop, self.broker_outer_api.shutdown, self.replication.shutdown, self.server.shutdown)
        await self._parts.end((*shutdowns, *(table.abandon for table in self._config_tables), self.store.abandon))

    def advance(self, ms: int, *, liveness: bool = True) -> None:
        """Advance all timers by ``ms``, after the clock was set ahead; without ``liveness``, clients do not expire."""
        if not liveness:
            self.client_housekeeping_service.postpone(ms)
        self.client_housekeeping_service.scan_exception_channel()  # before a heartbeat that has arrived is read
        self._tasks.advance(ms)
        self.registration.advance(ms)
        self.schedule_message_service.deliver_due()

    def client_id_at(self, remote_address: str) -> str:
        """Return the client id of the connection from an address; empty until it has sent a heartbeat."""
        for channel, client in self._clients():
            if channel.remote_address == remote_address:
                return client.client_id
        return ""

    def _clients(self) -> Iterator[tuple[Channel, ClientChannelInfo]]:
        for _, producers in self.producer_manager:
            yield from producers.items()
        for group in self.consumer_manager:
            yield from group.channel_info_table.items()

    # ------------------------------------------------------------------------------ events

    async def _settle_before_recovery_point(self) -> None:
        """Record what was committed and delivered, before a recovery point.

        A start after a crash searches the log only from the recovery point on.
        """
        self.transactional_message_service.write_owed_ops()
        await self.schedule_message_service.persist_when_flushed()

    def _group_changed(self, group: str) -> None:
        """Handle a change of a group's members or subscribed topics."""
        self.broker_to_client.notify_consumer_ids_changed(group)

    def _pull_woken(self, pull: HeldPullRequest) -> int:
        """Answer a parked pull; return how many bytes of messages it got."""
        return self.pull_message_processor.execute_request_when_wakeup(pull)

    def _messages_arrived(self, requests: Sequence[DispatchRequest]) -> None:
        """Handle messages that the dispatcher made visible."""
        self.replication.log_grew()
        self.pull_request_hold_service.notify_messages_arriving(requests)
        for request in requests if not self.replication.is_slave else ():
            if request.topic == SCHEDULE_TOPIC:
                self.schedule_message_service.message_arrived(request.queue_id)
