"""State of one broker for its checkers: read from its log and tables, not from its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol

from engine.broker.broker import Broker
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.witness.broker_log import BrokerLog
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import SCHEDULE_TOPIC

_News = ParamSpec("_News")


class BrokerListener:
    """Listener for events of brokers. The methods do nothing; a checker overrides those it needs."""

    def message_stored(self, message: LoggedMessage) -> None:
        """A broker has appended a message."""

    def message_lost(self, message: LoggedMessage, is_lawful: bool) -> None:
        """A message was in the log before a crash and no longer is; lawful if the power was cut before it was
        flushed.
        """

    def hole_found(self, broker: BrokerWatch, commit_log_offset: int) -> None:
        """Neither a message nor the end of a file is at this offset."""

    def messages_dispatched(self, broker: BrokerWatch, messages: Sequence[LoggedMessage]) -> None:
        """Messages became visible to consumers."""

    def broker_loaded(self, broker: BrokerWatch) -> None:
        """A process has started; ``message_lost`` and ``message_stored`` were called before."""

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        """A broker has stored another offset for the group; ``before`` is -1 if it had none."""


class Tell(Protocol):
    """Call a method of :class:`BrokerListener` on every listener that overrides it."""

    def __call__(
        self, news: Callable[Concatenate[Any, _News], None], *what: _News.args, **more: _News.kwargs
    ) -> None: ...


class BrokerWatch:
    """Follow one broker over all its incarnations.

    :param stored: the witness's account of its log.
    :param report: called with each change.
    :param power_cuts: names of the nodes whose power was ever cut: what their processes wrote and did not flush may be
        gone.
    :ivar log: every message in the commit log, by its offset there; in order.
    :ivar messages: the same as a list.
    :ivar by_place: the same by where consumers find them.
    :ivar lost: messages that a power cut was allowed to take, by (commit-log offset, key).
    :ivar lost_until: (topic, queue id) -> the queue's end before its tail was lost. Offsets below may have been given
        to other messages again: a consumer past them may skip those messages.
    :ivar flushed_offset: the log was durable before this offset.
    :ivar dispatched_count: how many of the messages are visible to consumers.
    :ivar is_up: the broker runs and has loaded its store.
    """

    def __init__(self, role: BrokerNode, stored: BrokerLog, report: Tell, power_cuts: Mapping[str, None]) -> None:
        self.name = role.name
        self.spec = role.spec
        self.log, self.messages, self.by_place = stored.log, stored.messages, stored.by_place
        self.lost: dict[tuple[int, str], LoggedMessage] = {}
        self.lost_until: dict[tuple[str, int], int] = {}
        self.flushed_offset = 0
        self.is_up = False
        self._role = role
        self._report = report
        self._power_cuts = power_cuts
        self._usual_flush_us = role.spec.disk.fsync_ms * 1_000
        self._broker: Broker | None = None
        self._stored = stored
        #: How many messages and holes were reported.
        self._reported = self._reported_holes = 0
        self._has_loaded = False
        self._dispatched_offset = 0
        self.dispatched_count = 0
        self._offsets: dict[str, dict[int, int]] = {}

    @property
    def broker(self) -> Broker:
        """Return the running broker."""
        assert self._broker is not None, "is_up says whether there is one"
        return self._broker

    @property
    def is_disk_faulty(self) -> bool:
        """Return whether the disk is full, or flushes slowly or not at all."""
        storage = self._role.storage
        return bool(storage.occupied_bytes or storage.flush_error or storage.flush_us > self._usual_flush_us)

    @property
    def min_offset(self) -> int:
        """Return where the oldest file of the log begins; messages before it have expired."""
        return self.broker.store.commit_log.min_offset

    def look(self) -> None:
        """Report what changed. This runs after every event of the broker, so it compares only a few numbers."""
        broker = self._role.broker
        if broker is not self._broker or not self.is_up:
            self._broker = broker
            self.is_up = broker is not None and broker.recovery_report is not None
            if not self.is_up:
                return
            self._loaded()
        assert broker is not None, "it is up"
        store = broker.store
        log = store.commit_log
        if log.max_offset != self._stored.end_offset or len(self.messages) != self._reported:
            self._report_log()
        self.flushed_offset = log.flushed_offset
        dispatched = store.dispatcher.dispatched_offset
        if dispatched != self._dispatched_offset:
            self._dispatched_offset = dispatched
            self._take_dispatched(dispatched)
        if broker.consumer_offset_manager.offset_table != self._offsets:
            self._compare_offsets()

    def _take_dispatched(self, end: int) -> None:
        """Report the messages that became visible: those before commit-log offset ``end``."""
        first = self.dispatched_count
        count = len(self.messages)
        while self.dispatched_count < count and self.messages[self.dispatched_count].end_offset <= end:
            self.dispatched_count += 1
        if self.dispatched_count > first:
            self._report(BrokerListener.messages_dispatched, self, self.messages[first : self.dispatched_count])

    def is_to_come(self, group: str, message: LoggedMessage) -> bool:
        """Return whether the group, or the delay level of the message, has not passed it. The broker must be up."""
        if message.topic == SCHEDULE_TOPIC:
            offsets = self.broker.schedule_message_service.offset_table
            return message.queue_offset >= offsets.get(message.queue_id + 1, 0)
        offset = self.broker.consumer_offset_manager.query_offset(group, message.topic, message.queue_id)
        return message.queue_offset >= offset

    # --- log ---------------------------------------------------------------------------------------------------------

    def _report_log(self) -> None:
        """Report what was appended."""
        stored = self._stored
        stored.read_on()
        self._report_holes()
        new = stored.messages[self._reported :]
        self._reported = len(stored.messages)
        for message in new:
            self._report(BrokerListener.message_stored, message)

    def _report_holes(self) -> None:
        holes = self._stored.holes
        for offset in holes[self._reported_holes :]:
            self._report(BrokerListener.hole_found, self, offset)
        self._reported_holes = len(holes)

    # --- a new process -----------------------------------------------------------------------------------------------

    def _loaded(self) -> None:
        """Compare with the store that the broker has loaded, the first time or after a crash, and report what is
        gone.
        """
        stored = self._stored
        stored.read_on()
        self.log, self.messages, self.by_place = stored.log, stored.messages, stored.by_place
        self._reported = len(self.messages)
        self._report_holes()
        gone, come = (stored.gone, stored.come) if self._has_loaded else ([], stored.messages)
        self._has_loaded = True
        for message in gone:
            self._lose(message, self.flushed_offset)
        for message in come:
            self._report(BrokerListener.message_stored, message)
        self._dispatched_offset = self.broker.store.dispatcher.dispatched_offset
        self.dispatched_count = len(self.messages)
        self._offsets = {}
        self._compare_offsets(is_news=False)
        self._report(BrokerListener.broker_loaded, self)

    def _lose(self, message: LoggedMessage, flushed_offset: int) -> None:
        is_lawful = self.name in self._power_cuts and message.end_offset > flushed_offset
        if is_lawful:
            self.lost[message.commit_log_offset, message.key] = message
            queue = message.topic, message.queue_id
            self.lost_until[queue] = max(self.lost_until.get(queue, 0), message.queue_offset + 1)
        self._report(BrokerListener.message_lost, message, is_lawful)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def _compare_offsets(self, *, is_news: bool = True) -> None:
        table = self.broker.consumer_offset_manager.offset_table
        for key, offsets in table.items():
            known = self._offsets.setdefault(key, {})
            if known == offsets:
                continue
            topic, _, group = key.partition("@")
            for queue_id, offset in offsets.items():
                before = known.get(queue_id, -1)
                if offset != before:
                    known[queue_id] = offset
                    if is_news:
                        self._report(BrokerListener.offset_committed, self, group, topic, queue_id, before, offset)
        if len(self._offsets) != len(table):
            self._offsets = {key: dict(offsets) for key, offsets in table.items()}
