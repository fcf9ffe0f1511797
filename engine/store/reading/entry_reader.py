"""Reads the message that an entry of a consume queue stands for (RocketMQ: part of ``DefaultMessageStore``).

This is the only place that detects an entry without a deliverable message: then the entry or the message is damaged.
"""

from __future__ import annotations

from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.commit_log import CommitLog
from engine.store.log.damaged_records import DamagedRecord
from engine.store.log.record_check import RecordDamage, damage_of
from engine.store.log.stored_record import parse_record
from engine.store.queues.consume_queue import ConsumeQueue, Entry
from engine.store.queues.consume_queue_ext import ConsumeQueueExtUnit, is_ext_address
from engine.store.reading.consume_queue_repair import ConsumeQueueRepair


class EntryReader:
    """A reader that only writes to rebuild entries that do not match the log."""

    def __init__(self, config: MessageStoreConfig, commit_log: CommitLog) -> None:
        self.config = config
        self.commit_log = commit_log
        self.repair = ConsumeQueueRepair(config, commit_log)

    def record_of(self, queue: ConsumeQueue, queue_offset: int, entry: Entry, is_patient: bool = True) -> bytes | None:
        """Return the stored message of ``entry`` in ``queue``; None if there is no valid one.

        Raises :class:`SearchNotFinished`, unless ``is_patient``: the broker's services skip missing messages.
        """
        commit_log_offset, size, _ = entry
        if size == FILLER_SIZE:
            return None
        record = self.commit_log.read_bytes(commit_log_offset, size)
        damage = damage_of(record, 0, size, commit_log_offset, queue, queue_offset)
        return record if damage is None else self.damaged_record(queue, queue_offset, entry, damage, is_patient)

    def damaged_record(
        self, queue: ConsumeQueue, queue_offset: int, entry: Entry, damage: RecordDamage, is_patient: bool
    ) -> bytes | None:
        """Return the message that ``entry`` should lead to, if it can be found; otherwise record the damage and return
        None.

        ``entry`` does not lead to a deliverable message, which is only known here.
        """
        if queue_offset < queue.min_offset:
            return None  # it has expired
        damaged = self.commit_log.damaged_records
        note = DamagedRecord(entry[0], damage, queue.topic, queue.queue_id, queue_offset)
        if damage in (RecordDamage.NO_MESSAGE, RecordDamage.ANOTHER_MESSAGE) and note not in damaged:
            record = self.repair.record_of(queue, queue_offset, is_patient=is_patient)
            if record is not None:
                return record
        damaged.note(note)
        return None

    def tags_of(self, queue: ConsumeQueue, entry: Entry) -> tuple[int, ConsumeQueueExtUnit | None]:
        """Return the tags code of ``entry`` and the unit it points to. If the unit is lost, the tags are read from the
        message.
        """
        commit_log_offset, size, tags_code = entry
        if not is_ext_address(tags_code):
            return tags_code, None
        unit = queue.ext.get(tags_code) if queue.ext is not None else None
        if unit is not None:
            return unit.tags_code, unit
        record = self.commit_log.read_record(commit_log_offset, size)
        request = parse_record(record, 0, commit_log_offset, self.config.delay_levels_ms) if record else None
        return request.tags_code if request is not None else 0, None
