"""The state of a lab broker, for its lane on the stage: :mod:`app.picture.world.broker`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.lab.foundation.bounds import ENTRIES_SHOWN, HALF_MESSAGES_SHOWN, RECORDS_SHOWN
from app.observation.commit_log_tail import CommitLogTail, log_offsets
from app.observation.delay_levels_view import DelayLevelsView
from app.observation.groups_view import GroupsView
from app.observation.record_view import stored_record
from app.observation.replication_view import replication_view
from app.observation.topics_view import Committed, TopicsView, committed_offsets, queue_view
from app.observation.transactions_view import TransactionsView
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.names import TRANSACTION_OP_HALF_TOPIC
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS

if TYPE_CHECKING:
    from app.picture.consumer_group import ConsumerGroup
    from app.picture.topic import Queue
    from app.picture.world.broker import (
        BrokerProcess,
        QueueEntry,
        WorldCommitLog,
        WorldGroup,
        WorldQueue,
        WorldRecord,
        WorldTopic,
    )
    from engine.broker.broker import Broker
    from engine.protocol.message.message import MessageExt
    from engine.store.queues.consume_queue import ConsumeQueue

#: Keys of messages that a view remembers.
KEYS_KEPT = 4_000
_NO_KEY = ""


class BrokerView:
    """The view of one process of a broker. It only reads forward: nothing is hooked into the broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._tail = CommitLogTail(broker.store, self._record)
        self._kinds = TopicsView(broker)
        self._groups = GroupsView(broker)
        self._transactions = TransactionsView(broker, HALF_MESSAGES_SHOWN)
        self._delay_levels = DelayLevelsView(broker)
        #: Commit-log offset -> key of the message. A broker's log only grows while it runs.
        self._keys: dict[int, str] = {}
        #: (topic, queue id) -> (without and with its entries).
        self._queues: dict[tuple[str, int], tuple[Queue, WorldQueue]] = {}

    def build(self) -> BrokerProcess:
        """Return a tree whose unchanged queues and records are the same objects as before."""
        committed = committed_offsets(self.broker)
        begin_ms = self._begin_ms()
        groups, _ = self._groups.build(committed, begin_ms)
        # First: the keys of op messages come from it.
        transactions = self._transactions.build(begin_ms)
        return {
            "address": self.broker.address,
            "commit_log": self._commit_log(),
            "topics": self._topics(committed),
            "groups": {name: _group_view(group) for name, group in groups.items()},
            "locks": self._groups.locks(begin_ms),
            "delay_levels": self._delay_levels.build(begin_ms),
            "transactions": transactions,
            "replication": replication_view(self.broker),
        }

    # ------------------------------------------------------------------------------ commit log and queues

    def _commit_log(self) -> WorldCommitLog:
        return {**log_offsets(self.broker.store), "records": self._tail.look()[-RECORDS_SHOWN:]}

    def _topics(self, committed: Committed) -> dict[str, WorldTopic]:
        """Return the topics of users with all their queues; of system topics only those that were used."""
        topics: dict[str, WorldTopic] = {}
        for name, config in self.broker.topic_config_manager.topic_config_table.items():
            kind = self._kinds.kind(name)
            if kind != "system":
                queues = {
                    str(queue_id): self._queue(name, queue_id, committed) for queue_id in range(config.queue_nums)
                }
                topics[name] = {"kind": kind, "queues": queues}
        for name, queue_id, entries in self.broker.store.consume_queues():
            topic = topics.setdefault(name, {"kind": self._kinds.kind(name), "queues": {}})
            topic["queues"][str(queue_id)] = self._queue(name, queue_id, committed, entries)
        return topics

    def _queue(self, topic: str, queue_id: int, committed: Committed, stored: ConsumeQueue | None = None) -> WorldQueue:
        """Return a queue; without ``stored`` it never had a message."""
        queue = queue_view(self.broker.store, topic, queue_id, committed.get(topic, {}).get(queue_id, {}))
        if stored is None:
            return {**queue, "entries": []}
        known = self._queues.get((topic, queue_id))
        if known is not None and known[0] == queue:
            return known[1]
        first = max(queue["min"], queue["max"] - ENTRIES_SHOWN)
        entries: list[QueueEntry] = [
            {"queue_offset": first + number, "offset": offset, "key": self._key(topic, first + number, offset)}
            for number, (offset, _, _) in enumerate(stored.entries(first, queue["max"] - first))
        ]
        view: WorldQueue = {**queue, "entries": entries}
        self._queues[(topic, queue_id)] = (queue, view)
        return view

    def _key(self, topic: str, queue_offset: int, commit_log_offset: int) -> str:
        """Return the key of a message; an op message has the key of the half message that it decides."""
        if topic == TRANSACTION_OP_HALF_TOPIC:
            return self._transactions.key_decided_by(queue_offset)
        known = self._keys.get(commit_log_offset)
        if known is not None:
            return known
        message = self.broker.store.message_at(commit_log_offset)
        return _NO_KEY if message is None else self._note_key(message)

    def _record(self, raw: bytes) -> WorldRecord:
        message = decode_stored_message(raw, check_crc=False)
        return {**stored_record(message, WORLD_BEGIN_MS), "key": self._note_key(message)}

    def _note_key(self, message: MessageExt) -> str:
        """Return the key of a message; entries of queues ask for it again."""
        key = self._keys[message.commit_log_offset] = message.keys[0] if message.keys else _NO_KEY
        if len(self._keys) > KEYS_KEPT:
            del self._keys[next(iter(self._keys))]
        return key

    def _begin_ms(self) -> int:
        """Return what the broker's clock showed when virtual time began; a jump of that clock moves it."""
        clock = self.broker.runtime.clock
        return clock.now_ms() - clock.monotonic_us() // 1_000


def _group_view(group: ConsumerGroup) -> WorldGroup:
    return {
        "members": list(group["members"]),
        "lag": group["lag"],
        "assignment": group["assignment"],
        "held_pulls": group["held_pulls"],
    }
