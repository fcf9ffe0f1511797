"""One broker, put together (RocketMQ: ``BrokerController``).

Start: read the configuration files, load the store (which repairs what a crash left), listen, begin to dispatch,
flush and deliver, register with the name servers. Shutdown is the reverse, and writes every table once more.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.acl.errors import BadAccessConfig
from engine.broker.delivery.broker_to_client import BrokerToClient
from engine.broker.delivery.pull_request_hold_service import PullRequestHoldService
from engine.broker.delivery.schedule_message_service import ScheduleMessageService
from engine.broker.delivery.send_rate_limit import make_send_rate_limit
from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.filters.expression_compiler import ExpressionCompiler
from engine.broker.filters.filter_bit_map import FilterBitMap
from engine.broker.filters.filter_statistics import FilterStatistics
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_outer_api import BrokerOuterApi
from engine.broker.foundation.broker_registration import BrokerRegistration
from engine.broker.foundation.broker_stats_manager import BrokerStatsManager
from engine.broker.foundation.errors import ConfigNotSaved, ConfigRefused
from engine.broker.foundation.traffic_samples import SAMPLE_INTERVAL_MS
from engine.broker.processors.access_guard import AccessGuard
from engine.broker.processors.processor_table import register_processors
from engine.broker.processors.pull_message_processor import PullMessageProcessor
from engine.broker.tables.broker_configuration import BrokerConfiguration
from engine.broker.tables.client_housekeeping_service import ClientHousekeepingService
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.producer_manager import ProducerManager
from engine.broker.tables.rebalance_lock_manager import RebalanceLockManager
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.broker.tables.unread_deletions import UnreadDeletions
from engine.broker.transactions.transactional_message_service import TransactionalMessageService
from engine.filter.bloom_filter import BloomFilter
from engine.protocol.command.headers import NotifyConsumerIdsChangedRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.message.addresses import encode_host
from engine.protocol.names import SCHEDULE_TOPIC, validate_topic
from engine.protocol.request_code import RequestCode
from engine.remoting.remoting_client import RemotingClient
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault, Runtime
from engine.store.files.config_file import ConfigFile
from engine.store.files.store_config import MessageStoreConfig
from engine.store.message_store import MessageStore
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.recovery.recovery_report import RecoveryReport

if TYPE_CHECKING:
    from engine.acl.plain_permission_manager import PlainPermissionManager

logger = logging.getLogger("glassmq.broker")

CONFIG_FOLDER = "config"
#: How often the rules' file is looked at (RocketMQ: ``AclFileWatchService.WATCH_INTERVAL``).
ACL_WATCH_INTERVAL_MS = 5_000
_WILDCARD_HOSTS = ("0.0.0.0", "::", "[::]")


class Broker:
    """A broker that serves from ``start`` to ``shutdown``.

    :param runtime: the node it runs on.
    :param config: names, address, what is allowed.
    :param store_config: files and flushing.

    Raises :class:`ConfigRefused` for names that cannot be.
    """

    def __init__(
        self,
        runtime: Runtime,
        config: BrokerConfig | None = None,
        store_config: MessageStoreConfig | None = None,
    ) -> None:
        self.runtime = runtime
        # Copies: tools may change them while the broker runs.
        self.config = dataclasses.replace(config) if config is not None else BrokerConfig()
        self.store_config = dataclasses.replace(store_config) if store_config is not None else MessageStoreConfig()
        for name in (self.config.broker_name, self.config.cluster_name):
            try:
                validate_topic(name)  # both become topics
            except ProtocolError as error:
                raise ConfigRefused(f"as a broker's or cluster's name, {error}") from error
        self.started_ms = 0
        #: ``"ip:port"`` that clients are told, and the same as bytes; known once the broker listens.
        self.address = ""
        self.store_host = b""
        self.recovery_report: RecoveryReport | None = None
        #: Groups whose members must be told in this turn of the loop that the membership changed.
        self._changed_groups: dict[str, None] = {}
        self._tasks = BackgroundTasks(self.config.broker_name)
        self.broker_outer_api = BrokerOuterApi(runtime, self.config)
        self.registration = BrokerRegistration(self.config, self._register_broker)
        self._make_tables()
        self.configuration = BrokerConfiguration(self, self._config_file("brokerConfig.json"))
        self._make_services()
        self.server = RemotingServer(runtime, self.config.broker_name)
        self.server.on_connection_closed(self.client_housekeeping_service.channel_closed)
        register_processors(self)
        self._guard_requests()

    def _make_tables(self) -> None:
        runtime, config = self.runtime, self.config
        clock = runtime.clock
        self.stats = BrokerStatsManager(clock.now_ms(), config.max_consumer_offset_entries)
        #: None: no limit is set.
        self.send_rate_limit = make_send_rate_limit(config, clock.monotonic_us)
        self.store = MessageStore(runtime, self.store_config)
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
        self.consumer_offset_manager = ConsumerOffsetManager(
            self._config_file("consumerOffset.json"), config.max_consumer_offset_entries
        )
        self._make_filters()
        self.consumer_manager = ConsumerManager(
            self._notify_consumer_ids_changed, config, self.consumer_filter_manager.unregister
        )
        self.producer_manager = ProducerManager(config.max_online_groups, config.max_group_members)
        self.rebalance_lock_manager = RebalanceLockManager(
            clock, config.rebalance_lock_max_live_time_ms, config.max_rebalance_locks
        )

    def _make_filters(self) -> None:
        config, commit_log = self.config, self.store.commit_log
        try:
            bloom_filter = BloomFilter(config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter)
        except ValueError as error:
            raise ConfigRefused(f"maxErrorRateOfBloomFilter, expectConsumerNumUseFilter: {error}") from error
        monotonic_us = self.runtime.clock.monotonic_us
        self.expression_compiler = ExpressionCompiler(config.max_filter_words_per_second, monotonic_us)
        self.consumer_filter_manager = ConsumerFilterManager(
            self.runtime.clock,
            self._config_file("consumerFilter.json"),
            bloom_filter,
            lambda: commit_log.last_store_timestamp,
            config.filter_data_clean_time_span_ms,
            config.max_consumer_filters,
            config.max_consumer_filter_words,
            self.expression_compiler,
        )
        self.filter_statistics = FilterStatistics(config.max_consumer_offset_entries)

    def _make_services(self) -> None:
        clock, config = self.runtime.clock, self.config
        self.schedule_message_service = ScheduleMessageService(
            clock, self.store, self._config_file("delayOffset.json"), self.store_config.delay_levels_ms
        )
        self.transactional_message_service = TransactionalMessageService(self)
        self.pull_message_processor = PullMessageProcessor(self)
        self.pull_request_hold_service = PullRequestHoldService(
            clock,
            self.store.max_offset,
            self.pull_message_processor.execute_request_when_wakeup,
            self.store.commit_log.read_record,
            config.max_held_pull_requests,
        )
        self.client_housekeeping_service = ClientHousekeepingService(
            clock, self.consumer_manager, self.producer_manager, config.channel_expired_timeout_ms
        )
        self.broker_to_client = BrokerToClient(self)

    def _guard_requests(self) -> None:
        """With ``aclEnable``: check every request before its processor. Without it nothing stands in between."""
        self.permission_manager: PlainPermissionManager | None = None
        self.access_guard: AccessGuard | None = None
        if self.config.acl_enable:
            # Imported here: without rules nobody needs to read YAML.
            from engine.acl.plain_permission_manager import PlainPermissionManager

            disk, clock = self.runtime.disk, self.runtime.clock
            self.permission_manager = PlainPermissionManager(disk, f"{CONFIG_FOLDER}/plain_acl.yml", clock)
            self.access_guard = AccessGuard(self.permission_manager)
            self.server.processors.guard(self.access_guard.check)

    def _config_file(self, name: str) -> ConfigFile:
        return ConfigFile(self.runtime.disk, f"{CONFIG_FOLDER}/{name}")

    @property
    def name_server_client(self) -> RemotingClient:
        """The connections to the name servers."""
        return self.broker_outer_api.client

    # ------------------------------------------------------------------------------ life

    async def start(self) -> RecoveryReport:
        """Serve. What had to be repaired is in the report and in the log.

        Raises ``FolderLocked`` (another broker has the data), ``AddressInUse``, ``DiskFault``.
        """
        self.started_ms = self.runtime.clock.now_ms()
        self.recovery_report = report = self.store.load()
        try:
            self._load_tables(report)
            await self.server.start(self.config.host, self.config.port, self.config.max_unsent_bytes)
            self._take_address()
            self._begin_services()
        except BaseException:
            await self._tasks.stop()
            await self.server.shutdown()
            await self.store.shutdown()
            raise
        await self.registration.start(self._tasks)
        return report

    def _begin_services(self) -> None:
        self.store.on_messages_arrived = self._messages_arrived
        self.store.before_recovery_point = self._settle_before_recovery_point
        delay_offsets = self.schedule_message_service.offset_table
        unread = UnreadDeletions(self.consumer_offset_manager, delay_offsets)
        self.store.clean_service.on_deleted = unread.messages_deleted
        if self.config.enable_calc_filter_bit_map:
            bit_maps = FilterBitMap(self.consumer_filter_manager, self.store.commit_log.read_record)
            self.store.dispatcher.bit_map_of = bit_maps.bit_map_of
        self.store.start()
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
                raise ConfigRefused(f"{error} (docs/security.md shows how rules are written)") from error
        for table in self._persistent_tables:
            table.load()
        queue_counts: dict[str, int] = {}
        for topic, queue_id, _ in self.store.consume_queues():
            queue_counts[topic] = max(queue_counts.get(topic, 0), queue_id + 1)
        self.topic_config_manager.restore_topics(queue_counts)
        self.consumer_offset_manager.forget_unknown_topics(self.topic_config_manager.topic_config_table)
        if not report.was_clean or report.shortened_queues:
            self.consumer_offset_manager.cut_offsets(self.store.max_offset)
        self.schedule_message_service.skip_delivered(report)
        self.transactional_message_service.load(report)

    @property
    def _persistent_tables(
        self,
    ) -> tuple[
        TopicConfigManager,
        SubscriptionGroupManager,
        ConsumerOffsetManager,
        ConsumerFilterManager,
        ScheduleMessageService,
    ]:
        return (
            self.topic_config_manager,
            self.subscription_group_manager,
            self.consumer_offset_manager,
            self.consumer_filter_manager,
            self.schedule_message_service,
        )

    def _take_address(self) -> None:
        """Work out what clients are told: ``brokerIP1``, or where the broker really listens."""
        ip, _, port = self.server.address.rpartition(":")
        if self.config.broker_ip1 is not None:
            ip = self.config.broker_ip1
        elif ip in _WILDCARD_HOSTS:
            ip = self.runtime.identity.host_ip
        self.address = f"{ip}:{port}"
        try:
            self.store_host = encode_host(self.address)
        except ProtocolError as error:
            raise ConfigRefused(f"brokerIP1 must be an IP address: {error}") from error

    async def _register_broker(self, name_server: str, in_full: bool) -> bool:
        topics = self.topic_config_manager.registration()
        return await self.broker_outer_api.register_broker(name_server, self.address, topics, in_full=in_full)

    async def shutdown(self) -> None:
        """Say goodbye, stop serving, write every table."""
        await self._tasks.stop()
        await self.broker_outer_api.unregister_broker_all(self.address)
        await self.broker_outer_api.shutdown()
        await self.server.shutdown()
        await self.store.shutdown()
        for write in (
            self.topic_config_manager.table.close,
            self.subscription_group_manager.table.close,
            self.consumer_offset_manager.persist,
            self.consumer_filter_manager.persist,
        ):
            try:
                await write()
            except (DiskFault, ConfigNotSaved) as fault:
                logger.error("a table could not be written: %s", fault)
        try:
            self.schedule_message_service.persist()
        except DiskFault as fault:
            logger.error("a table could not be written: %s", fault)

    # ------------------------------------------------------------------------------ what happens

    async def _settle_before_recovery_point(self) -> None:
        """A start after a crash looks for what was committed and delivered from the recovery point on only: what was
        before it has to be on record.
        """
        self.transactional_message_service.write_owed_ops()
        await self.schedule_message_service.persist_when_flushed()

    def _messages_arrived(self, requests: Sequence[DispatchRequest]) -> None:
        """The dispatcher made messages visible."""
        self.pull_request_hold_service.notify_messages_arriving(requests)
        for request in requests:
            if request.topic == SCHEDULE_TOPIC:
                self.schedule_message_service.message_arrived(request.queue_id)

    def _notify_consumer_ids_changed(self, group: str) -> None:
        """Members of ``group`` must hear of a change (RocketMQ: ``DefaultConsumerIdsChangeListener``).

        Changes of one moment are told together: when 1,000 members come back at once, each hears of it a few times and
        not 1,000 times.
        """
        if not self._changed_groups:
            asyncio.get_running_loop().call_soon(self._notify_changed_groups)
        self._changed_groups[group] = None

    def _notify_changed_groups(self) -> None:
        """Tell all members to rebalance (RocketMQ: ``Broker2Client.notifyConsumerIdsChanged``)."""
        groups, self._changed_groups = self._changed_groups, {}
        for group in groups:
            info = self.consumer_manager.get_consumer_group_info(group)
            for channel in [] if info is None else info.channels:
                header = NotifyConsumerIdsChangedRequestHeader(group)
                channel.send_oneway(RemotingCommand.request(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header))
