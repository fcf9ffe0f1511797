"""Keeps the stores of the traffics that pages view, a few of them; the one not viewed for longest is removed."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.storage.laboratory.kafka_side import KafkaSide
from app.storage.laboratory.rocketmq_side import RocketmqSide
from app.storage.laboratory.store_files import files_of
from app.storage.laboratory.store_side import StoreSide
from app.storage.laboratory.traffic import LaboratoryTraffic, messages_of

#: Traffics whose stores are kept; each takes some tens of megabytes of a disk at most.
KEPT_MAX = 4
#: Seconds that a request waits for its turn: one store is built, one is read at a time.
WAIT_S = 20.0


class LaboratoryBusy(Exception):
    """The laboratory is busy with other requests."""


class BuiltStores:
    """The stores with one traffic.

    :ivar sides: by name.
    :ivar files: files of each, by name; they do not change any more.
    """

    def __init__(self, traffic: LaboratoryTraffic) -> None:
        """Write the stores, in a folder of their own. Raises ``DiskFault``."""
        # Deleted with the process at the latest.
        self._folder = tempfile.TemporaryDirectory(prefix="glassmq-storage-", ignore_cleanup_errors=True)
        self.sides: dict[str, StoreSide] = {}
        try:
            self.sides["rocketmq"] = RocketmqSide(Path(self._folder.name, "rocketmq"), traffic)
            self.sides["kafka"] = KafkaSide(Path(self._folder.name, "kafka"), traffic)
            messages = list(messages_of(traffic))
            for side in self.sides.values():
                side.write(messages)
                with side.opened(None, None):
                    pass  # RocketMQ marks its folder as in use: the files must be listed as they will stay
            self.files = {name: files_of(side) for name, side in self.sides.items()}
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete everything."""
        for side in self.sides.values():
            side.close()
        self._folder.cleanup()


class Laboratory:
    """The stores of recent traffics.

    Used by web threads. The same traffic has the same stores, so that any number of pages share them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[LaboratoryTraffic, BuiltStores] = OrderedDict()

    @contextmanager
    def stores(self, traffic: LaboratoryTraffic) -> Iterator[BuiltStores]:
        """Yield the stores of ``traffic``, built if need be, for this thread alone.

        Raises :class:`LaboratoryBusy`, ``DiskFault``.
        """
        if not self._lock.acquire(timeout=WAIT_S):
            raise LaboratoryBusy
        try:
            if traffic not in self._kept:
                while len(self._kept) >= KEPT_MAX:
                    self._kept.popitem(last=False)[1].close()
                self._kept[traffic] = BuiltStores(traffic)
            self._kept.move_to_end(traffic)
            yield self._kept[traffic]
        finally:
            self._lock.release()

    def close(self) -> None:
        """Delete all files."""
        with self._lock:
            while self._kept:
                self._kept.popitem()[1].close()
