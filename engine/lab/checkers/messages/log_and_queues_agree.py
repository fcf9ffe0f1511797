"""Checker: commit log and consume queues agree.

Anomalies: *skipped* (a message in the log that no consume-queue entry points to, or whose entry points elsewhere, so it
cannot be consumed), *ghost read* (a queue longer than its messages), *out of order* (logical offsets of one queue that
do not follow each other in the log).

Fault model: any. Entries are checked the moment the dispatcher has written them, all of them after each start of a
broker, and one of the old ones in turn every few events, because they may be damaged later. Between append and dispatch
(one turn of the event loop) a message is in the log only; that is RocketMQ's reput delay and no disagreement. Offsets
whose messages a crash has taken may be fillers.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.witness.logged_message import LoggedMessage


class LogAndQueuesAgree(Checker):
    """Check that commit log and consume queues agree."""

    name = "log-and-queues-agree"
    anomaly = Anomaly.SKIPPED

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (broker, topic, queue id) -> the offset that the queue's next message must have.
        self._next_offsets: dict[tuple[str, str, int], int] = {}
        self._audited: dict[str, int] = {}

    # --- notifications -----------------------------------------------------------------------------------------------

    def message_stored(self, message: LoggedMessage) -> None:
        if not message.is_in_queue:
            return
        queue = message.broker, message.topic, message.queue_id
        expected = self._next_offsets.get(queue, 0)
        self._next_offsets[queue] = message.queue_offset + 1
        if message.queue_offset != expected and self.watch.brokers[message.broker].is_up:
            self.report(message.element, self.text("order", message=message, before=expected - 1), Anomaly.OUT_OF_ORDER)

    def hole_found(self, broker: BrokerWatch, commit_log_offset: int) -> None:
        self.report(
            {"node": broker.name, "commit_log_offset": commit_log_offset},
            self.text("hole", broker=broker.name, commit_log_offset=commit_log_offset),
            Anomaly.LOST_WRITE,
        )

    def messages_dispatched(self, broker: BrokerWatch, messages: Sequence[LoggedMessage]) -> None:
        ends: dict[tuple[str, int], LoggedMessage] = {}
        for message in messages:
            if message.is_in_queue:
                self._check_entry(broker, message)
                ends[message.topic, message.queue_id] = message
        for message in ends.values():
            self._check_end(broker, message)

    def broker_loaded(self, broker: BrokerWatch) -> None:
        # A queue that has lost every message may be gone altogether.
        self._next_offsets = {key: offset for key, offset in self._next_offsets.items() if key[0] != broker.name}
        for topic, queue_id, queue in broker.broker.store.consume_queues():
            self._next_offsets[broker.name, topic, queue_id] = queue.next_offset
        for message in broker.messages:
            if message.is_in_queue:
                self._check_entry(broker, message)

    def audit(self) -> None:
        for broker in self.watch.brokers.values():
            if broker.is_up and broker.dispatched_count:
                index = self._audited.get(broker.name, 0) % broker.dispatched_count
                self._audited[broker.name] = index + 1
                if broker.messages[index].is_in_queue:
                    self._check_entry(broker, broker.messages[index])

    def run_ended(self) -> None:
        for broker in self.watch.brokers.values():
            for message in broker.messages[: broker.dispatched_count] if broker.is_up else ():
                if message.is_in_queue:
                    self._check_entry(broker, message)

    # --- comparing ---------------------------------------------------------------------------------------------------

    def _check_entry(self, broker: BrokerWatch, message: LoggedMessage) -> None:
        store = broker.broker.store
        if message.commit_log_offset < broker.min_offset:
            return  # its file has expired
        entries = store.consume_queue_entries(message.topic, message.queue_id, message.queue_offset, 1)
        expected = (message.commit_log_offset, message.size_bytes, message.tags_code)
        if entries and entries[0] == expected:
            return
        found = self.text("no_entry")
        if entries:
            found = self.text("entry_of", offset=entries[0][0], size_bytes=entries[0][1])
        self.report(message.element, self.text("entry", message=message, found=found))

    def _check_end(self, broker: BrokerWatch, last: LoggedMessage) -> None:
        max_offset = broker.broker.store.max_offset(last.topic, last.queue_id)
        if max_offset != last.queue_offset + 1:
            self.report(
                {"node": broker.name, "topic": last.topic, "queue": last.queue_id},
                self.text("end", last=last, broker=broker.name, max_offset=max_offset),
                Anomaly.GHOST_READ if max_offset > last.queue_offset else None,
                messages=(last.first_key,),
            )
