"""Checks the numbers of the messages that the broker stores as they arrive: what was lost on the way into the store.

A reader of the broker's own, in bounded time: a topic is followed once its newest message carries a number, each queue
from at most :data:`START_BACK` messages before its end. It starts again with the process. It cannot know which messages
the members of a group received, but it knows their offsets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.observation.bounds import client_text
from engine.idempotence.loss_detection.judge import SETTLING_MS, ProducerVerdict, TopicVerdict, judging
from engine.idempotence.loss_detection.reader_report import ReaderReport
from engine.protocol.errors import MalformedBody, ProtocolError
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message_codec import decode_stored_message, stored_properties_text
from engine.protocol.message.message_properties import decode_properties
from engine.protocol.message.numbering_ledger import (
    LEDGER_BYTES_MAX,
    NUMBERING_LEDGER_TOPIC,
    PRODUCER_ID_PROPERTY,
    NumberingLedger,
)
from engine.protocol.message.record_layout import store_timestamp_of
from engine.protocol.names import is_dlq_topic, is_retry_topic
from engine.store.files.consume_queue_entry import FILLER_SIZE

if TYPE_CHECKING:
    from app.picture.numbers import NumberCounts, Numbers, NumbersOfProducer, NumbersOfTopic
    from engine.broker.broker import Broker

START_BACK = 20_000
#: Messages that one round reads, queues that it checks for numbers, and producers that are listed.
LOOK_MAX = 200
SAMPLES_MAX = 64
PRODUCERS_LISTED = 40
LEDGERS_WAITING_MAX = 256
#: Seconds between two rounds, also while it lags; a round rests for this multiple of its duration, so that it takes a
#: twentieth of the engine.
INTERVAL_S, BEHIND_INTERVAL_S, REST_FACTOR = 1.0, 0.01, 20
_MARK = PRODUCER_ID_PROPERTY.encode()


class StoredNumbers:
    """Follows the numbers of stored messages.

    :ivar view: the counts as JSON, rebuilt at most once a second; None: no topic has numbered messages.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.view: Numbers | None = None
        self.report = ReaderReport()
        #: (topic, queue id) -> the next offset, and when the message before it was stored.
        self._read: dict[tuple[str, int], tuple[int, int]] = {}
        self._sampled: dict[tuple[str, int], int] = {}
        self._ledgers: dict[tuple[str, str], tuple[NumberingLedger, int]] = {}

    async def follow(self) -> None:
        """Read new messages forever."""
        clock = self._broker.runtime.clock
        next_view_us = 0
        while True:
            started_us = clock.monotonic_us()
            if started_us >= next_view_us:
                self._find_topics()
                await self._renew_view()
                now_us = clock.monotonic_us()
                next_view_us = now_us + max(round(INTERVAL_S * 1_000_000), REST_FACTOR * (now_us - started_us))
                started_us = now_us
            is_behind = self.look()
            took_s = (clock.monotonic_us() - started_us) / 1_000_000
            await asyncio.sleep(max(BEHIND_INTERVAL_S if is_behind else INTERVAL_S, REST_FACTOR * took_s))

    async def _renew_view(self) -> None:
        verdicts = []
        for verdict in judging([self.report], self._until_ms()):
            if verdict is None:
                await asyncio.sleep(0)
            else:
                verdicts.append(verdict)
        self.view = self._view(verdicts)

    # --- reading -----------------------------------------------------------------------------------------------------

    def _find_topics(self) -> None:
        """Begin with topics whose newest message carries a number; forget those that are deleted."""
        table, store = self._broker.topic_config_manager.topic_config_table, self._broker.store
        for topic in dict.fromkeys(topic for topic, _ in self._read):
            known = [(key, offset) for key, (offset, _) in self._read.items() if key[0] == topic]
            if topic not in table or any(store.max_offset(*key) < offset for key, offset in known):
                self._forget(topic)
        asked = 0
        for topic, config in table.items():
            if is_retry_topic(topic) or is_dlq_topic(topic):
                continue
            queues = range(config.queue_nums)
            if any((topic, queue_id) in self._read for queue_id in queues):
                self._begin(topic, queues)  # one may have been added
                continue
            if self._broker.topic_config_manager.is_system_topic(topic):
                continue
            for queue_id in queues:
                end = store.max_offset(topic, queue_id)
                if asked < SAMPLES_MAX and end > self._sampled.get((topic, queue_id), 0):
                    asked += 1
                    self._sampled[topic, queue_id] = end
                    if topic == NUMBERING_LEDGER_TOPIC or _MARK in (self._record(topic, queue_id, end - 1) or b""):
                        self._begin(topic, queues)
                        break

    def _begin(self, topic: str, queues: range) -> None:
        store = self._broker.store
        for queue_id in queues:
            begin = max(0, store.min_offset(topic, queue_id), store.max_offset(topic, queue_id) - START_BACK)
            self._read.setdefault((topic, queue_id), (begin, 0))

    def _forget(self, topic: str) -> None:
        tables: tuple[dict[Any, Any], ...] = (self._read, self._sampled, self.report.queues, self.report.books)
        for table in tables:
            for key in [key for key in table if key[0] == topic]:
                del table[key]

    def _record(self, topic: str, queue_id: int, offset: int) -> bytes | None:
        for commit_log_offset, size, _ in self._broker.store.consume_queue_entries(topic, queue_id, offset, 1):
            return self._broker.store.commit_log.record_at(commit_log_offset) if size != FILLER_SIZE else None
        return None

    def look(self) -> bool:
        """Read a bounded number of messages, a share from each queue; return whether some are left."""
        waiting = [key for key in self._read if self._broker.store.max_offset(*key) > self._read[key][0]]
        share = max(1, LOOK_MAX // max(1, len(waiting)))
        for topic, queue_id in waiting[:LOOK_MAX]:
            # A ledger may take 20 ms, in which the broker answers nobody.
            self._read_queue(topic, queue_id, 1 if topic == NUMBERING_LEDGER_TOPIC else share)
        # Queues that were read go to the end of the line.
        for key in waiting[:LOOK_MAX]:
            self._read[key] = self._read.pop(key)
        for ledger, stored_ms in list(self._ledgers.values()):
            self._take_ledger(ledger, stored_ms)
        return any(self._broker.store.max_offset(*key) > self._read[key][0] for key in waiting)

    def _read_queue(self, topic: str, queue_id: int, count: int) -> None:
        store = self._broker.store
        offset, stored_ms = self._read[topic, queue_id]
        offset = max(offset, store.min_offset(topic, queue_id))
        end, queue = store.max_offset(topic, queue_id), f"{self._broker.config.broker_name}:{queue_id}"
        entries = store.consume_queue_entries(topic, queue_id, offset, min(count, end - offset))
        for commit_log_offset, size, _ in entries:
            record = store.commit_log.record_at(commit_log_offset) if size != FILLER_SIZE else None
            if record is not None:
                stored_ms = store_timestamp_of(record)
                try:
                    self._note(topic, queue, offset, record, end)
                except (ProtocolError, ValueError):  # damaged, or not a text: its number counts as not seen
                    pass
            offset += 1
        # Without an entry there is nothing to read at this position: continue after it.
        self._read[topic, queue_id] = (offset if entries else end, stored_ms)

    def _note(self, topic: str, queue: str, offset: int, record: bytes, end: int) -> None:
        if topic == NUMBERING_LEDGER_TOPIC:
            message = decode_stored_message(record)
            try:
                body = decompress_body(message.body, message.sys_flag, LEDGER_BYTES_MAX)
                self._take_ledger(NumberingLedger.decode(body), message.store_timestamp)
            except MalformedBody:
                return
        else:
            properties = decode_properties(stored_properties_text(record)) if _MARK in record else {}
            self.report.note(topic, queue, offset, properties, store_timestamp_of(record), end=end)

    def _take_ledger(self, ledger: NumberingLedger, stored_ms: int) -> None:
        """Take a ledger into account.

        For a producer without any message seen, it counts only where the topic was read from its beginning.
        """
        key = (ledger.topic, ledger.producer_id)
        notes = [note for (topic, _), note in self.report.queues.items() if topic == ledger.topic]
        if key in self.report.books or (notes and not any(note.lowest for note in notes)):
            self.report.add_ledger(ledger, stored_ms)
            self._ledgers.pop(key, None)
        elif len(self._ledgers) < LEDGERS_WAITING_MAX:
            self._ledgers[key] = (ledger, stored_ms)

    # --- reporting ---------------------------------------------------------------------------------------------------

    def _until_ms(self) -> int:
        """Return the time up to which stored messages have settled in all queues that were read."""
        max_offset = self._broker.store.max_offset
        waiting = (stored_ms for key, (offset, stored_ms) in self._read.items() if max_offset(*key) > offset)
        return min(waiting, default=self._broker.runtime.clock.now_ms()) - SETTLING_MS

    def _view(self, verdicts: list[TopicVerdict]) -> Numbers | None:
        if not verdicts:
            return None
        max_offset = self._broker.store.max_offset
        room = PRODUCERS_LISTED
        topics: dict[str, NumbersOfTopic] = {}
        for verdict in sorted(verdicts, key=lambda one: (-one.findings, one.topic)):
            topics[verdict.topic] = self._topic(verdict, room)
            room = max(0, room - len(verdict.producers))
        return {
            "settling_ms": SETTLING_MS,
            "unread": sum(max_offset(*key) - offset for key, (offset, _) in self._read.items()),
            "no_room": self.report.no_room,
            "omitted": max(0, sum(len(verdict.producers) for verdict in verdicts) - PRODUCERS_LISTED),
            "topics": topics,
        }

    def _topic(self, verdict: TopicVerdict, room: int) -> NumbersOfTopic:
        worst = sorted(verdict.producers, key=lambda one: -one.findings)
        reported: list[NumbersOfProducer] = [
            {
                "first": one.first,
                "producer": client_text(one.producer),
                "has_ended": one.has_ended,
                **_counts([one]),
                "ranges": [[*numbers] for numbers in one.lost_ranges],
                "unknown_ranges": [[*numbers] for numbers in one.unknown_ranges],
            }
            for one in worst[:room]
        ]
        return {
            **_counts(verdict.producers),
            "unseen": verdict.unseen,
            "read": self._messages_read(verdict.topic),
            "producers": reported,
            "groups": {**self._passed(verdict.topic)},
        }

    def _messages_read(self, topic: str) -> int:
        notes = [note.places for (of_topic, _), note in self.report.queues.items() if of_topic == topic]
        return sum(places.count + places.forgotten for places in notes)

    def _passed(self, topic: str) -> dict[str, int]:
        """Return group -> number of the read messages before its committed offsets."""
        places = {queue: note.places for (of_topic, queue), note in self.report.queues.items() if of_topic == topic}
        name = self._broker.config.broker_name
        return {
            group: sum(
                places[queue].count_below(offset)
                for queue_id, offset in committed.items()
                if (queue := f"{name}:{queue_id}") in places
            )
            for of_topic, group, committed in self._broker.consumer_offset_manager.entries()
            if of_topic == topic
        }


def _counts(producers: Sequence[ProducerVerdict]) -> NumberCounts:
    return {
        "numbered": sum(one.numbered for one in producers),
        "stored": sum(one.met for one in producers),
        "missing": sum(one.lost for one in producers),
        "refused": sum(one.refused for one in producers),
        "unknown": sum(one.unknown for one in producers),
        "open": sum(one.not_judged for one in producers),
        "twice": sum(one.duplicated for one in producers),
        "out_of_order": sum(one.out_of_order for one in producers),
        "forgotten": sum(one.forgotten for one in producers),
    }
