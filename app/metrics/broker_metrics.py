"""Samples the live broker once and returns all metrics. Runs in the engine's thread.

The number of samples is bounded, and so is the time: everything beyond :data:`TOPICS_MAX` topics, :data:`PAIRS_MAX`
pairs of topic and group, :data:`GROUPS_MAX` groups or :data:`MESSAGES_READ_MAX` messages is counted in
``glassmq_metrics_omitted``. No label has values that clients can create without limit, such as client ids, addresses
and keys of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from app.foundation.version import version
from app.metrics.broker_runtime_metrics import broker_runtime_families
from app.metrics.exposition import MetricFamily
from app.metrics.number_metrics import number_families
from app.metrics.replication_metrics import replication_families
from engine.broker.foundation.store_lookups import message_store_time
from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX, dlq_topic, is_dlq_topic, is_retry_topic, is_system_group

if TYPE_CHECKING:
    from app.picture.numbers import Numbers
    from engine.broker.broker import Broker
    from engine.protocol.body.topic_config import TopicConfig

TOPICS_MAX = 2_000
#: Pairs of topic and group that have offsets.
PAIRS_MAX = 2_000
#: Messages that are read to determine the age of a backlog, one per queue with a backlog. Reading is the largest cost
#: here.
MESSAGES_READ_MAX = 1_000
#: Producer groups, and consumer groups.
GROUPS_MAX = 1_000

_BROKER = ("cluster", "brokerIP", "broker")
_TOPIC = ("cluster", "broker", "topic")
_TOPIC_AND_GROUP = ("cluster", "broker", "topic", "group")
_DIFF = ("group", "topic", "countOfOnlineConsumers", "msgModel")
#: ``MessageModel.CLUSTERING.ordinal()`` in Java, as the exporter writes it: groups that broadcast have no lag here.
_CLUSTERING = "1"


class BrokerMetrics:
    """Takes all metrics of one broker."""

    def __init__(
        self,
        broker: Broker,
        rules_said: Callable[[], Mapping[str, int]] = dict,
        numbers: Callable[[], Numbers | None] = lambda: None,
    ) -> None:
        """Make the collector.

        :param rules_said: rule of the verdict -> number of subjects with a fault.
        :param numbers: see :mod:`app.observation.stored_numbers`.
        """
        self._broker = broker
        self._rules_said = rules_said
        self._numbers = numbers
        config = broker.config
        self._topic_labels = (config.cluster_name, config.broker_name)

    def collect(self) -> list[MetricFamily]:
        """Return all metrics, sampled at one moment."""
        clock = self._broker.runtime.clock
        started_us = clock.monotonic_us()
        now_ms = clock.now_ms()
        omitted = MetricFamily(
            "glassmq_metrics_omitted", "Entries that this page leaves out because of its limits.", ("kind",)
        )
        families = [
            *self._broker_families(),
            *self._topic_families(omitted),
            *self._producer_families(omitted),
            *self._group_families(now_ms, omitted),
            *broker_runtime_families(self._broker, self._broker.broker_admin_processor.runtime_info()),
            *self._own_families(now_ms),
            *number_families(self._numbers()),
            *replication_families(self._broker),
            self._verdict_family(),
            omitted,
        ]
        took = MetricFamily("glassmq_metrics_collect_seconds", "Time that sampling the engine for this page took.")
        took.add((), (clock.monotonic_us() - started_us) / 1_000_000)
        return [*families, took]

    # ------------------------------------------------------------------------------ the broker

    def _broker_families(self) -> list[MetricFamily]:
        config, stats = self._broker.config, self._broker.stats
        labels = (config.cluster_name, self._broker.address, config.broker_name)
        stored = MetricFamily("rocketmq_broker_tps", "Messages stored per second, over the last minute.", _BROKER)
        stored.add(labels, stats.broker_data("BROKER_PUT_NUMS").minute.tps)
        handed_out = MetricFamily(
            "rocketmq_broker_qps", "Messages handed out per second, over the last minute.", _BROKER
        )
        handed_out.add(labels, stats.broker_data("BROKER_GET_NUMS").minute.tps)
        return [stored, handed_out]

    # ------------------------------------------------------------------------------ topics

    def _topic_families(self, omitted: MetricFamily) -> list[MetricFamily]:
        messages = MetricFamily("rocketmq_producer_tps", "Messages stored per second, over the last minute.", _TOPIC)
        sizes = MetricFamily("rocketmq_producer_message_size", "Bytes stored per second, over the last minute.", _TOPIC)
        offsets = MetricFamily("rocketmq_producer_offset", "Messages ever stored: the sum of the queues' ends.", _TOPIC)
        retry = MetricFamily("rocketmq_topic_retry_offset", "The same for retry topics.", _TOPIC)
        dead = MetricFamily(
            "rocketmq_topic_dlq_offset", "The same for dead-letter topics.", ("cluster", "broker", "group")
        )
        table = self._broker.topic_config_manager.topic_config_table
        is_system = self._broker.topic_config_manager.is_system_topic
        ends = [(config, self._end_of(config)) for config in table.values()]
        used = [(config, end) for config, end in ends if end or not is_system(config.topic_name)]
        stats = self._broker.stats
        for config, end in used[:TOPICS_MAX]:
            topic = config.topic_name
            labels = (*self._topic_labels, topic)
            if is_retry_topic(topic):
                retry.add(labels, end)
            elif is_dlq_topic(topic):
                dead.add((*self._topic_labels, topic.removeprefix(DLQ_GROUP_TOPIC_PREFIX)), end)
            else:
                offsets.add(labels, end)
            messages.add(labels, stats.topic_minute("TOPIC_PUT_NUMS", topic).tps)
            sizes.add(labels, stats.topic_minute("TOPIC_PUT_SIZE", topic).tps)
        omitted.add(("topics",), max(0, len(used) - TOPICS_MAX))
        # A series that starts with the first dead letter shows Prometheus no increase: it starts with the group, at 0.
        groups = self._broker.subscription_group_manager.subscription_group_table
        without = [one for one in groups if not is_system_group(one) and dlq_topic(one) not in table]
        for group in without[:GROUPS_MAX]:
            dead.add((*self._topic_labels, group), 0)
        omitted.add(("groups_without_dead_letters",), max(0, len(without) - GROUPS_MAX))
        return [messages, sizes, offsets, retry, dead]

    def _end_of(self, config: TopicConfig) -> int:
        max_offset = self._broker.store.max_offset
        return sum(max_offset(config.topic_name, queue_id) for queue_id in range(config.queue_nums))

    # ------------------------------------------------------------------------------ groups

    def _producer_families(self, omitted: MetricFamily) -> list[MetricFamily]:
        counts = MetricFamily("rocketmq_producer_count", "Producers that are online.", ("cluster", "broker", "group"))
        manager = self._broker.producer_manager
        for group, clients in islice(manager, GROUPS_MAX):
            counts.add((*self._topic_labels, group), len(clients))
        omitted.add(("producer_groups",), max(0, sum(1 for _ in manager) - GROUPS_MAX))
        return [counts]

    def _group_families(self, now_ms: int, omitted: MetricFamily) -> list[MetricFamily]:
        manager = self._broker.consumer_manager
        # The exporter writes all clients' addresses into the two other labels; here they stay empty.
        counts = MetricFamily("rocketmq_group_count", "Consumers that are online.", ("caddr", "localaddr", "group"))
        for info in islice(manager, GROUPS_MAX):
            counts.add(("", "", info.group_name), len(info.channel_info_table))
        omitted.add(("consumer_groups",), max(0, len(manager) - GROUPS_MAX))
        offsets = self._broker.consumer_offset_manager
        progress = _ProgressFamilies()
        for topic, group, committed in islice(offsets.entries(), PAIRS_MAX):
            config = self._broker.topic_config_manager.topic_config_table.get(topic)
            if config is not None:
                self._add_progress(progress, config, group, committed, now_ms)
        omitted.add(("topic_and_group",), max(0, len(offsets.offset_table) - PAIRS_MAX))
        omitted.add(("latencies",), progress.latencies_omitted)
        return [counts, *progress.families()]

    def _add_progress(
        self, progress: _ProgressFamilies, config: TopicConfig, group: str, committed: dict[int, int], now_ms: int
    ) -> None:
        topic, stats = config.topic_name, self._broker.stats
        labels = (*self._topic_labels, topic, group)
        progress.messages.add(labels, stats.group_minute("GROUP_GET_NUMS", topic, group).tps)
        progress.sizes.add(labels, stats.group_minute("GROUP_GET_SIZE", topic, group).tps)
        progress.offsets.add(labels, sum(committed.values()))
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        if self._broker.subscription_group_manager.is_broadcasting(group):
            return
        behind = self._behind(config, committed)
        if progress.messages_to_read >= len(behind):
            progress.messages_to_read -= len(behind)
            oldest_ms = min((self._stored_ms(topic, *place) for place, _ in behind), default=now_ms)
            progress.latencies.add(labels, max(0, now_ms - oldest_ms))
        else:
            progress.latencies_omitted += 1
        online = "0" if info is None else str(len(info.channel_info_table))
        progress.diff_of(topic).add((group, topic, online, _CLUSTERING), sum(count for _, count in behind))

    def _behind(self, config: TopicConfig, committed: dict[int, int]) -> list[tuple[tuple[int, int], int]]:
        """Return the queues with messages that are not confirmed: (queue id, offset of the first), how many."""
        store, topic = self._broker.store, config.topic_name
        behind = []
        for queue_id in range(config.read_queue_nums):
            end, offset = store.max_offset(topic, queue_id), committed.get(queue_id, 0)
            if end > offset:
                behind.append(((queue_id, max(offset, store.min_offset(topic, queue_id))), end - offset))
        return behind

    def _stored_ms(self, topic: str, queue_id: int, offset: int) -> int:
        """Return when that message was stored; the current time when it is gone, which makes it no backlog."""
        stored_ms = message_store_time(self._broker.store, topic, queue_id, offset)
        return stored_ms if stored_ms > 0 else self._broker.runtime.clock.now_ms()

    # ------------------------------------------------------------------------------ our own

    def _verdict_family(self) -> MetricFamily:
        family = MetricFamily("glassmq_verdict", "1 where a rule of the health verdict reports a problem.", ("rule",))
        for rule, subjects in self._rules_said().items():
            family.add((rule,), int(subjects > 0))
        return family

    def _own_families(self, now_ms: int) -> list[MetricFamily]:
        broker, totals, last = self._broker, self._broker.stats.totals, self._broker.stats.last_second(now_ms)
        info = MetricFamily(
            "glassmq_info", "Always 1; the labels identify what runs.", ("version", "broker", "flush", "acl")
        )
        flush = broker.store.config.flush_disk_type.value
        info.add((version(), broker.config.broker_name, flush, "on" if broker.access_guard else "off"), 1)
        families = [info]

        def add(name: str, text: str, value: float, kind: str = "gauge") -> None:
            family = MetricFamily(f"glassmq_{name}", text, kind=kind)
            family.add((), value)
            families.append(family)

        add("messages_in_total", "Messages stored.", totals.in_messages, "counter")
        add("messages_out_total", "Messages handed out.", totals.out_messages, "counter")
        add("bytes_in_total", "Bytes stored.", totals.in_bytes, "counter")
        add("bytes_out_total", "Bytes handed out.", totals.out_bytes, "counter")
        add("put_failures_total", "Messages that could not be stored.", broker.stats.put_failures, "counter")
        p99_s = last.deliver_p99_ms / 1_000
        add("deliver_seconds_p99", "99th percentile of the age of a reply's oldest message, last second.", p99_s)
        add("connections", "Connections of clients to the broker.", len(broker.server.channels))
        add("unsent_bytes", "Bytes that clients have not read yet, at most.", broker.server.unsent_bytes)
        cut = broker.server.cut_connections
        add("cut_connections_total", "Connections ended because clients did not read.", cut, "counter")
        add("held_pulls", "Pull requests that wait for messages.", len(broker.pull_request_hold_service))
        add("queue_locks", "Queues that are locked for a consumer.", len(broker.rebalance_lock_manager))
        damaged, check = broker.store.commit_log.damaged_records, broker.store.check_service
        add("damaged_messages", "Damaged messages found since the start, which are not sent.", len(damaged))
        add(
            "commit_log_check_bytes",
            "Old commit-log bytes that the current or last check has passed.",
            check.checked_bytes,
        )
        add("commit_log_check_total_bytes", "Old commit-log bytes that the check covers.", check.total_bytes)
        if broker.access_guard is not None and broker.permission_manager is not None:
            refused = broker.access_guard.refused_requests
            add("acl_refused_requests_total", "Requests that the rules refused.", refused, "counter")
            is_usable = broker.permission_manager.problem is None
            add("acl_rules_usable", "0 while the rules' file cannot be used and older rules apply.", int(is_usable))
        return families


class _ProgressFamilies:
    """The metrics of every pair of topic and group."""

    def __init__(self) -> None:
        self.messages_to_read = MESSAGES_READ_MAX
        self.latencies_omitted = 0
        self.messages = MetricFamily(
            "rocketmq_consumer_tps", "Messages received per second, last minute.", _TOPIC_AND_GROUP
        )
        self.sizes = MetricFamily(
            "rocketmq_consumer_message_size", "Bytes received per second, last minute.", _TOPIC_AND_GROUP
        )
        self.offsets = MetricFamily(
            "rocketmq_consumer_offset", "Messages ever confirmed: the sum of the offsets.", _TOPIC_AND_GROUP
        )
        latency = "Age of the oldest message not confirmed yet, ms."
        self.latencies = MetricFamily("rocketmq_group_get_latency_by_storetime", latency, _TOPIC_AND_GROUP)
        self.diff = MetricFamily("rocketmq_group_diff", "Messages that are not confirmed yet.", _DIFF)
        self.retry_diff = MetricFamily("rocketmq_group_retrydiff", "The same for retry topics.", _DIFF)
        self.dlq_diff = MetricFamily(
            "rocketmq_group_dlqdiff", "The same for dead-letter topics that have consumers.", _DIFF
        )

    def diff_of(self, topic: str) -> MetricFamily:
        """Return the family to which the backlog of ``topic`` belongs."""
        if is_retry_topic(topic):
            return self.retry_diff
        return self.dlq_diff if is_dlq_topic(topic) else self.diff

    def families(self) -> tuple[MetricFamily, ...]:
        """Return all families."""
        diffs = (self.diff, self.retry_diff, self.dlq_diff)
        return (self.messages, self.sizes, self.offsets, self.latencies, *diffs)
