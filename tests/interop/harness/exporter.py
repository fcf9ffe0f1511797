"""Reads a broker's runtime table as the official exporter does (its ``BrokerRuntimeStats``)."""

from __future__ import annotations

_THREAD_POOL_QUEUES = ("sendThreadPoolQueue", "pullThreadPoolQueue", "queryThreadPoolQueue")
_INTEGERS = (
    *(f"msg{kind}Total{when}" for kind in ("Put", "Get") for when in ("TodayNow", "TodayMorning", "YesterdayMorning")),
    *(f"{queue}{end}" for queue in _THREAD_POOL_QUEUES for end in ("Size", "Capacity", "HeadWaitTimeMills")),
    *("commitLogMinOffset", "commitLogMaxOffset", "bootTimestamp", "brokerVersion", "dispatchMaxBuffer"),
    *("pageCacheLockTimeMills", "getMessageEntireTimeMax", "putMessageEntireTimeMax", "putMessageTimesTotal"),
    *("startAcceptSendRequestTimeStamp", "earliestMessageTimeStamp", "remainTransientStoreBufferNumbs"),
    *("putMessageSizeTotal", "dispatchBehindBytes"),
)
_NUMBERS = (*("consumeQueueDiskRatio", "commitLogDiskRatio", "putMessageAverageSize", "putLatency99", "putLatency999"),)
_RATES = ("putTps", "getMissTps", "getTransferedTps", "getTotalTps", "getFoundTps")


def read_as_the_exporter_does(table: dict[str, str]) -> dict[str, object]:
    """What ``BrokerRuntimeStats`` of the official exporter takes out of the table, all or nothing."""
    capacity = table["commitLogDirCapacity"].split(" ")
    return {
        **{name: int(table[name]) for name in _INTEGERS},
        **{name: float(table[name]) for name in _NUMBERS},
        **{name: [float(rate) for rate in table[name].split(" ")] for name in _RATES},
        "commitLogDirCapacity": [(float(capacity[at]), capacity[at + 1][0]) for at in (2, 6)],
        "remainHowManyDataToFlush": float(table["remainHowManyDataToFlush"].split(" ")[0]),
        "putMessageDistributeTime": {
            name: int(count) for name, count in (part.split(":") for part in table["putMessageDistributeTime"].split())
        },
        "runtime": table["runtime"],
        "brokerVersionDesc": table["brokerVersionDesc"],
    }
