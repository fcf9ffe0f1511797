"""Measures this machine's disk: everything once per round, so that other load on the machine affects all alike."""

from __future__ import annotations

import itertools
import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from app.storage.measure import page_cache
from app.storage.measure.appends import BATCH, FLUSHES, MESSAGE_BYTES, AppendSample, append
from app.storage.measure.disk_reads import BLOCKS_BYTES, ORDERS, ReadSample, read_whole
from app.storage.measure.result import AppendFigures, MeasuredSpread, MeasureResult, ReadFigures, SendFigures
from app.storage.measure.socket_sends import CHUNKS_BYTES, COPIES, WAYS, SendSample, send_whole
from app.storage.progress import ProgressCallback, ProgressStep

#: Bytes that are read: random reads of blocks of 4 KiB, cold, take long on a hard disk, so this part of the file is
#: enough.
_READ_MAX_BYTES = 64 * 1024 * 1024
_MEGABYTE = 1024 * 1024
#: Messages of one round; a flush may take 10 ms.
_MESSAGES = {"never": 100_000, "per batch": 10_000, "per message": 200}
_COLD, _WARM = True, False


class _Read(NamedTuple):
    order: str
    block_bytes: int
    is_cold: bool


class _Send(NamedTuple):
    way: str
    chunk_bytes: int
    is_cold: bool


class Measurement:
    """A run of the measurement, in a file of its own below ``folder``, which is removed at the end.

    Raises ``OSError`` where the folder cannot be written.
    """

    def __init__(self, folder: Path, size_bytes: int, rounds: int, progress: ProgressCallback) -> None:
        self._folder = folder
        self._size_bytes = size_bytes
        self._rounds = rounds
        self._progress = progress
        self._reads: dict[_Read, list[ReadSample]] = {}
        self._sends: dict[_Send, list[SendSample]] = {}
        self._appends: dict[str, list[AppendSample]] = {}
        self._cold_share = 0.0

    def run(self) -> MeasureResult:
        """Measure; takes seconds to minutes."""
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix="glassmq-measure-") as file:
            piece = os.urandom(_MEGABYTE)
            for _ in range(self._size_bytes // _MEGABYTE):
                file.write(piece)
            file.flush()
            total = self._rounds * self._steps_per_round
            number = itertools.count()
            for seed in range(self._rounds):
                for doing in self._round(file.fileno(), seed):
                    self._progress(ProgressStep(next(number), total, doing))
        return self._result()

    @property
    def _steps_per_round(self) -> int:
        return len(ORDERS) * len(BLOCKS_BYTES) * 2 + len(WAYS) * len(CHUNKS_BYTES) * 2 + len(FLUSHES)

    def _round(self, descriptor: int, seed: int) -> Iterator[str]:
        """Yield each name before its measurement, which runs when the next name is requested."""
        read_bytes = min(self._size_bytes, _READ_MAX_BYTES)
        for read in itertools.starmap(_Read, itertools.product(ORDERS, BLOCKS_BYTES, (_COLD, _WARM))):
            yield f"{read.order} reads of {read.block_bytes:,} bytes, {'cold' if read.is_cold else 'warm'}"
            self._prepare(descriptor, is_cold=read.is_cold)
            sample = read_whole(descriptor, read_bytes, read.block_bytes, read.order, seed)
            self._reads.setdefault(read, []).append(sample)
        for send in itertools.starmap(_Send, itertools.product(WAYS, CHUNKS_BYTES, (_COLD, _WARM))):
            yield f"{send.way} in pieces of {send.chunk_bytes:,} bytes, {'cold' if send.is_cold else 'warm'}"
            self._prepare(descriptor, is_cold=send.is_cold)
            sent = send_whole(descriptor, self._size_bytes, send.chunk_bytes, send.way)
            self._sends.setdefault(send, []).append(sent)
        for flush in FLUSHES:
            yield f"appends, flushed {flush}"
            with tempfile.TemporaryFile(dir=self._folder) as file:
                self._appends.setdefault(flush, []).append(append(file.fileno(), _MESSAGES[flush], flush))

    def _prepare(self, descriptor: int, *, is_cold: bool) -> None:
        if is_cold:
            page_cache.empty(descriptor)
            self._cold_share = max(self._cold_share, page_cache.cached_share(descriptor, self._size_bytes))
        else:
            read_whole(descriptor, self._size_bytes, _MEGABYTE, "sequential", 0)

    def _result(self) -> MeasureResult:
        return MeasureResult(
            machine=f"{os.cpu_count()} cores, {platform.system()} {platform.release()}",
            file_bytes=self._size_bytes,
            rounds=self._rounds,
            cold_share=self._cold_share,
            reads=tuple(
                ReadFigures(*read, MeasuredSpread.of([sample.bytes_per_s for sample in samples]), samples[0].calls)
                for read, samples in self._reads.items()
            ),
            sends=tuple(
                SendFigures(
                    *send,
                    MeasuredSpread.of([sample.bytes_per_s for sample in samples]),
                    samples[0].calls,
                    COPIES[send.way] * self._size_bytes,
                    MeasuredSpread.of([sample.user_ms for sample in samples]),
                    MeasuredSpread.of([sample.system_ms for sample in samples]),
                    max(sample.page_faults for sample in samples),
                )
                for send, samples in self._sends.items()
            ),
            appends=tuple(
                AppendFigures(
                    flush,
                    BATCH,
                    MESSAGE_BYTES,
                    MeasuredSpread.of([sample.messages_per_s for sample in samples]),
                    samples[0].flushes,
                )
                for flush, samples in self._appends.items()
            ),
        )
