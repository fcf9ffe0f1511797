"""Faults of a machine's disk and of its page cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command
from engine.runtime.lab.lab_storage import LabStorage


def _disk_full(storage: LabStorage, command: Command) -> None:
    storage.occupied_bytes += storage.capacity_bytes - storage.used_bytes


def _disk_free(storage: LabStorage, command: Command) -> None:
    storage.occupied_bytes = 0


def _slow_fsync(storage: LabStorage, command: Command) -> None:
    milliseconds = command.value["ms"]
    assert isinstance(milliseconds, int)
    storage.flush_us = milliseconds * 1_000


def _drop_caches(storage: LabStorage, command: Command) -> None:
    if storage.page_cache is None:
        raise CommandRefused("refusal.no_page_cache", name=command.target)
    storage.page_cache.drop_clean()


DISK_ACTIONS: Mapping[str, Callable[[LabStorage, Command], None]] = {
    "disk-free": _disk_free,
    "disk-full": _disk_full,
    "drop-caches": _drop_caches,
    "slow-fsync": _slow_fsync,
}
