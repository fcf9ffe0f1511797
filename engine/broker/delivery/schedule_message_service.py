"""The delivery of delayed messages when they are due (RocketMQ: ``ScheduleMessageService``).

A delayed message is stored in topic SCHEDULE_TOPIC_XXXX, queue ``level - 1``, with its destination in the properties
REAL_TOPIC and REAL_QID; the tags code of its consume-queue entry is the time it is due. All messages of one queue have
the same delay, so each queue is sorted by due time, and one task per level only has to check the head. A due message is
appended again, to its real topic; it keeps DELAY, REAL_TOPIC and REAL_QID in its properties and gets a new store time.

The offset of the next message per level is written to ``delayOffset.json`` every 10 s, and before each recovery point
of the store, but only once the deliveries before that offset are on disk. A delivered message contains the commit-log
offset of the delayed one (its ``prepared_transaction_offset``); so a start after a crash finds in the log what was
delivered since the recovery point, and skips it. RocketMQ delivers up to 10 s of messages twice.

A message that the store refuses is tried again every 100 ms, and delays those after it. The queue of a level that is no
longer configured is ignored: its messages wait until the level is configured again.

Simplified: a task sleeps until the head is due (reading the clock once a second in case it jumps) or until its queue
gets a message, where RocketMQ polls every 100 ms; no asynchronous delivery.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.broker.delivery.message_again import message_again
from engine.protocol.errors import MalformedMessage
from engine.protocol.java_text import java_text
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    decode_properties,
    encode_properties,
    read_delay_level,
)
from engine.protocol.names import SCHEDULE_TOPIC
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock
from engine.store.files.config_file import ConfigFile
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.log.store_message import StoreMessage
from engine.store.message_store import MessageStore
from engine.store.recovery.recovery_report import RecoveryReport

logger = logging.getLogger("glassmq.broker")

#: ``FIRST_DELAY_TIME``: after the start, before the first delivery.
FIRST_DELAY_MS = 1_000
#: ``DELAY_FOR_A_WHILE``: after a delivery that the store refused.
DELAY_AFTER_FAILURE_MS = 100
#: ``DELAY_FOR_A_PERIOD``: after an exception.
DELAY_AFTER_EXCEPTION_MS = 10_000
#: Longest sleep while something is pending.
_LONGEST_SLEEP_MS = 1_000
#: The maximum number of deliveries of one level before the other levels and the network get a turn.
_BATCH = 64


def parse_delay_level(properties: dict[str, str], max_delay_level: int) -> int:
    """Parse the DELAY property: 0 if absent, at most ``max_delay_level``. Raises :class:`MalformedMessage`."""
    level = read_delay_level(properties)
    if level is None:
        text = properties[PROPERTY_DELAY_TIME_LEVEL]
        raise MalformedMessage(f"property DELAY is {text[:40]!r}; allowed: 0 to {max_delay_level}")
    return max(0, min(level, max_delay_level))


def delay_message(message: StoreMessage) -> None:
    """Redirect ``message``, whose ``delay_level`` is set, to SCHEDULE_TOPIC_XXXX (in RocketMQ: ``CommitLog``)."""
    text = message.properties_string
    properties = decode_properties(text if isinstance(text, str) else java_text(text))
    properties[PROPERTY_DELAY_TIME_LEVEL] = str(message.delay_level)
    properties[PROPERTY_REAL_TOPIC] = message.topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
    message.properties_string = encode_properties(properties)
    message.topic = SCHEDULE_TOPIC
    message.queue_id = message.delay_level - 1


@dataclass(eq=False)
class ScheduleMessageService:
    """A service with one task per delay level.

    :param clock: the broker's clock.
    :param store: the source of delayed messages and the destination of delivered ones.
    :param config_file: ``delayOffset.json``.
    :param delay_levels_ms: the delay of level 0 (none), 1, 2, ...
    """

    clock: Clock
    store: MessageStore
    config_file: ConfigFile
    delay_levels_ms: tuple[int, ...]

    def __post_init__(self) -> None:
        #: Level -> logical offset of its next message.
        self.offset_table: dict[int, int] = {}
        self.delivered_messages = 0
        self._arrivals: dict[int, asyncio.Event] = {}
        #: Level -> why the store refuses at present: logged once, not ten times a second.
        self._refusals: dict[int, str] = {}
        self._is_changed = False
        #: Commit-log offsets of delayed messages that were delivered before the start, although their level's offset
        #: does not show it.
        self._delivered_before: dict[int, None] = {}

    @property
    def max_delay_level(self) -> int:
        """Return the highest delay level; greater requested levels are lowered to it."""
        return len(self.delay_levels_ms) - 1

    def start(self, tasks: BackgroundTasks) -> None:
        """Start to deliver; the store is loaded."""
        for level in range(1, self.max_delay_level + 1):
            self._arrivals[level] = asyncio.Event()
            tasks.spawn(self._serve_level(level), f"delay level {level}")
        self._warn_of_removed_levels()

    def _warn_of_removed_levels(self) -> None:
        """Warn of messages in levels that are no longer configured and that no task serves; RocketMQ does not warn."""
        for topic, queue_id, _ in self.store.consume_queues():
            level = queue_id + 1
            pending = self.pending_messages(level) if topic == SCHEDULE_TOPIC and level > self.max_delay_level else 0
            if pending:
                logger.warning(
                    "%d messages wait at delay level %d, and messageDelayLevel has only %d levels: they stay there "
                    "until the level is configured again",
                    pending,
                    level,
                    self.max_delay_level,
                )

    def message_arrived(self, queue_id: int) -> None:
        """Handle a new message in queue ``queue_id`` of SCHEDULE_TOPIC_XXXX."""
        arrival = self._arrivals.get(queue_id + 1)
        if arrival is not None:
            arrival.set()

    def pending_messages(self, level: int) -> int:
        """Return the number of messages that wait at delay level ``level``."""
        return max(0, self.store.max_offset(SCHEDULE_TOPIC, level - 1) - self.offset_table.get(level, 0))

    # ------------------------------------------------------------------------------ delivery

    def next_due_ms(self) -> int | None:
        """Return when the next delayed message is due, by the broker's clock; None: no message waits."""
        heads = [
            self.store.consume_queue_entries(SCHEDULE_TOPIC, level - 1, self._first_offset(level), 1)
            for level in range(1, self.max_delay_level + 1)
        ]
        return min((due_ms for entries in heads for _, _, due_ms in entries), default=None)

    def deliver_due(self) -> None:
        """Deliver all due messages now, after the clock was set ahead; the tasks would do so within a second.

        Before ``start``, as on a slave, nothing is delivered.
        """
        for level in self._arrivals:
            while self._deliver_due(level) == 0:
                pass

    async def _serve_level(self, level: int) -> None:
        await asyncio.sleep(FIRST_DELAY_MS / 1_000)
        arrival = self._arrivals[level]
        while True:
            arrival.clear()
            try:
                wait_ms = self._deliver_due(level)
            except Exception:
                logger.exception("delay level %d: a delivery failed; it is retried in 10 s", level)
                wait_ms = DELAY_AFTER_EXCEPTION_MS
            if wait_ms is None:
                await arrival.wait()
            else:
                await asyncio.sleep(wait_ms / 1_000)

    def _deliver_due(self, level: int) -> int | None:
        """Deliver what is due, at most a batch. Return how long to sleep (ms); None: until a message arrives."""
        offset = self._first_offset(level)
        entries = self.store.consume_queue_entries(SCHEDULE_TOPIC, level - 1, offset, _BATCH)
        for commit_log_offset, size, due_ms in entries:
            now_ms = self.clock.now_ms()
            # No message can be due later than its delay from now: otherwise a clock that was set back would hold it
            # forever.
            wait_ms = due_ms - now_ms if due_ms <= now_ms + self.delay_levels_ms[level] else 0
            if size != FILLER_SIZE and wait_ms > 0:
                return min(wait_ms, _LONGEST_SLEEP_MS)
            if size != FILLER_SIZE and not self._deliver(level, offset, commit_log_offset):
                return DELAY_AFTER_FAILURE_MS
            offset += 1
            self.offset_table[level] = offset
            self._is_changed = True
        return 0 if entries else None

    def _first_offset(self, level: int) -> int:
        """Return the level's offset, moved to where its queue still has messages.

        A crash of the machine may leave a queue that ends before the offset. Messages stored there from then on must be
        delivered, so the new offset is kept.
        """
        offset = self.offset_table.get(level, 0)
        min_offset = max(0, self.store.min_offset(SCHEDULE_TOPIC, level - 1))
        max_offset = max(0, self.store.max_offset(SCHEDULE_TOPIC, level - 1))
        moved = min(max(offset, min_offset), max_offset)
        if moved != offset:
            logger.warning("delay level %d: offset %d is outside its queue; continuing at %d", level, offset, moved)
            self.offset_table[level] = moved
            self._is_changed = True
        return moved

    def _deliver(self, level: int, offset: int, commit_log_offset: int) -> bool:
        """Append the message to its real topic; return False if the store refuses now but may accept later."""
        if self._delivered_before and self._delivered_before.pop(commit_log_offset, 0) is None:
            return True
        message = self.store.message_in_queue(SCHEDULE_TOPIC, level - 1, offset)
        if message is None:
            logger.warning("level %d: the delayed message %d is gone", level, offset)
            return True
        real_queue_id = message.properties.get(PROPERTY_REAL_QUEUE_ID, "")
        real_topic = message.properties.get(PROPERTY_REAL_TOPIC, "")
        if not (real_topic and real_queue_id.isascii() and real_queue_id.isdigit()):
            logger.error("level %d: the delayed message %d has no destination", level, offset)
            return True
        again = message_again(message, real_topic, int(real_queue_id), encode_host(message.store_host))
        again.prepared_transaction_offset = ~commit_log_offset  # see predecessor_of
        result = self.store.put_message(again)
        if result.status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
            logger.error("level %d: the message %d is given up: %s", level, offset, result.remark)
            return True
        if result.status is not PutMessageStatus.PUT_OK:
            if self._refusals.get(level) != result.remark:
                self._refusals[level] = result.remark
                logger.error(
                    "level %d: the store refuses a delivery; it is retried until it succeeds: %s", level, result.remark
                )
            return False
        self._refusals.pop(level, None)
        self.delivered_messages += 1
        return True

    # ------------------------------------------------------------------------------ file

    def load(self) -> None:
        """Read ``delayOffset.json``; entries that are not offsets are left out with a warning."""
        content = self.config_file.load()
        if content is not None:
            self._read(content)

    def take_over(self, content: dict[str, Any]) -> None:
        """Take over another broker's offsets. Raises ``DiskFault``, and ``MalformedBody`` for another shape."""
        self.config_file.check(content)
        known = dict(self.offset_table)
        self._read(content)
        self._is_changed |= self.offset_table != known
        self.persist()

    def _read(self, content: dict[str, Any]) -> None:
        table = content.get("offsetTable")
        for level, offset in table.items() if isinstance(table, dict) else ():
            if level.isascii() and level.isdigit() and isinstance(offset, int) and offset >= 0:
                self.offset_table[int(level)] = offset
            else:
                logger.warning("delayOffset.json: level %s is left out: %r", level, offset)
                self.config_file.keep_aside()

    def skip_delivered(self, report: RecoveryReport) -> None:
        """Skip the messages whose deliveries are in the log, after a crash. Raises ``DiskFault``."""
        for level in range(1, self.max_delay_level + 1) if report.successors else ():
            self._skip_delivered(level, report.successors)
        self.persist()

    def _skip_delivered(self, level: int, successors: Mapping[int, int]) -> None:
        offset = self._first_offset(level)
        is_gapless = True
        while entries := self.store.consume_queue_entries(SCHEDULE_TOPIC, level - 1, offset, _BATCH):
            for place, _, due_ms in entries:
                if due_ms > self.clock.now_ms():
                    return
                offset += 1
                if place not in successors:
                    is_gapless = False  # a power cut erased its delivery and left later ones
                elif is_gapless:
                    self.offset_table[level] = offset
                    self._is_changed = True
                else:
                    self._delivered_before[place] = None

    async def persist_when_flushed(self) -> None:
        """Write the offsets as :meth:`persist` does, but only once the deliveries before them are on disk.

        Raises ``DiskFault``.
        """
        if not self._is_changed:
            return
        table = dict(self.offset_table)
        self._is_changed = False
        if await self.store.flushed(self.store.commit_log.max_offset):
            self.config_file.save({"offsetTable": table})
        else:
            self._is_changed = True

    def persist(self) -> None:
        """Write ``delayOffset.json`` if anything changed since the last time."""
        if self._is_changed:
            self.config_file.save({"offsetTable": self.offset_table})
            self._is_changed = False
