"""The broker's runtime info (request 28), under the exporter's names ``rocketmq_brokeruntime_*``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.metrics.exposition import MetricFamily

if TYPE_CHECKING:
    from engine.broker.broker import Broker

LABELS = ("cluster", "brokerIP", "brokerHost", "des", "boottime", "broker_version")

#: End of the metric's name -> key of the runtime table, and the help text.
SINGLE_VALUES = {
    "msg_put_total_today_now": ("msgPutTotalTodayNow", "Messages stored since the broker's start."),
    "msg_gettotal_today_now": ("msgGetTotalTodayNow", "Messages handed out since the broker's start."),
    "msg_puttotal_todaymorning": ("msgPutTotalTodayMorning", "The same for stored messages at the last midnight."),
    "msg_gettotal_todaymorning": ("msgGetTotalTodayMorning", "The same for messages handed out at the last midnight."),
    "msg_puttotal_yesterdaymorning": ("msgPutTotalYesterdayMorning", "Stored messages at the midnight before."),
    "msg_gettotal_yesterdaymorning": ("msgGetTotalYesterdayMorning", "Messages handed out at the midnight before."),
    "dispatch_behind_bytes": ("dispatchBehindBytes", "Bytes of the commit log without consume-queue entries yet."),
    "put_message_size_total": ("putMessageSizeTotal", "Bytes stored since the broker's start."),
    "put_message_average_size": ("putMessageAverageSize", "Bytes of a stored message on average."),
    "putmessage_times_total": ("putMessageTimesTotal", "Messages stored since the broker's start."),
    "putmessage_entire_time_max": ("putMessageEntireTimeMax", "Longest time of storing a message, ms."),
    "getmessage_entire_time_max": ("getMessageEntireTimeMax", "Longest time of reading messages, ms."),
    "earliest_message_timestamp": ("earliestMessageTimeStamp", "When the oldest message was stored, ms since 1970."),
    "start_accept_sendrequest_time": (
        "startAcceptSendRequestTimeStamp",
        "Time from which messages are accepted; 0: always.",
    ),
    "pagecache_lock_time_mills": ("pageCacheLockTimeMills", "How long the commit log is locked now, ms."),
    "commitlog_disk_ratio": ("commitLogDiskRatio", "Used share of the disk with the commit log, 0 to 1."),
    "consumequeue_disk_ratio": ("consumeQueueDiskRatio", "Used share of the disk with the consume queues, 0 to 1."),
    "commitlog_minoffset": ("commitLogMinOffset", "Where the commit log begins, bytes."),
    "commitlog_maxoffset": ("commitLogMaxOffset", "Where the commit log ends, bytes."),
    "remain_howmanydata_toflush": ("remainHowManyDataToFlush", "Bytes of the commit log not on the disk yet."),
    "put_latency_99": ("putLatency99", "99th percentile of the time to store a message in the last second, ms."),
    "send_threadpool_queue_size": ("sendThreadPoolQueueSize", "Waiting send requests; always 0 here."),
    "pull_threadpoolqueue_size": ("pullThreadPoolQueueSize", "Waiting pull requests; always 0 here."),
    "query_threadpoolqueue_size": ("queryThreadPoolQueueSize", "Waiting queries; always 0 here."),
    "send_threadpoolqueue_headwait_timemills": (
        "sendThreadPoolQueueHeadWaitTimeMills",
        "How long the first one has waited, ms.",
    ),
    "pull_threadpoolqueue_headwait_timemills": (
        "pullThreadPoolQueueHeadWaitTimeMills",
        "How long the first one has waited, ms.",
    ),
    "query_threadpoolqueue_headwait_timemills": (
        "queryThreadPoolQueueHeadWaitTimeMills",
        "How long the first one has waited, ms.",
    ),
}
#: The same for keys with three rates: over 10, 60 and 600 s.
RATES = {
    "put_tps": ("putTps", "Messages stored per second"),
    "getfound_tps": ("getFoundTps", "Pulls per second that found messages"),
    "getmiss_tps": ("getMissTps", "Pulls per second that found none"),
    "gettotal_tps": ("getTotalTps", "Pulls per second"),
    "gettransfered_tps": ("getTransferedTps", "Messages handed out per second"),
}
_WINDOWS_S = (10, 60, 600)


def broker_runtime_families(broker: Broker, runtime_info: dict[str, str]) -> list[MetricFamily]:
    """Return the families for what ``runtime_info`` has; a key that it lacks has no metric."""
    config = broker.config
    labels = (
        config.cluster_name,
        broker.address,
        "",  # the exporter leaves it empty too
        runtime_info["brokerVersionDesc"],
        runtime_info["bootTimestamp"],
        runtime_info["brokerVersion"],
    )
    families = []

    def add(name: str, text: str, value: str) -> None:
        family = MetricFamily(f"rocketmq_brokeruntime_{name}", text, LABELS)
        family.add(labels, float(value))
        families.append(family)

    for name, (key, text) in SINGLE_VALUES.items():
        if key in runtime_info:
            add(name, text, runtime_info[key].split()[0])  # "17 B"
    for name, (key, text) in RATES.items():
        for window_s, value in zip(_WINDOWS_S, runtime_info[key].split(), strict=True):
            add(f"{name}{window_s}", f"{text}, over {window_s} s.", value)
    return families
