"""A measurement as tables and as a picture."""

from __future__ import annotations

from app.storage.measure.result import MeasuredSpread, MeasureResult
from app.storage.measure.socket_sends import COPIES
from app.storage.plots import Bar, bars_svg

#: The programs that send files in each way; see the module that does it here.
_USERS = {"read+send": "a usual program", "mmap+send": "RocketMQ, `transferMsgByHeap` false", "sendfile": "Kafka"}


def tables(result: MeasureResult) -> str:
    """Return the tables in Markdown."""
    size = f"{result.file_bytes >> 20} MiB"
    lines = [
        f"{result.machine}; a file of {size}, {result.rounds} rounds in turn.",
        f"Each figure is the median, with the lowest and the highest. {_coldness(result)}",
        "",
        _row("reads", "block", "page cache", "MB/s", "calls"),
        "|---|---|---|---|---|",
    ]
    lines += [
        _row(read.order, _size(read.block_bytes), _cache(read.is_cold), _mega(read.bytes_per_s), f"{read.calls:,}")
        for read in result.reads
    ]
    lines += [
        "",
        _row("sent with", "as", "piece", "page cache", "MB/s", "calls", "copied", "user + system, ms", "page faults"),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        _row(
            f"`{send.way}`",
            _USERS[send.way],
            _size(send.chunk_bytes),
            _cache(send.is_cold),
            _mega(send.bytes_per_s),
            f"{send.calls:,}",
            f"{COPIES[send.way]} x {size}",
            f"{send.user_ms.median:.0f} + {send.system_ms.median:.0f}",
            f"{send.page_faults:,}",
        )
        for send in result.sends
    ]
    lines += ["", _row("appends flushed", "messages/s", "flushes"), "|---|---|---|"]
    lines += [_row(one.flush, _whole(one.messages_per_s), f"{one.flushes:,}") for one in result.appends]
    return "\n".join([*lines, ""])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def picture(result: MeasureResult) -> str:
    """Return bars in MB/s."""
    groups = {}
    for is_cold in (True, False):
        groups[f"reads, {_cache(is_cold)}"] = [
            _bar(f"{read.order}, {_size(read.block_bytes)}", read.bytes_per_s)
            for read in result.reads
            if read.is_cold is is_cold
        ]
        groups[f"sends, {_cache(is_cold)}"] = [
            _bar(f"{send.way}, {_size(send.chunk_bytes)}", send.bytes_per_s)
            for send in result.sends
            if send.is_cold is is_cold
        ]
    return bars_svg("Reading and sending a file, MB/s", groups)


def _bar(label: str, rate: MeasuredSpread) -> Bar:
    return Bar(label, rate.median, rate.low, rate.high, f"{rate.median / 1e6:,.0f}")


def _coldness(result: MeasureResult) -> str:
    if result.cold_share < 0.01:
        return "Where it says cold, nothing of the file was in the page cache."
    return f"The page cache kept up to {result.cold_share:.0%} of the file, so what is called cold is not quite cold."


def _cache(is_cold: bool) -> str:
    return "cold" if is_cold else "warm"


def _size(size_bytes: int) -> str:
    return f"{size_bytes >> 10} KiB" if size_bytes < 1 << 20 else f"{size_bytes >> 20} MiB"


def _mega(rate: MeasuredSpread) -> str:
    return f"{rate.median / 1e6:,.0f} ({rate.low / 1e6:,.0f} to {rate.high / 1e6:,.0f})"


def _whole(rate: MeasuredSpread) -> str:
    return f"{rate.median:,.0f} ({rate.low:,.0f} to {rate.high:,.0f})"
