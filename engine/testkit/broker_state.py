"""The state of a broker as a recording has it: the small tables that explain what the next frame does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from engine.broker.broker import Broker
from engine.broker.transactions.half_message import HALF_QUEUE_ID, producer_group
from engine.faults.state_record import NodeState, StatePart
from engine.live.live_machines import LiveMachines
from engine.protocol.message.message_properties import PROPERTY_REAL_TOPIC
from engine.protocol.names import (
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
    dlq_topic,
    is_system_topic,
)
from engine.testkit.group_state import QueueProgress, groups_of, locks_of, topics_of
from engine.testkit.stored_messages import undecided_half_messages

#: Rows of one part. A test has dozens; each frame compares them.
ROWS_MAX = 200

_Rows = Iterable[tuple[str, list[int | str]]]


class BrokerState:
    """Reads the state of a broker that may be crashed, between two frames."""

    def __init__(self, machines: Callable[[], LiveMachines]) -> None:
        self._machines = machines
        self._half_ends: tuple[int, ...] = ()
        self._half_rows: dict[str, list[int | str]] = {}

    def __call__(self) -> NodeState:
        """Return part -> name of a row -> its values."""
        machines = self._machines()
        running = machines.broker_runs
        parts: dict[StatePart, _Rows] = {"broker": [("", [int(running), machines.ahead_ms])]}
        if running:
            parts |= self._tables(machines.broker)
        return {part: dict(islice(rows, ROWS_MAX)) for part, rows in parts.items()}

    def _tables(self, broker: Broker) -> dict[StatePart, _Rows]:
        queues: dict[str, dict[int, tuple[int, int]]] = {}
        for topic, queue_id, queue in broker.store.consume_queues():
            queues.setdefault(topic, {})[queue_id] = queue.min_offset, queue.max_offset
        groups = groups_of(broker)
        return {
            "topics": (
                (name, [config.write_queue_nums])
                for name, config in broker.topic_config_manager.topic_config_table.items()
                if not broker.topic_config_manager.is_system_topic(name)
            ),
            "queues": (
                (f"{topic} {queue_id}", [*ends])
                for topic, by_id in queues.items()
                if not is_system_topic(topic)
                for queue_id, ends in by_id.items()
            ),
            "groups": (
                (name, [len(group.consumers), len(group.producers), _count(queues.get(dlq_topic(name), {}))])
                for name, group in groups.items()
            ),
            "offsets": (
                row
                for name, group in groups.items()
                for topic in topics_of(broker, group)
                for row in _offsets(broker, name, topic, queues.get(topic, {}))
            ),
            "half_messages": self._half_messages(broker).items(),
            "locks": (
                (f"{name} {lock.topic} {lock.queue_id}", [lock.client_id])
                for name in groups
                for lock in locks_of(broker, name)
            ),
            "held_pulls": (
                (
                    f"{pull.header.consumer_group} {pull.header.topic} {pull.header.queue_id}",
                    [pull.channel.remote_address, pull.pull_from_this_offset],
                )
                for pull in broker.pull_request_hold_service.held()
            ),
        }

    def _half_messages(self, broker: Broker) -> dict[str, list[int | str]]:
        """Return the undecided half messages, read again only when there is a new one or a new decision."""
        store = broker.store
        topics = (TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC)
        ends = (*(store.max_offset(topic, HALF_QUEUE_ID) for topic in topics), id(broker))
        if ends != self._half_ends:
            self._half_ends = ends
            self._half_rows = {
                half.unique_id or str(half.queue_offset): [
                    " ".join(half.keys),
                    producer_group(half),
                    half.properties.get(PROPERTY_REAL_TOPIC, ""),
                ]
                for half in undecided_half_messages(broker)
            }
        return self._half_rows


def _offsets(broker: Broker, group: str, topic: str, queues: dict[int, tuple[int, int]]) -> _Rows:
    committed = broker.consumer_offset_manager.offsets_of(group, topic)
    for queue_id, (start, end) in queues.items():
        progress = QueueProgress(topic, queue_id, start, end, committed.get(queue_id))
        offset = "-" if progress.committed is None else progress.committed
        yield f"{group} {topic} {queue_id}", [offset, progress.lag]


def _count(queues: dict[int, tuple[int, int]]) -> int:
    return sum(end - start for start, end in queues.values())
