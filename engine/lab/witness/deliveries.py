"""Every delivery to a listener, with its end."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded, LabHistory, NodeChanged
from engine.protocol.body.message_queue import MessageQueue

#: Results of a listener that has finished a message.
DONE = ("success", "commit")
#: Topic, broker, queue id and offset.
QueuePlace = tuple[str, str, int, int]
#: A listener's call as two entries of the history name it: node, topic, broker, queue id and offset.
_Call = tuple[str, str, str, int, int]


@dataclass(slots=True)
class Delivery:
    """A delivery to a listener. ``died``: its process ended before it was done."""

    began: ConsumeBegan
    ended: ConsumeEnded | None = None
    died: NodeChanged | None = None

    @property
    def place(self) -> QueuePlace:
        """Return the position from which the message was pulled."""
        began = self.began
        return began.topic, began.broker, began.queue_id, began.queue_offset

    @property
    def queue(self) -> MessageQueue:
        """Return the queue from which the message was delivered."""
        return MessageQueue(self.began.topic, self.began.broker, self.began.queue_id)

    @property
    def is_done(self) -> bool:
        """Return whether the listener reported the message as consumed."""
        return self.ended is not None and self.ended.result in DONE

    @property
    def result(self) -> str:
        """Return the listener's result; ``running``, ``died`` or ``stopped`` if it has not returned."""
        if self.ended is not None:
            return self.ended.result
        if self.died is None:
            return "running"
        return "died" if self.died.status == "crashed" else "stopped"

    @property
    def end(self) -> ConsumeEnded | NodeChanged | None:
        """Return how the delivery ended; None while the listener has the message."""
        return self.ended or self.died

    @property
    def end_event(self) -> int | None:
        """Return the event at which the delivery ended, in whatever way."""
        end = self.end
        return None if end is None else end.event

    def as_of(self, event: int) -> Delivery:
        """Return the delivery as it was after ``event``."""
        end = self.end
        return self if end is None or end.event <= event else Delivery(self.began)


class Deliveries:
    """All deliveries of a world, read from its history when they are asked for: an event costs nothing.

    The history does not say which call of a listener an end belongs to. If the listener has the same message twice, the
    first call to begin is taken as the first to end.
    """

    def __init__(self, history: LabHistory) -> None:
        self._history = history
        #: How much of the three lists was read.
        self._read = [0, 0, 0]
        self._all: list[Delivery] = []
        self._ended: list[Delivery] = []
        self._by_key: defaultdict[str, list[Delivery]] = defaultdict(list)
        self._running: dict[_Call, list[Delivery]] = {}

    def all(self) -> Sequence[Delivery]:
        """Return the deliveries in the order in which they began; it only grows, so a reader may note how far it is."""
        self._read_on()
        return self._all

    def ended(self) -> Sequence[Delivery]:
        """Return those that have ended, in the order in which they did; it only grows."""
        self._read_on()
        return self._ended

    def of(self, key: str) -> Sequence[Delivery]:
        """Return those of the messages with that key, in the order in which they began."""
        self._read_on()
        return self._by_key[key]

    def up_to(self, event: int) -> list[Delivery]:
        """Return those that had begun by ``event``, as they were then."""
        return [one.as_of(event) for one in self.all() if one.began.event <= event]

    def _read_on(self) -> None:
        history = self._history
        # At the same event, the result of a listener comes before the end of its process.
        lists: tuple[Sequence[ConsumeBegan | ConsumeEnded | NodeChanged], ...] = (
            history.consumes_began,
            history.consumes_ended,
            history.nodes_changed,
        )
        lengths = [len(entries) for entries in lists]
        if lengths == self._read:
            return
        fresh = [entries[start:] for entries, start in zip(lists, self._read, strict=True)]
        self._read = lengths
        for entry in heapq.merge(*fresh, key=lambda entry: entry.event):
            match entry:
                case ConsumeBegan():
                    self._begin(entry)
                case ConsumeEnded():
                    self._end(entry)
                case NodeChanged():
                    self._end_all(entry)

    def _begin(self, entry: ConsumeBegan) -> None:
        delivery = Delivery(entry)
        self._all.append(delivery)
        self._by_key[entry.key].append(delivery)
        self._running.setdefault(_call(entry), []).append(delivery)

    def _end(self, entry: ConsumeEnded) -> None:
        call = _call(entry)
        running = self._running.get(call)
        if not running:
            return
        delivery = running.pop(0)
        if not running:
            del self._running[call]
        delivery.ended = entry
        self._ended.append(delivery)

    def _end_all(self, entry: NodeChanged) -> None:
        """End the deliveries of a process that has ended."""
        for call in [call for call in self._running if call[0] == entry.node]:
            for delivery in self._running.pop(call):
                delivery.died = entry
                self._ended.append(delivery)


def _call(entry: ConsumeBegan | ConsumeEnded) -> _Call:
    return entry.node, entry.topic, entry.broker, entry.queue_id, entry.queue_offset
