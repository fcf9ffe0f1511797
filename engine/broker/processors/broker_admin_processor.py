"""The broker's own state and settings, as tools see them (RocketMQ: part of ``AdminBrokerProcessor``).

The runtime table has every name that RocketMQ's has, because the exporter fails as a whole if one is missing, and some
of its own (:mod:`engine.broker.own_runtime_info`). Values for what does not exist here say so: thread pools
are empty (requests are served by one event loop and never queue), the page cache is never locked, and the transient
store pool is reported as off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.delivery.schedule_message_service import ScheduleMessageService
from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.broker_stats_manager import BrokerStatsManager
from engine.broker.foundation.store_lookups import earliest_message_time
from engine.broker.foundation.traffic_samples import STATS_NAMES
from engine.broker.tables.broker_configuration import BrokerConfiguration
from engine.broker.tables.consumer_offset_manager import TOPIC_GROUP_SEPARATOR
from engine.protocol.body.admin_bodies import BrokerStatsData
from engine.protocol.body.bodies import KVTable
from engine.protocol.command.headers import GetBrokerConfigResponseHeader, ViewBrokerStatsDataRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import PROTOCOL_VERSION
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.json_form.properties_text import format_properties, parse_properties
from engine.protocol.names import SCHEDULE_TOPIC
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.runtime.port import DiskFault, Runtime
from engine.store.message_store import MessageStore

#: The name of :data:`PROTOCOL_VERSION` in ``MQVersion``.
VERSION_DESCRIPTION = "V4_9_8"
_RATE_WINDOWS_S = (10, 60, 600)
_BINARY_PREFIXES = "KMGTPE"
#: Requests are processed as they arrive: no queue ever contains one.
_QUEUES_THAT_ARE_NONE = ("sendThreadPoolQueue", "pullThreadPoolQueue", "queryThreadPoolQueue")
#: Values for what does not exist here: RocketMQ's value for "none waits", "has no room", "was never larger" or "is
#: off".
_NEUTRAL_VALUES = {
    "startAcceptSendRequestTimeStamp": "0",
    "pageCacheLockTimeMills": "0",
    **{f"{queue}{end}": "0" for queue in _QUEUES_THAT_ARE_NONE for end in ("Size", "Capacity", "HeadWaitTimeMills")},
    "EndTransactionQueueSize": "0",
    "EndTransactionThreadPoolQueueCapacity": "0",
    "dispatchMaxBuffer": "0",
    "remainTransientStoreBufferNumbs": str(2**31 - 1),
}


@dataclass(frozen=True)
class BrokerAdminProcessor:
    """The processor of codes 25, 26, 28 and 315."""

    runtime: Runtime
    config: BrokerConfig
    address: BrokerAddress
    configuration: BrokerConfiguration
    store: MessageStore
    schedule: ScheduleMessageService
    stats: BrokerStatsManager
    own_info: Callable[[], dict[str, str]]

    # ------------------------------------------------------------------------------ settings

    @answers(RequestCode.GET_BROKER_CONFIG, RemotingCommand)
    def get_broker_config(self, request: RemotingCommand) -> RemotingCommand:
        """Return all settings as Java properties text (code 26)."""
        version = dumps_json(self.configuration.data_version.to_dict()).decode()
        settings = format_properties(self.configuration.settings())
        return request.reply(ResponseCode.SUCCESS, None, GetBrokerConfigResponseHeader(version), settings)

    @answers(RequestCode.UPDATE_BROKER_CONFIG, RemotingCommand)
    def update_broker_config(self, request: RemotingCommand) -> None:
        """Change settings, all or none (code 25)."""
        self.configuration.update(parse_properties(request.body))

    # ------------------------------------------------------------------------------ counters

    @answers(RequestCode.VIEW_BROKER_STATS_DATA, ViewBrokerStatsDataRequestHeader)
    def view_broker_stats_data(self, header: ViewBrokerStatsDataRequestHeader) -> BrokerStatsData:
        """Return one counter over the last minute, hour and day (code 315)."""
        name, key = header.stats_name, header.stats_key
        data = self._stats_data(name, key)
        if data is None:
            raise RequestRefused(
                f"there is no counter {name[:100]!r} of {key[:300]!r}; counted are {', '.join(STATS_NAMES)}, "
                "per topic, topic@group or cluster"
            )
        return data

    def _stats_data(self, name: str, key: str) -> BrokerStatsData | None:
        stats = self.stats
        if name not in STATS_NAMES:
            return None
        if name.startswith("BROKER"):
            return stats.broker_data(name) if key == self.config.cluster_name else None
        if name.startswith("TOPIC"):
            return stats.topic_data(name, key)
        topic, _, group = key.partition(TOPIC_GROUP_SEPARATOR)
        return stats.group_data(name, topic, group)

    # ------------------------------------------------------------------------------ state

    @answers(RequestCode.GET_BROKER_RUNTIME_INFO)
    def get_broker_runtime_info(self) -> KVTable:
        """Return the runtime table (code 28)."""
        return KVTable(self.runtime_info())

    def runtime_info(self) -> dict[str, str]:
        """Return the broker's runtime information."""
        now_ms = self.runtime.clock.now_ms()
        own = self.own_info()
        return self._identity(now_ms) | self._store_state() | self._message_counts() | self._rates(now_ms) | own

    def _identity(self, now_ms: int) -> dict[str, str]:
        minutes, seconds = divmod((now_ms - self.address.started_ms) // 1_000, 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        table = {
            "bootTimestamp": str(self.address.started_ms),
            "brokerVersion": str(PROTOCOL_VERSION),
            "brokerVersionDesc": VERSION_DESCRIPTION,
            "runtime": f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]",
        }
        return table | _NEUTRAL_VALUES

    def _store_state(self) -> dict[str, str]:
        store = self.store
        disk_used, size_bytes, free_bytes = self._disk_use()
        used_ratio = f"{disk_used:.2f}"
        table = {
            "commitLogMinOffset": str(store.commit_log.min_offset),
            "commitLogMaxOffset": str(store.commit_log.max_offset),
            "remainHowManyDataToFlush": f"{store.commit_log.max_offset - store.commit_log.flushed_offset} B",
            "dispatchBehindBytes": str(store.dispatch_behind_bytes),
            "commitLogDiskRatio": used_ratio,
            "consumeQueueDiskRatio": used_ratio,
            "commitLogDirCapacity": f"Total : {_readable_bytes(size_bytes)}, Free : {_readable_bytes(free_bytes)}.",
            "earliestMessageTimeStamp": str(earliest_message_time(store)),
        }
        for level, offset in sorted(self.schedule.offset_table.items()):
            max_offset = store.max_offset(SCHEDULE_TOPIC, level - 1)
            table[f"scheduleMessageOffset_{level}"] = f"{offset},{max_offset}"
        return table

    def _disk_use(self) -> tuple[float, int, int]:
        """Return the used share of the disk, its size and the free bytes; a data folder that is gone has no room."""
        disk = self.runtime.disk
        try:
            return disk.used_ratio(), *disk.room_bytes()
        except DiskFault:
            return 1.0, 0, 0

    def _message_counts(self) -> dict[str, str]:
        stats = self.stats
        totals = stats.totals
        average = totals.in_bytes / totals.in_messages if totals.in_messages else 0.0
        put_morning, get_morning = stats.today_morning
        put_yesterday, get_yesterday = stats.yesterday_morning
        return {
            "msgPutTotalTodayNow": str(totals.in_messages),
            "msgPutTotalTodayMorning": str(put_morning),
            "msgPutTotalYesterdayMorning": str(put_yesterday),
            "msgGetTotalTodayNow": str(totals.out_messages),
            "msgGetTotalTodayMorning": str(get_morning),
            "msgGetTotalYesterdayMorning": str(get_yesterday),
            "putMessageTimesTotal": str(totals.in_messages),
            "putMessageSizeTotal": str(totals.in_bytes),
            "putMessageAverageSize": str(average),
            "putMessageFailedTimes": str(stats.put_failures),
            "putMessageEntireTimeMax": str(stats.put_latency_us_max // 1_000),
            "getMessageEntireTimeMax": str(stats.get_latency_us_max // 1_000),
        }

    def _rates(self, now_ms: int) -> dict[str, str]:
        """Return the rates per second, over 10, 60 and 600 s, separated by spaces."""
        stats = self.stats

        def rates(*names: str) -> str:
            sums = (sum(stats.per_second(name, now_ms, window) for name in names) for window in _RATE_WINDOWS_S)
            return " ".join(str(value) for value in sums)

        return {
            "putTps": rates("in_messages"),
            "getTransferedTps": rates("out_messages"),
            "getFoundTps": rates("pulls_found"),
            "getMissTps": rates("pulls_missed"),
            "getTotalTps": rates("pulls_found", "pulls_missed"),
            "putLatency99": f"{stats.last_second(now_ms).put_p99_us / 1_000:.2f}",
            "putLatency999": f"{stats.put_p999_us(now_ms) / 1_000:.2f}",
            "putMessageDistributeTime": stats.put_time_distribution(now_ms),
        }


def _readable_bytes(count: int) -> str:
    """Return a size as RocketMQ prints it (``MixAll.humanReadableByteCount``): ``"17 B"``, ``"1.5 KiB"``."""
    if count < 1_024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, len(_BINARY_PREFIXES))
    return f"{count / 1_024**power:.1f} {_BINARY_PREFIXES[power - 1]}iB"
