"""The messages in the commit log of one broker, read forward over all its processes."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from engine.lab.witness.logged_message import LoggedMessage, LogPlace, read_logged_message
from engine.protocol.message.record_layout import BLANK_MAGIC, MESSAGE_MAGIC, SIZE_AND_MAGIC

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.lab.nodes.broker_node import BrokerNode


class BrokerLog:
    """What the disk of one broker holds, each record read once; up to date as of the last :meth:`read_on`.

    :ivar log: every message in the commit log, by its offset there; in order.
    :ivar messages: the same as a list.
    :ivar by_place: the same by where consumers find them.
    :ivar end_offset: the end of what was read.
    :ivar come, gone: what the process that runs now has found and the one before had not, and the other way round:
        after a crash, unflushed messages are gone.
    :ivar lost: everything that was ever gone; it only grows.
    :ivar holes: offsets of neither a message nor the end of a file; it only grows.
    """

    def __init__(self, role: BrokerNode) -> None:
        self.log: dict[int, LoggedMessage] = {}
        self.messages: list[LoggedMessage] = []
        self.by_place: dict[LogPlace, LoggedMessage] = {}
        self.end_offset = 0
        self.come: list[LoggedMessage] = []
        self.gone: list[LoggedMessage] = []
        self.lost: list[LoggedMessage] = []
        self.holes: list[int] = []
        self._role = role
        self._broker: Broker | None = None

    def read_on(self) -> bool:
        """Read what is new; return whether the broker runs and has loaded its store."""
        broker = self._role.broker
        if broker is None or broker.recovery_report is None:
            return False
        if broker is not self._broker:
            self._broker = broker
            self._load(broker)
        elif broker.store.commit_log.max_offset != self.end_offset:
            self._read(broker)
        return True

    def after(self, offset: int) -> list[LoggedMessage]:
        """Return the messages from commit-log offset ``offset`` on."""
        return self.messages[bisect_left(self.messages, offset, key=lambda message: message.commit_log_offset) :]

    def _load(self, broker: Broker) -> None:
        """Compare with the store that a new process has loaded."""
        old, self.log, self.by_place, self.messages = self.log, {}, {}, []
        min_offset = self.end_offset = broker.store.commit_log.min_offset
        self._read(broker)
        self.gone = [one for offset, one in old.items() if offset >= min_offset and self.log.get(offset) != one]
        self.come = [one for one in self.messages if old.get(one.commit_log_offset) != one]
        self.lost += self.gone

    def _read(self, broker: Broker) -> None:
        log = broker.store.commit_log
        while self.end_offset < log.max_offset:
            offset = self.end_offset
            message = self._message_at(broker, offset)
            if message is not None:
                self.log[offset] = message
                self.messages.append(message)
                if message.is_in_queue:
                    self.by_place[message.place] = message
                self.end_offset = message.end_offset
                continue
            following = _end_of_gap(broker, offset)
            if following is None:
                # Neither a message nor a blank: the next record cannot be found by its length.
                following = log.max_offset
                self.holes.append(offset)
            self.end_offset = following

    def _message_at(self, broker: Broker, offset: int) -> LoggedMessage | None:
        log = broker.store.commit_log
        head = log.read_bytes(offset, SIZE_AND_MAGIC.size)
        if not head:
            return None
        size, magic = SIZE_AND_MAGIC.unpack(head)
        if magic != MESSAGE_MAGIC:
            return None
        data = log.read_bytes(offset, size)
        return read_logged_message(self._role.name, data, offset, broker.store.config.delay_levels_ms)


def _end_of_gap(broker: Broker, offset: int) -> int | None:
    """Return where the log continues if ``offset`` is the blank end of a file or damaged; None if it is neither.

    A power cut in the middle of a write may damage what was not flushed and spare what comes after it. Recovery
    reports this; the messages lost there are judged like any other message that is gone.
    """
    report = broker.recovery_report
    assert report is not None, "the store is loaded"
    for start, end in report.damaged_ranges:
        if start <= offset < end:
            return end
    log = broker.store.commit_log
    file = log.files.find(offset)
    if file is not None and file.end_offset <= log.max_offset and _is_blank(broker, offset):
        return file.end_offset
    return None


def _is_blank(broker: Broker, offset: int) -> bool:
    """Return whether only the end of a file is there, which was too short for the next message."""
    data = broker.store.commit_log.files.read(offset, SIZE_AND_MAGIC.size)
    return len(data) < SIZE_AND_MAGIC.size or SIZE_AND_MAGIC.unpack(data)[1] in (BLANK_MAGIC, 0)
