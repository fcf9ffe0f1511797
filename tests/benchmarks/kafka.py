"""``make bench BENCH=kafka``: our partitions of Kafka compared with our store of RocketMQ, and what compressed batches
save.

Both stores are on this machine's disk and take turns, round by round: 128-byte messages are appended in batches of 100,
then read again in hundreds. Ratios are of the same round. Then a partition of a million messages is opened, and orders
as text are packed in batches of several sizes. It is a measurement, not a test: it never fails because of a number.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.storage.growth.grown_stores import BATCH, MESSAGE_BYTES, GrownRocketmq
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.records.compression import Codec
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import decode_batch, encode_batch, read_header
from engine.runtime.live.live_runtime import LiveRuntime
from engine.store.log.store_batch import StoreBatch
from tests.benchmarks.document import machine, parse_with_document, publish

_BODY = bytes(range(MESSAGE_BYTES))
_HOST = "192.0.2.1:10911"
_MILLION = 1_000_000
_BATCH_SIZES = (1, 10, 100, 1_000)
_CODECS = (Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD)
_MARKS = "make bench kafka: stores", "make bench kafka: batches"


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


class _Rocketmq(GrownRocketmq):
    """As growth has it, with RocketMQ's batches and pulls."""

    def append_all(self, messages: int) -> None:
        members = [(0, _BODY, b"", 0, "", "")] * BATCH
        for _ in range(0, messages, BATCH):
            batch = StoreBatch("Topic0", 0, members, self._runtime.clock.now_ms(), _HOST, _HOST)
            result = self._loop.run_until_complete(self._put(batch))
            assert result.is_ok, result.remark
        self.written()

    async def _put(self, batch: StoreBatch):
        return self._store.put_batch(batch)

    def read_all(self, messages: int, start: int) -> None:
        offset = start
        while offset < start + messages:
            result = self._store.get_message("bench", "Topic0", 0, offset, BATCH)
            assert result.next_begin_offset > offset
            offset = result.next_begin_offset


class _Kafka:
    def __init__(self, folder: Path) -> None:
        self._runtime = LiveRuntime("kafka", folder)
        self.log = PartitionLog(self._runtime.disk, self._runtime.clock, "Topic0-0")
        self.log.load()

    def append_all(self, messages: int) -> None:
        records = [Record(0, self._runtime.clock.now_ms(), None, _BODY)] * BATCH
        for _ in range(0, messages, BATCH):
            self.log.append(encode_batch(records))

    def read_all(self, messages: int, start: int) -> None:
        offset = start
        while offset < start + messages:
            data = self.log.read(offset, 1).data
            offset = read_header(data).next_offset

    def reopened_s(self) -> float:
        self.log.close()
        self.log = PartitionLog(self._runtime.disk, self._runtime.clock, "Topic0-0")
        return _timed(self.log.load)

    def close(self) -> None:
        self.log.close()
        self._runtime.disk.close()


def measure_stores(rounds: int, messages: int) -> str:
    """The table."""
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as name:
        rocketmq, kafka = _Rocketmq(Path(name) / "rocketmq"), _Kafka(Path(name) / "kafka")
        rocketmq.load()
        for number in range(rounds):
            for store in (rocketmq, kafka) if number % 2 else (kafka, rocketmq):
                label = "kafka" if store is kafka else "rocketmq"
                taken.setdefault(f"{label} append", []).append(_timed(partial(store.append_all, messages)))
                start = number * messages
                taken.setdefault(f"{label} read", []).append(_timed(partial(store.read_all, messages, start)))
        kafka.append_all(max(0, _MILLION - kafka.log.log_end_offset))
        opened_s = kafka.reopened_s()
        rocketmq.end(is_clean=True)
        rocketmq.close()
        kafka.close()
    lines = [
        "| | RocketMQ's way, messages/s | Kafka's way, messages/s | Kafka's time / RocketMQ's |",
        "|---|---:|---:|---:|",
    ]
    for action in ("append", "read"):
        ours, theirs = taken[f"rocketmq {action}"], taken[f"kafka {action}"]
        ratios = sorted(kafka_s / rocketmq_s for kafka_s, rocketmq_s in zip(theirs, ours, strict=True))
        lines.append(
            f"| {action} | {messages / statistics.median(ours):,.0f} | {messages / statistics.median(theirs):,.0f} "
            f"| {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |"
        )
    lines += ["", f"A partition of a million messages opens in {opened_s * 1_000:.0f} ms after a clean end."]
    return "\n".join([f"{machine()}; {rounds} rounds of {messages:,} messages.", "", *lines, ""])


def _orders(count: int) -> list[Record]:
    """Orders as a shop would send them: the same words, other numbers."""
    draw = random.Random(1)
    return [
        Record(
            0,
            1_700_000_000_000 + number,
            b"customer-%d" % draw.randrange(10_000),
            b'{"order":%d,"sku":"%08d","count":%d,"price_cents":%d,"currency":"EUR","status":"NEW"}'
            % (number, draw.randrange(10**8), draw.randrange(1, 9), draw.randrange(100, 99_999)),
        )
        for number in range(count)
    ]


def measure_batches(messages: int) -> str:
    """The table."""
    records = _orders(messages)
    lines = [
        "| codec | batch | bytes per message | ratio | packing, µs per message | unpacking |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for codec in _CODECS:
        for size in _BATCH_SIZES:
            groups = [records[start : start + size] for start in range(0, messages, size)]
            plain = sum(len(encode_batch(group)) for group in groups)
            began = time.perf_counter()
            batches = [encode_batch(group, codec) for group in groups]
            packed_at = time.perf_counter()
            for batch in batches:
                decode_batch(batch)
            pack_us = (packed_at - began) / messages * 1e6
            unpack_us = (time.perf_counter() - packed_at) / messages * 1e6
            packed = sum(map(len, batches))
            lines.append(
                f"| {codec.name.lower()} | {size:,} | {packed / messages:.1f} | {packed / plain:.2f} "
                f"| {pack_us:.1f} | {unpack_us:.1f} |"
            )
    return "\n".join([f"{machine()}; {messages:,} orders of about 85 bytes of JSON.", "", *lines, ""])


def main(arguments: list[str]) -> int:
    """Measure and print; ``--write`` writes the same into a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="(default 7)")
    parser.add_argument("--messages", type=int, default=50_000, help="of each round and store (default 50,000)")
    options = parse_with_document(parser, arguments, _MARKS)
    if options.rounds < 1 or options.messages < 1_000 or options.messages % 1_000:
        parser.error("--rounds: at least 1; --messages: thousands")
    for mark, table in zip(
        _MARKS, (measure_stores(options.rounds, options.messages), measure_batches(20_000)), strict=True
    ):
        publish(options.write, mark, table)
    return 0
