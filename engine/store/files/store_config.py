"""Settings of the message store (RocketMQ: ``MessageStoreConfig``).

Sizes differ from RocketMQ's because RocketMQ is made for servers: a 1 GiB commit-log file and a 420 MB index file are
sparse on disk, but tools that copy a data folder do not always know that. Everything else keeps RocketMQ's default
(version 4.9.8, ``store/config/MessageStoreConfig.java``) unless its comment says why not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import ClassVar

from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES
from engine.store.files.setting_rules import SettingRule, between, check_rules

_MEBIBYTE = 1024 * 1024
#: The smallest commit-log file: room for a short message with its properties. Tests use such files; a server needs room
#: for the largest message that it accepts.
COMMIT_LOG_FILE_MIN_BYTES = 512
#: File sizes are Java ints in RocketMQ, and so are positions within a file.
FILE_MAX_BYTES = 2**31 - 1
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

_DELAY = re.compile(r"0*[1-9][0-9]{0,8}[smhd]")


def hours_of_day(text: str) -> tuple[int, ...]:
    """Parse ``delete_when``: hours separated by ";"; empty if the text is anything else."""
    words = [word.strip() for word in text.split(";") if word.strip()]
    is_clear = all(word.isascii() and word.isdigit() and len(word) <= 2 and int(word) <= 23 for word in words)
    return tuple(int(word) for word in words) if is_clear else ()


@lru_cache(maxsize=16)
def _delays_ms(levels: str) -> tuple[int, ...]:
    """Parse ``message_delay_level``: the delays in ms, empty if a word is not a delay. Cached, because it is often
    asked for.
    """
    words = levels.split()
    if not words or not all(_DELAY.fullmatch(word) for word in words):
        return ()
    return (0, *(int(word[:-1]) * _UNITS_MS[word[-1]] for word in words))


_AT_LEAST_ONE = between(1)
_RATIO = SettingRule(lambda value: 0 < value <= 1, "more than 0 and at most 1")
_RULES: Mapping[str, SettingRule] = {
    "mapped_file_size_commit_log": between(
        COMMIT_LOG_FILE_MIN_BYTES,
        FILE_MAX_BYTES,
        " bytes, and 64 KiB more than maxMessageSize so that the largest messages fit",
    ),
    "mapped_file_size_consume_queue_entries": between(
        1, FILE_MAX_BYTES // ENTRY_SIZE_BYTES, f" entries of {ENTRY_SIZE_BYTES} bytes"
    ),
    "mapped_file_size_consume_queue_ext": between(4_096, FILE_MAX_BYTES, " bytes"),
    "max_mapped_files": between(2),
    "max_hash_slot_num": _AT_LEAST_ONE,
    "max_index_num": between(2, note=" (number 0 means 'none')"),
    "flush_interval_commit_log_ms": _AT_LEAST_ONE,
    "flush_interval_consume_queue_ms": _AT_LEAST_ONE,
    "flush_consume_queue_thorough_bytes": _AT_LEAST_ONE,
    "sync_flush_timeout_ms": _AT_LEAST_ONE,
    "clean_resource_interval_ms": _AT_LEAST_ONE,
    "max_message_size": _AT_LEAST_ONE,
    "files_checked_after_normal_exit": _AT_LEAST_ONE,
    "check_commit_log_interval_hours": _AT_LEAST_ONE,
    "check_commit_log_bytes_per_second": between(0),
    "clean_file_forcibly_min_age_hours": between(0),
    "disk_max_used_space_ratio": _RATIO,
    "disk_space_clean_forcibly_ratio": _RATIO,
    "disk_space_warning_level_ratio": _RATIO,
    "delete_when": SettingRule(lambda text: bool(hours_of_day(text)), "hours from 0 to 23, such as '04' or '04;16'"),
    "message_delay_level": SettingRule(
        lambda text: bool(_delays_ms(text)),
        "one delay or more, each a number from 1 to 999999999 and s, m, h or d, such as '1s 5s 2h'",
    ),
}


class FlushDiskType(Enum):
    """The flush modes: a message counts as stored once it is in memory, or once it is on disk."""

    ASYNC_FLUSH = "async"
    SYNC_FLUSH = "sync"


@dataclass(slots=True)
class MessageStoreConfig:
    """The settings of one :class:`~engine.store.message_store.MessageStore`. Times in ms, sizes in bytes."""

    # --- files -------------------------------------------------------------------------------------------------------
    #: RocketMQ 1 GiB. A small file bounds what recovery has to read, and so the time and memory of a start.
    mapped_file_size_commit_log: int = 16 * _MEBIBYTE
    #: Entries of 20 bytes per consume-queue file. RocketMQ 300,000 (6 MB); each queue has at least one file.
    mapped_file_size_consume_queue_entries: int = 20_000
    #: Files mapped at the same time; the others are mapped again when they are needed. RocketMQ has no bound.
    max_mapped_files: int = 300
    #: Hash slots per index file. RocketMQ 5,000,000.
    max_hash_slot_num: int = 50_000
    #: Entries per index file. RocketMQ 20,000,000; after a crash the last file is built again from the log, so a
    #: small one starts faster.
    max_index_num: int = 200_000
    message_index_enable: bool = True
    #: Keep a bit map per message for filters by expression (``enableCalcFilterBitMap`` fills it).
    enable_consume_queue_ext: bool = False
    #: RocketMQ 48 MiB. A start scans the last file of every queue.
    mapped_file_size_consume_queue_ext: int = _MEBIBYTE

    # --- flush -------------------------------------------------------------------------------------------------------
    flush_disk_type: FlushDiskType = FlushDiskType.ASYNC_FLUSH
    flush_interval_commit_log_ms: int = 500
    flush_commit_log_least_pages: int = 4
    flush_commit_log_thorough_interval_ms: int = 10_000
    flush_interval_consume_queue_ms: int = 1_000
    flush_consume_queue_least_pages: int = 2
    #: RocketMQ 60,000. The checkpoint is also written at this interval, and messages stored after it are dispatched
    #: again after a crash: 10 s keeps that short.
    flush_consume_queue_thorough_interval_ms: int = 10_000
    #: The same is done when this much of the log is not covered, unless the last time took over a quarter of the time
    #: since. Not in RocketMQ: under load, 10 s may bring a million messages, and a start would take 5 s longer.
    flush_consume_queue_thorough_bytes: int = 64 * _MEBIBYTE
    sync_flush_timeout_ms: int = 5_000
    #: How soon a message that did not ask to wait is flushed in a SYNC_FLUSH broker (``GroupCommitService`` loop).
    sync_flush_idle_interval_ms: int = 10

    # --- limits ------------------------------------------------------------------------------------------------------
    max_message_size: int = 4 * _MEBIBYTE
    max_transfer_bytes_on_message_in_memory: int = 256 * 1024
    max_transfer_count_on_message_in_memory: int = 32
    max_transfer_bytes_on_message_in_disk: int = 64 * 1024
    max_transfer_count_on_message_in_disk: int = 8
    #: A message further than this from the newest one counts as "in disk". RocketMQ takes 40 % of the machine's memory;
    #: the store may not ask for that, so it is 40 % of 4 GiB.
    access_message_in_memory_max_bytes: int = 4 * 1024 * _MEBIBYTE * 40 // 100
    max_filter_message_size_bytes: int = 16_000
    #: Most messages that one key query returns (``maxMsgsNumBatch``).
    max_messages_num_batch: int = 64

    # --- damage ------------------------------------------------------------------------------------------------------
    #: Whether a pull compares each body with its CRC; everything else is always checked. RocketMQ's broker has no such
    #: check (``checkCRCOnRecover`` is for a start). With it, a pull of 64 KB bodies takes 1.5 to 2 times the processor
    #: time, and still reaches 1.8 GB a second; for messages up to 4 KB, block sums avoid most of the cost.
    check_crc_on_pull: bool = True
    #: How fast old commit-log files are checked in the background; 0: not at all. Not in RocketMQ. 8 MiB a second take
    #: about 8 % of a processor for messages of 100 bytes, 1 % for those of 1 KB; a log of 10 GB takes twenty minutes.
    check_commit_log_bytes_per_second: int = 8 * _MEBIBYTE
    #: The interval between the starts of two such checks. Not in RocketMQ. A day, during which reads may be the only
    #: other checks of old files.
    check_commit_log_interval_hours: int = 24

    # --- recovery ----------------------------------------------------------------------------------------------------
    #: Commit-log files checked message by message after a normal shutdown. RocketMQ 3; a shutdown flushes everything,
    #: so only the file that was being written can hold a surprise.
    files_checked_after_normal_exit: int = 1

    # --- retention ---------------------------------------------------------------------------------------------------
    clean_resource_interval_ms: int = 10_000
    #: Hours of the day at which expired files are deleted, separated by ";".
    delete_when: str = "04"
    #: The time zone of "hour of the day", in minutes east of UTC. RocketMQ uses the machine's time zone, which would
    #: make a run depend on the machine.
    time_zone_offset_minutes: int = 0
    file_reserved_time_hours: int = 72
    #: Most commit-log files deleted in one round (``DELETE_FILES_BATCH_MAX``).
    delete_files_batch_max: int = 10
    disk_max_used_space_ratio: float = 0.75
    disk_space_clean_forcibly_ratio: float = 0.85
    #: The minimum age of a file (since its last write) that is deleted early to make room. RocketMQ has no such bound:
    #: 0 behaves like RocketMQ. A day leaves time to notice and repair a consumer that has stopped, and is more than the
    #: 4.8 h that 16 retries of a message take.
    clean_file_forcibly_min_age_hours: int = 24
    disk_space_warning_level_ratio: float = 0.90

    # --- delayed messages --------------------------------------------------------------------------------------------
    #: The delay of level 1, 2, 3 ...; the consume queue of delayed messages holds the delivery time, so the store needs
    #: them.
    message_delay_level: str = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

    #: The rules of the settings, each independent of the others.
    RULES: ClassVar[Mapping[str, SettingRule]] = _RULES

    def __post_init__(self) -> None:
        """Check the settings. Raises ValueError that names the setting, its value and what is allowed."""
        check_rules(self, _RULES)

    @property
    def mapped_file_size_consume_queue(self) -> int:
        """Return the size of a consume-queue file in bytes."""
        return self.mapped_file_size_consume_queue_entries * ENTRY_SIZE_BYTES

    @property
    def delete_hours(self) -> tuple[int, ...]:
        """Return the hours in ``delete_when`` as numbers."""
        return hours_of_day(self.delete_when)

    @property
    def delay_levels_ms(self) -> tuple[int, ...]:
        """Return the delay per level in ms; index 0 is "no delay"."""
        return _delays_ms(self.message_delay_level)
