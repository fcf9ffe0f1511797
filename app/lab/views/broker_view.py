"""The state of a lab broker, for its lane on the stage.

address, flush, switched_off (names of engine.lab.scenario.switches)
commit_log    min, max, flushed, dispatched, records (the last ones: offset, size, topic, queue_id, queue_offset,
              key, tags, body, born_ms, store_ms, reconsume_times)
topics        by name: kind ("normal" | "retry" | "dlq" | "half" | "op" | "system"), queues by id: min, max,
              committed (group -> offset), entries (the last ones: queue_offset, offset, key)
groups        by name: members (client ids), lag, assignment (topic -> queue id -> client id)
locks         group, topic, queue_id, client_id, since_ms, age_ms, lease_ms
delay_levels  null while no message was delayed, else as in app.observation.delay_levels_view, but with the virtual time
              next_due_us per level
dead_letters  null, or the dead letters by group: see app.lab.views.dead_letters_view
transactions  null while there was no half message, else as in app.observation.transactions_view, but with virtual
              times: next_round_us, and per message born_us, ask_from_us, given_up_us
replication   null for a broker that is alone, else as in app.observation.replication_view
held_pulls    group, topic, queue_id, offset, since_ms, timeout_ms, client_id
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.foundation.json_types import JsonObject, JsonValue
from app.lab.foundation.bounds import ENTRIES_SHOWN, HALF_MESSAGES_SHOWN, RECORDS_SHOWN
from app.lab.views.client_view import world_us
from app.observation.commit_log_tail import CommitLogTail
from app.observation.delay_levels_view import DelayLevelsView
from app.observation.groups_view import GroupsView
from app.observation.replication_view import replication_view
from app.observation.topics_view import Committed, TopicsView, committed_offsets
from app.observation.transactions_view import TransactionsView
from engine.protocol.names import TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.store.queues.consume_queue import ConsumeQueue

_NO_KEY = ""
#: The kinds of the two topics of transactions; to the broker they are system topics.
_TRANSACTION_KINDS = {TRANSACTION_HALF_TOPIC: "half", TRANSACTION_OP_HALF_TOPIC: "op"}


class BrokerView:
    """The view of one process of a broker. It only reads forward: nothing is hooked into the broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._tail = CommitLogTail(broker.store)
        self._kinds = TopicsView(broker)
        self._groups = GroupsView(broker)
        self._transactions = TransactionsView(broker, HALF_MESSAGES_SHOWN)
        self._delay_levels = DelayLevelsView(broker)
        #: Commit-log offset -> the record as shown. A broker's log only grows while it runs.
        self._records: dict[int, JsonObject] = {}
        #: (topic, queue id) -> (what it was made from, view).
        self._queues: dict[tuple[str, int], tuple[object, JsonObject]] = {}

    def build(self) -> JsonObject:
        """Return a tree whose unchanged queues and records are the same objects as before."""
        committed, _ = committed_offsets(self.broker)
        groups, _ = self._groups.build(committed)
        # First: the keys of op messages come from it.
        transactions = self._transactions_view()
        return {
            "address": self.broker.address,
            "commit_log": self._commit_log(),
            "topics": self._topics(committed),
            "groups": {name: _group_view(group) for name, group in groups.items()},
            "locks": [],
            "delay_levels": self._delay_levels_view(),
            "transactions": transactions,
            "held_pulls": _held_pulls(groups),
            "replication": replication_view(self.broker),
        }

    def locks(self) -> list[JsonValue]:
        """Return the lock table. Ages change with time, so this part is built for every view."""
        manager = self.broker.rebalance_lock_manager
        if not len(manager):
            return []
        tables = self._groups.locks(self.broker.runtime.clock.now_ms())
        locks: list[JsonValue] = []
        for group, queues in tables.items():
            for queue, lock in queues.items():
                topic, _, queue_id = queue.rpartition("@")
                locks.append({"group": group, "topic": topic, "queue_id": int(queue_id), **lock})
        return locks

    # ------------------------------------------------------------------------------ commit log and queues

    def _commit_log(self) -> JsonObject:
        store = self.broker.store
        return {
            "min": store.commit_log.min_offset,
            "max": store.commit_log.max_offset,
            "flushed": store.commit_log.flushed_offset,
            "dispatched": store.dispatcher.dispatched_offset,
            "records": [self._record(summary) for summary in self._tail.look()[-RECORDS_SHOWN:]],
        }

    def _record(self, summary: JsonObject) -> JsonObject:
        offset = summary["offset"]
        record = self._records.get(offset)
        if record is None:
            record = self._records[offset] = {
                "offset": offset,
                "size": summary["size"],
                "topic": summary["topic"],
                "queue_id": summary["queue_id"],
                "queue_offset": summary["queue_offset"],
                "key": summary["keys"][0] if summary["keys"] else _NO_KEY,
                "tags": summary["tags"],
                "body": summary["body_preview"],
                "born_ms": summary["born_ms"],
                "store_ms": summary["store_ms"],
                "reconsume_times": summary["reconsume_times"],
            }
            if len(self._records) > 4_000:
                self._records = {key: self._records[key] for key in list(self._records)[-1_000:]}
        return record

    def _topics(self, committed: Committed) -> JsonObject:
        """Return the topics of users with all their queues; of system topics only those that were used."""
        store = self.broker.store
        topics: JsonObject = {}
        for name, config in self.broker.topic_config_manager.topic_config_table.items():
            kind = self._kinds.kind(name)
            if kind != "system":
                count = config.queue_nums
                queues = {str(queue_id): self._empty_queue(name, queue_id, committed) for queue_id in range(count)}
                topics[name] = {"kind": kind, "queues": queues}
        for name, queue_id, queue in store.consume_queues():
            kind = _TRANSACTION_KINDS.get(name) or self._kinds.kind(name)
            topic = topics.setdefault(name, {"kind": kind, "queues": {}})
            topic["queues"][str(queue_id)] = self._queue(name, queue_id, queue, committed)
        return topics

    def _empty_queue(self, topic: str, queue_id: int, committed: Committed) -> JsonObject:
        offsets = committed.get(topic, {}).get(queue_id, {})
        return {"min": 0, "max": 0, "committed": offsets, "entries": []}

    def _queue(self, topic: str, queue_id: int, queue: ConsumeQueue, committed: Committed) -> JsonObject:
        store = self.broker.store
        minimum, maximum = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        offsets = committed.get(topic, {}).get(queue_id, {})
        made_from = (minimum, maximum, tuple(offsets.items()))
        known = self._queues.get((topic, queue_id))
        if known is not None and known[0] == made_from:
            return known[1]
        first = max(minimum, maximum - ENTRIES_SHOWN)
        entries: list[JsonValue] = [
            {"queue_offset": first + number, "offset": offset, "key": self._key(topic, first + number, offset)}
            for number, (offset, _, _) in enumerate(queue.entries(first, maximum - first))
        ]
        view: JsonObject = {"min": minimum, "max": maximum, "committed": dict(offsets), "entries": entries}
        self._queues[(topic, queue_id)] = (made_from, view)
        return view

    def _transactions_view(self) -> JsonObject | None:
        """Return the half messages in virtual time: then nothing of it changes while nothing happens."""
        view = self._transactions.build()
        if view is None:
            return None
        skew_ms = self._skew_ms()
        shown = {**view, "next_round_us": world_us(view["next_round_ms"], skew_ms)}
        for part in ("messages", "given_up"):
            shown[part] = [_in_virtual_time(message, skew_ms) for message in view[part]]
        del shown["next_round_ms"]
        return shown

    def _key(self, topic: str, queue_offset: int, commit_log_offset: int) -> str:
        """Return the key of a message; an op message has the key of the half message that it decides."""
        if topic == TRANSACTION_OP_HALF_TOPIC:
            return self._transactions.key_decided_by(queue_offset)
        record = self._records.get(commit_log_offset)
        if record is not None:
            return str(record["key"])
        message = self.broker.store.message_at(commit_log_offset)
        return message.keys[0] if message is not None and message.keys else _NO_KEY

    def _delay_levels_view(self) -> JsonObject | None:
        view = self._delay_levels.build()
        if view is None:
            return None
        skew_ms = self._skew_ms()
        levels: list[JsonValue] = []
        for level in view["levels"]:
            due_ms = level["next_due_ms"]
            shown = {name: value for name, value in level.items() if name != "next_due_ms"}
            levels.append({**shown, "next_due_us": None if due_ms is None else world_us(due_ms, skew_ms)})
        return {**view, "levels": levels}

    def _skew_ms(self) -> int:
        """Return by how much the broker's clock is ahead of the world's."""
        clock = self.broker.runtime.clock
        return clock.now_ms() - WORLD_BEGIN_MS - clock.monotonic_us() // 1_000


def _in_virtual_time(message: JsonObject, skew_ms: int) -> JsonObject:
    """Return ``message`` with ``..._us`` of the world in place of ``..._ms`` of the broker's clock."""
    return {
        f"{name.removesuffix('_ms')}_us" if name.endswith("_ms") else name: world_us(value, skew_ms)
        if name.endswith("_ms")
        else value
        for name, value in message.items()
    }


def _group_view(group: JsonObject) -> JsonObject:
    return {"members": list(group["members"]), "lag": group["lag"], "assignment": group["assignment"]}


def _held_pulls(groups: JsonObject) -> list[JsonValue]:
    held: list[JsonValue] = []
    for name, group in groups.items():
        for queue, pull in group["held_pulls"].items():
            topic, _, queue_id = queue.rpartition("@")
            held.append({"group": name, "topic": topic, "queue_id": int(queue_id), **pull})
    return held
