"""Settings of one broker (RocketMQ: ``BrokerConfig``).

Every field is an option of the same name in RocketMQ's camelCase (``auto_create_topic_enable`` is
``autoCreateTopicEnable``); :meth:`BrokerConfig.to_properties` prints them so. Defaults are RocketMQ 4.9.8's unless the
comment says otherwise. The bounds at the end have no counterpart there: RocketMQ's tables grow as long as its heap
lasts, GlassMQ's refuse entries with an error that names the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from typing import ClassVar

from engine.protocol.permission import PERM_READ_WRITE
from engine.replication.ha.ha_config import HaRole, ReplicaAcks
from engine.runtime.connection_limits import UNSENT_ALL_LIMIT_BYTES, UNSENT_SHARE_MAX_BYTES
from engine.store.files.setting_rules import PORT, SettingRule, SettingsContradict, between, check_rules

#: Settings that must not be 0 ms, because time would never pass.
_INTERVALS = (
    "ha_send_heartbeat_interval_ms",
    "ha_housekeeping_interval_ms",
    "slave_synchronize_interval_ms",
    "transaction_check_interval_ms",
    "hold_check_interval_ms",
    "channel_scan_interval_ms",
    "register_name_server_period_ms",
    "flush_consumer_offset_interval_ms",
    "flush_config_interval_ms",
    "flush_delay_offset_interval_ms",
    "flush_consumer_filter_interval_ms",
)
_RULES: Mapping[str, SettingRule] = {
    "port": PORT,
    "ha_listen_port": PORT,
    "replica_count": between(1, 9),
    "broker_permission": between(0, 7, " (4 to read, plus 2 to write)"),
    "max_error_rate_of_bloom_filter": between(1, 99),
    "expect_consumer_num_use_filter": between(1),
    # Without words no expression would ever be accepted.
    "max_filter_words_per_second": between(1),
    # With less than one connection's share, well-behaved readers would be disconnected in the middle of their replies.
    "max_unsent_bytes": between(UNSENT_SHARE_MAX_BYTES),
    **dict.fromkeys(_INTERVALS, between(1)),
}


@dataclass(slots=True)
class BrokerConfig:
    """The name, address and limits of one broker.

    A broker changes its copy when a tool requests it (``broker_configuration.py``).
    """

    # --- names and addresses ------------------------------------------------------------------------------------
    #: RocketMQ: the host name. A fixed name keeps examples and screenshots the same everywhere.
    broker_name: str = "broker-a"
    cluster_name: str = "DefaultCluster"
    #: 0 is the master of its broker name (``MixAll.MASTER_ID``).
    broker_id: int = 0
    #: The address to listen on. RocketMQ: all addresses; here loopback by default.
    host: str = "127.0.0.1"
    #: 0 takes any free port.
    port: int = 10911
    #: Also listen at ``port`` - 2, where Java clients 4.1 to 4.4 send by default. If that port is not available, the
    #: broker logs a warning and continues without it. Not a setting in RocketMQ, which always listens there, and does
    #: not start if it cannot.
    vip_channel_enable: bool = True
    #: The IP address that clients connect to (``brokerIP1``); None: ``host``, or the machine's own if that is a
    #: wildcard.
    broker_ip1: str | None = None
    #: The address of the page about this broker, such as ``"http://10.0.0.5:8000"``, for the list of brokers on other
    #: pages. Not a setting in RocketMQ; empty: that of the page in the broker's
    #: process, unless it listens at all addresses.
    page_address: str = ""
    #: ``"host:port"`` of every name server to register with.
    name_server_addresses: tuple[str, ...] = ()

    # --- replication (RocketMQ keeps these in ``MessageStoreConfig``) -----------------------------------------------
    broker_role: HaRole = HaRole.ASYNC_MASTER
    #: The port for slaves; 0 takes any free port. None: no slaves are served, except by a SYNC_MASTER. RocketMQ always
    #: listens, at the broker's port plus one.
    ha_listen_port: int | None = None
    #: The address of that port, which has no authentication. RocketMQ: all addresses.
    ha_host: str = "127.0.0.1"
    ha_send_heartbeat_interval_ms: int = 5_000
    ha_housekeeping_interval_ms: int = 20_000
    ha_transfer_batch_size_bytes: int = 32 * 1024
    ha_slave_fallbehind_max_bytes: int = 256 * 1024 * 1024
    #: How long a sender waits for slaves (``slaveTimeout``).
    slave_timeout_ms: int = 3_000
    #: How many copies a SYNC_MASTER waits for, and how many there are. Both are not in RocketMQ.
    replica_acks: ReplicaAcks = ReplicaAcks.ONE
    replica_count: int = 3
    #: In a group: how often a leader sends heartbeats (DLedger's ``heartBeatTimeIntervalMs``: 2 s), and the bounds of
    #: the random time after which followers start an election; a leader steps down if it does not hear from a majority
    #: for the longer one. Longer times tolerate a busier machine, but a dead leader is detected later.
    group_heartbeat_interval_ms: int = 200
    group_election_timeout_min_ms: int = 1_000
    group_election_timeout_max_ms: int = 2_000
    #: Redirect consumers that lag far behind to a slave.
    slave_read_enable: bool = False
    #: How often a slave requests topics, groups and offsets from its master (fixed in ``BrokerController``).
    slave_synchronize_interval_ms: int = 10_000

    # --- permissions and templates ------------------------------------------------------------------------------
    #: Permission bits of the whole broker.
    broker_permission: int = PERM_READ_WRITE
    auto_create_topic_enable: bool = True
    auto_create_subscription_group: bool = True
    #: Queues of the template topic TBW102.
    default_topic_queue_nums: int = 8
    #: Whether the topic with the name of the cluster (broker) may serve as a template, too.
    cluster_topic_enable: bool = True
    broker_topic_enable: bool = True
    #: Only accept requests that are signed and allowed by the rules in ``config/plain_acl.yml`` of the data folder.
    acl_enable: bool = False
    #: The values of MSG_REGION and TRACE_ON in send replies (``BrokerConfig.regionId``, ``traceOn``).
    region_id: str = "DefaultRegion"
    trace_on: bool = True
    trace_topic_enable: bool = False
    msg_trace_topic_name: str = "RMQ_SYS_TRACE_TOPIC"
    #: Whether a reply to a request is also stored, in the cluster's reply topic.
    store_reply_message_enable: bool = True
    #: When a pull asks for an offset that is gone or beyond the end, record it in topic OFFSET_MOVED_EVENT.
    offset_moved_event_enable: bool = True

    # --- filters by expression (SQL92) --------------------------------------------------------------------------
    #: Off, as in RocketMQ: reading the properties of every message costs the broker time.
    enable_property_filter: bool = False
    #: Also filter messages in retry topics.
    filter_support_retry: bool = False
    #: Evaluate all groups' expressions when a message arrives, and keep the result as a bit map, if the store does so
    #: (``enable_consume_queue_ext``).
    enable_calc_filter_bit_map: bool = False
    #: Of a hundred messages that do not match a group's filter, this many may match by their bit maps (1 to 99) ...
    max_error_rate_of_bloom_filter: int = 20
    #: ... as long as no more groups than this filter a topic.
    expect_consumer_num_use_filter: int = 32
    #: How long the expression of an offline group is kept.
    filter_data_clean_time_span_ms: int = 24 * 3_600_000

    # --- transactions -------------------------------------------------------------------------------------------
    reject_transaction_message: bool = False
    #: The minimum age of a half message when its sender is asked about it.
    transaction_time_out_ms: int = 6_000
    #: How many times the sender is asked before the message is given up.
    transaction_check_max: int = 15
    #: The interval between two rounds of the check service.
    transaction_check_interval_ms: int = 60_000
    #: Whether a transaction commits one message only, however many END_TRANSACTION requests arrive and however many
    #: copies of its half message a crash left. Not in RocketMQ; false behaves like RocketMQ, which commits once per
    #: request and per copy.
    commit_transaction_once: bool = True

    # --- rate limits (ours) -------------------------------------------------------------------------------------
    #: The maximum number of messages per second that the whole broker accepts from producers; beyond it a send is
    #: answered SYSTEM_BUSY. 0: no limit. Not in RocketMQ, like the next one.
    send_rate_limit: int = 0
    #: The same for each topic.
    send_rate_limit_per_topic: int = 0

    # --- long polling -------------------------------------------------------------------------------------------
    long_polling_enable: bool = True
    #: How long a pull waits when long polling is off.
    short_polling_time_mills: int = 1_000
    #: How often parked pulls are checked even if nothing arrives (``PullRequestHoldService``, fixed there).
    hold_check_interval_ms: int = 5_000

    # --- clients ------------------------------------------------------------------------------------------------
    notify_consumer_ids_changed_enable: bool = True
    #: ``ConsumerManager``/``ProducerManager.CHANNEL_EXPIRED_TIMEOUT`` and the period of ``ClientHousekeepingService``.
    channel_expired_timeout_ms: int = 120_000
    channel_scan_interval_ms: int = 10_000
    #: ``rocketmq.broker.rebalance.lockMaxLiveTime``.
    rebalance_lock_max_live_time_ms: int = 60_000

    # --- services -----------------------------------------------------------------------------------------------
    register_name_server_period_ms: int = 30_000
    register_broker_timeout_mills: int = 6_000
    #: How long the reply to a client that created a topic waits for name servers that do not answer. Not in RocketMQ,
    #: which waits ``registerBrokerTimeoutMills``, longer than its clients wait for the reply (3 s for a send or a
    #: heartbeat).
    registration_wait_ms: int = 1_000
    flush_consumer_offset_interval_ms: int = 5_000
    #: The minimum interval between writes of topics and groups that the broker created by itself; what a tool changes
    #: is written before it is answered. RocketMQ writes at every change.
    flush_config_interval_ms: int = 1_000
    flush_delay_offset_interval_ms: int = 10_000
    #: As in ``BrokerController``, which has no setting for it.
    flush_consumer_filter_interval_ms: int = 10_000
    #: ``MessageStoreConfig.defaultQueryMaxNum``.
    default_query_max_num: int = 32

    # --- bounds (ours) ------------------------------------------------------------------------------------------
    max_topics: int = 10_000
    #: BenchmarkTest, the widest topic that RocketMQ creates itself, has 1024.
    max_queue_nums_per_topic: int = 1_024
    max_subscription_groups: int = 10_000
    #: The maximum number of online producer groups plus consumer groups.
    max_online_groups: int = 10_000
    max_subscriptions_per_group: int = 1_000
    #: The maximum number of undecided transactions; beyond it a half message is answered SYSTEM_BUSY. Some 200 bytes
    #: each.
    max_undecided_transactions: int = 500_000
    max_tags_per_subscription: int = 1_000
    #: The maximum size of one subscription in memory: its texts, 500 bytes, and 100 for each tag.
    max_subscription_bytes: int = 262_144
    #: The maximum size of the subscriptions of all online groups.
    max_subscription_bytes_in_all: int = 67_108_864
    #: The maximum number of pairs of client and group that are online, of consumers and of producers each.
    max_group_members: int = 100_000
    #: The maximum number of pairs of topic and group with a stored offset.
    max_consumer_offset_entries: int = 100_000
    max_rebalance_locks: int = 100_000
    #: The maximum number of pairs of topic and group that filter by an expression.
    max_consumer_filters: int = 10_000
    #: The maximum number of names, texts, numbers, signs and brackets of all these expressions: about 50 MB.
    max_consumer_filter_words: int = 200_000
    #: How many words of new expressions are compiled per second, for all connections together: about 50 ms of a second.
    max_filter_words_per_second: int = 5_000
    #: As ``pullThreadPoolQueueCapacity``; beyond it a pull is answered immediately.
    max_held_pull_requests: int = 100_000
    #: The maximum size of what clients have not read yet, in total; beyond it clients that do not read are
    #: disconnected, the largest first. Room for a thousand pulls of 256 KiB, which fits a machine with 1 GiB.
    max_unsent_bytes: int = UNSENT_ALL_LIMIT_BYTES

    #: The rules of the settings, each independent of the others.
    RULES: ClassVar[Mapping[str, SettingRule]] = _RULES

    def __post_init__(self) -> None:
        """Check the settings. Raises ValueError that names the setting, its value and what is allowed."""
        check_rules(self, _RULES)
        heartbeat_ms, least_ms = self.group_heartbeat_interval_ms, self.group_election_timeout_min_ms
        if not 10 <= heartbeat_ms <= least_ms // 3 <= least_ms <= self.group_election_timeout_max_ms <= 600_000:
            raise SettingsContradict(
                ("group_heartbeat_interval_ms", "group_election_timeout_min_ms", "group_election_timeout_max_ms"),
                f"group_heartbeat_interval_ms is {heartbeat_ms}, group_election_timeout_min_ms {least_ms} and "
                f"group_election_timeout_max_ms {self.group_election_timeout_max_ms}; allowed: at least 10, at "
                "least three times the first, and at least the second but at most 600,000",
            )
        is_slave = self.broker_role is HaRole.SLAVE
        if is_slave is (self.broker_id == 0):
            raise SettingsContradict(
                ("broker_id", "broker_role"),
                f"broker_id is {self.broker_id} and broker_role {self.broker_role.value}: "
                "a master has id 0, a SLAVE 1 or more",
            )

    def to_properties(self) -> dict[str, str]:
        """Return the settings under RocketMQ's names, with values as Java prints them."""
        settings: dict[str, str] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                settings[java_name(field.name)] = java_value(value)
        return settings


#: Names that are not simply ours in camelCase without the unit.
_JAVA_NAMES: Mapping[str, str] = {
    "cluster_name": "brokerClusterName",
    "host": "bindAddress",
    "port": "listenPort",
    "broker_ip1": "brokerIP1",
    "ha_transfer_batch_size_bytes": "haTransferBatchSize",
    "ha_slave_fallbehind_max_bytes": "haSlaveFallbehindMax",
    "name_server_addresses": "namesrvAddr",
}


@cache
def java_name(name: str) -> str:
    """Return a setting's name in RocketMQ: ``camelCase`` for ``snake_case_ms``."""
    known = _JAVA_NAMES.get(name)
    if known is not None:
        return known
    first, *rest = name.removesuffix("_ms").split("_")
    return first + "".join(word.capitalize() for word in rest)


def java_value(value: object) -> str:
    """Return a setting as Java prints it: lower-case booleans, enumerations by name, lists joined by semicolons."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return ";".join(str(part) for part in value)
    return str(value)
